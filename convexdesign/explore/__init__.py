"""The explorer: designs in the plane, computed while you move the arms.

`view` computes everything that is shown from a `State`, without pictures; `program` gives the Python code of a view, and
`alone` (of a curve `curve_alone`) one page that needs no server. `convexdesign explore` serves the page; `Explorer`, for
notebooks, needs the extra `explore`.
"""

from typing import Any

from convexdesign.explore.script import program
from convexdesign.explore.single_page import alone, curve_alone
from convexdesign.explore.state import EXAMPLES, PROBLEMS, State
from convexdesign.explore.views import View, view
from convexdesign.extras import needed

__all__ = ["EXAMPLES", "PROBLEMS", "State", "View", "alone", "curve_alone", "program", "view"]


def __getattr__(name: str) -> Any:
    if name == "Explorer":
        for module in ("anywidget", "traitlets"):
            needed(module, "the explorer in a notebook")
        from convexdesign.explore.widget import Explorer

        return Explorer
    raise AttributeError(f"module 'convexdesign.explore' has no attribute {name!r}")

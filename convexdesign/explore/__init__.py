"""The explorer: designs in the plane, computed while you move the arms.

`view` computes everything that is shown from a `State`, without pictures; `program` gives the Python code of a view, and
`alone` one page that needs no server. `convexdesign explore` serves the page; `Explorer`, for notebooks, needs the extra
`explore`.
"""

from typing import Any

from convexdesign.errors import InputError
from convexdesign.explore.script import program
from convexdesign.explore.single_page import alone
from convexdesign.explore.state import EXAMPLES, PROBLEMS, State
from convexdesign.explore.views import View, view

__all__ = ["EXAMPLES", "PROBLEMS", "State", "View", "alone", "program", "view"]


def __getattr__(name: str) -> Any:
    if name == "Explorer":
        try:
            from convexdesign.explore.widget import Explorer
        except ImportError as error:
            raise InputError(
                f"the explorer in a notebook needs {error.name}, which is not installed; get it with: "
                "pip install 'convexdesign[explore]'"
            ) from error
        return Explorer
    raise AttributeError(f"module 'convexdesign.explore' has no attribute {name!r}")

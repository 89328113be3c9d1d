"""The explorer: designs in the plane, computed while you move the arms.

`view` computes everything that is shown from a `State`, without pictures; `program` gives the Python code of a view. The page
itself (`convexdesign explore`, or `Explorer` in a notebook) needs the extra `explore`.
"""

from typing import Any

from convexdesign.explore.script import program
from convexdesign.explore.state import EXAMPLES, PROBLEMS, State
from convexdesign.explore.views import View, view

__all__ = ["EXAMPLES", "PROBLEMS", "State", "View", "program", "view"]


def __getattr__(name: str) -> Any:
    if name == "Explorer":
        from convexdesign.explore.widget import Explorer

        return Explorer
    raise AttributeError(f"module 'convexdesign.explore' has no attribute {name!r}")

"""The explorer as a widget: the browser sends what was set, Python answers with what is to be shown. Needs the extra `explore`.

The protocol: the page puts {"serial": k, "fields": {...}} or {"serial": k, "query": "..."} into `sent`; the answer appears in
`shown` with the same serial. The page sends the next change when the answer to the last has come, so that nothing queues up.
With "moving": true in it, the answer leaves out what takes long; the page asks again when the point has come to rest.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from convexdesign.errors import InputError
from convexdesign.explore.page import choices, examples, page, trouble
from convexdesign.explore.state import State
from convexdesign.explore.views import view

__all__ = ["Explorer", "answer"]

HERE = Path(__file__).parent


class Explorer(anywidget.AnyWidget):
    """Arms in the plane to drag, and the design that goes with them; in marimo, Jupyter and whatever else shows widgets.

    query: a link's part after the question mark, as `State.to_query` gives it. linked: keep the page's address at the
    link of what is shown.
    """

    _esm = (HERE / "explorer.js").read_text(encoding="utf-8")
    _css = (HERE / "explorer.css").read_text(encoding="utf-8")
    sent = traitlets.Dict().tag(sync=True)
    shown = traitlets.Dict().tag(sync=True)
    choices: traitlets.List[Any] = traitlets.List().tag(sync=True)
    examples: traitlets.List[Any] = traitlets.List().tag(sync=True)
    linked = traitlets.Bool(False).tag(sync=True)

    def __init__(self, query: str = "", linked: bool = False):
        super().__init__(choices=choices(), examples=examples(), linked=linked, shown=opening(query))
        self.observe(self._answer, names="sent")

    def _answer(self, change: Any) -> None:
        self.shown = answer(change["new"])


def opening(query: str) -> dict[str, Any]:
    """The first thing to show: the view of a link, or the first example with word of what is wrong with the link."""
    shown = answer({"serial": 0, "query": query})
    if "fields" in shown:
        return shown
    first = answer({"serial": 0, "query": ""})
    return first | {"messages": shown["messages"] + first["messages"]}


def answer(sent: Mapping[str, Any]) -> dict[str, Any]:
    """What to show for what the page sent.

    >>> shown = answer({"serial": 7, "query": "problem=g-optimal&arms=1,0,1;0,1,3&pulls=8"})
    >>> shown["serial"], [round(w, 4) for w in shown["plane"]["weights"]]
    (7, [0.25, 0.75])
    """
    moving = bool(sent.get("moving", False))
    try:
        state = State.from_query(sent["query"]) if "query" in sent else State.from_fields(sent["fields"])
        shown = page(view(state, moving))
    except InputError as error:
        shown = trouble(str(error))
    except Exception as error:  # whatever it is, the page must not wait for an answer
        logging.getLogger("convexdesign").exception("the explorer could not compute a view")
        shown = trouble(f"{type(error).__name__}: {error} (this is a bug in convexdesign; please report it)")
    return shown | {"serial": sent["serial"], "loaded": "query" in sent, "moving": moving}

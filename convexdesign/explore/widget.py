"""The explorer as a widget: the browser sends what was set, Python answers with what is to be shown. Needs the extra `explore`.

The protocol: the page puts {"serial": k, "fields": {...}} or {"serial": k, "query": "..."} into `sent`; the answer appears in
`shown` with the same serial. The page sends the next change when the answer to the last has come, so that nothing queues up.
With "moving": true in it, the answer leaves out what takes long; the page asks again when the point has come to rest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from convexdesign.explore.answers import answer, beginning

__all__ = ["Explorer"]

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
    methods: traitlets.List[Any] = traitlets.List().tag(sync=True)
    linked = traitlets.Bool(False).tag(sync=True)

    def __init__(self, query: str = "", linked: bool = False):
        super().__init__(linked=linked, **beginning(query))
        self.observe(self._answer, names="sent")

    def _answer(self, change: Any) -> None:
        self.shown = answer(change["new"])

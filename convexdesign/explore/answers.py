"""What the page is answered: a view for what was set, in a widget, from the server, or for a page that stands alone."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from convexdesign.errors import InputError
from convexdesign.explore.page import choices, examples, page, trouble
from convexdesign.explore.state import State
from convexdesign.explore.steps import methods, walk
from convexdesign.explore.views import view

__all__ = ["answer", "beginning"]


def beginning(query: str) -> dict[str, Any]:
    """All that a page begins with: the problems to choose from, the examples, and the first view."""
    return {"choices": choices(), "examples": examples(), "methods": methods(), "shown": opening(query)}


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
        if "steps" in sent:
            shown["steps"] = walk(state, str(sent["steps"]))
    except InputError as error:
        shown = trouble(str(error))
    except Exception as error:  # whatever it is, the page must not wait for an answer
        logging.getLogger("convexdesign").exception("the explorer could not compute a view")
        shown = trouble(f"{type(error).__name__}: {error} (this is a bug in convexdesign; please report it)")
    return shown | {"serial": sent["serial"], "loaded": "query" in sent, "moving": moving}

"""A view as one HTML file that needs no server, no network and no Python: to send, to keep, to put on a page of one's own."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from convexdesign import __version__
from convexdesign.errors import InputError
from convexdesign.explore.curve import CurveState, curve_answer
from convexdesign.explore.page import choices, page
from convexdesign.explore.state import State
from convexdesign.explore.steps import METHODS, walk
from convexdesign.explore.views import View, view

__all__ = ["alone", "certificate", "curve_alone"]

HERE = Path(__file__).parent
METHOD = next(iter(METHODS))


def alone(query: str = "") -> str:
    """The page of a link's view: the plane, tables, pictures, the way of Frank-Wolfe, code and certificate; nothing moves.

    Parameters
    ----------
    query : str
        A link's part after the question mark, as `State.to_query` gives it.

    Returns
    -------
    str
        HTML.

    Raises
    ------
    InputError
        For a query that makes no sense, and where the arrangement has no design.

    Examples
    --------
    >>> text = alone("problem=g-optimal&arms=1,0,1;0,1,3&pulls=8")
    >>> text.startswith("<!doctype html>"), "http://" in text.replace("http://www.w3.org/2000/svg", "")
    (True, False)
    """
    state = State.from_query(query)
    seen = view(state)
    if seen.design is None:
        raise InputError(f"there is nothing to export: {(seen.problems or {}).get('design', 'no design was found')}")
    shown = page(seen) | {"serial": 0, "loaded": True, "moving": False, "steps": walk(state, METHOD)}
    model = {"shown": shown, "choices": choices(), "examples": [], "methods": [], "linked": False, "still": True}
    start = f"""const values = {_as_script(model)};
const model = {{ get: (name) => values[name], set() {{}}, on() {{}}, off() {{}}, save_changes() {{}} }};
explorer.render({{ model, el: document.getElementById("explorer") }});"""
    proof = (
        "The value and the bound are computed from these weights and dual vectors alone; the code above does it again."
    )
    title = f"{escape(state.problem)}: a design in the plane"
    return _document(title, '<div id="explorer"></div>', certificate(seen), proof, f"{_drawing()}\n{start}")


def curve_alone(query: str = "") -> str:
    """The page of a curve's link, as `alone` is of a view in the plane: sensitivity, settings, code and the proven design.

    Parameters
    ----------
    query : str
        A link's part after the question mark, as `CurveState.to_query` gives it.

    Returns
    -------
    str
        HTML.

    Raises
    ------
    InputError
        For a query that makes no sense, and where nothing was proven.

    Examples
    --------
    >>> text = curve_alone("model=1 + x&low=0&high=2")
    >>> text.startswith("<!doctype html>"), "http://" in text.replace("http://www.w3.org/2000/svg", "")
    (True, False)
    """
    state = CurveState.from_query(query)
    shown = curve_answer({"query": query}, saved=True)
    if "message" in shown:
        raise InputError(f"there is nothing to export: {shown['message']}")
    proven = shown.pop("saved")
    script = (HERE / "curve.js").read_text(encoding="utf-8")
    script = "\n".join(line for line in script.splitlines() if not line.startswith("import "))
    known = f'const STOPPED = "";\nconst shownCurve = {_as_script(shown)};\nconst ask = async () => shownCurve;'
    proof = "The whole design with what proves it, as Design.load reads it from a file; the code above makes it again."
    title = f"{escape(state.problem)}: a design for a curve"
    body = '<div id="curve" class="convexdesign-explorer" data-still></div>'
    return _document(title, body, proven, proof, f"{_drawing()}\n{known}\n{script}")


def _drawing() -> str:
    """The program of the pages in the plane, as part of one script."""
    script = (HERE / "explorer.js").read_text(encoding="utf-8").replace("export default", "const explorer =")
    return script.replace("export { MOST_UNDONE, make, raster, roundUp };\n", "")


def _document(title: str, body: str, proven: Any, proof: str, script: str) -> str:
    """A page with nothing outside it."""
    style = (HERE / "explorer.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="convexdesign {escape(__version__)}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}
</style>
</head>
<body class="convexdesign-page">
<h1>{title}</h1>
{body}
<details class="certificate"><summary>Certificate and weights, to every digit</summary>
<p>{proof}</p>
<pre id="certificate">{escape(json.dumps(proven, indent=1))}</pre></details>
<p class="made">Made by convexdesign {escape(__version__)}. This page asks nothing of any other place.</p>
<script type="module">
{script}
</script>
</body>
</html>
"""


def certificate(seen: View) -> dict[str, Any]:
    """What the design's certificate says, as plain data: the setting, weights, value, bound, gap and dual vectors."""
    design = seen.design
    assert design is not None
    dual = design.certificate.dual
    return {
        "setting": seen.state.to_fields(),
        "weights": design.weights.tolist(),
        "value": design.value,
        "bound": design.bound,
        "relative gap": design.gap,
        "status": design.status.value,
        "dual vectors": [] if dual is None else dual.vectors.tolist(),
    }


def _as_script(data: Any) -> str:
    """JSON that no HTML parser takes for an end of the script."""
    return json.dumps(data).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")

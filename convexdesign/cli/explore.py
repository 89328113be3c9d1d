"""`convexdesign explore`: arms in the plane to drag, and the design that goes with them, in the browser."""

from __future__ import annotations

from typing import Annotated

from convexdesign.cli.arguments import option
from convexdesign.cli.output import say

__all__ = ["explore"]


def explore(
    port: Annotated[int, option("--port", min=0, max=65535, help="Where to listen; 0 takes any free port.")] = 0,
    view: Annotated[
        str, option("--view", metavar="QUERY", help="What to open with: a link's part after the question mark.")
    ] = "",
    browser: Annotated[bool, option("--browser/--no-browser", help="Whether to open the browser.")] = True,
) -> None:
    """Explore designs in the plane, in the browser (extra `explore`).

    Drag or type arms, noise variances and theta, and see the design, its certificate, whole numbers and the bound on the
    samples at once. The page is served on this machine alone and fetches nothing from elsewhere.
    """
    from convexdesign.explore.serve import require_extra, serve

    require_extra()
    serve(port, view.removeprefix("?"), browser, lambda address: say(f"explorer at {address} (stop with Ctrl-C)"))

"""`convexdesign explore`: arms in the plane to drag, and the design that goes with them, in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from convexdesign.cli.arguments import option
from convexdesign.cli.files import check_writable
from convexdesign.cli.output import say
from convexdesign.files import write_text

__all__ = ["explore"]


def explore(
    port: Annotated[int, option("--port", min=0, max=65535, help="Where to listen; 0 takes any free port.")] = 0,
    view: Annotated[
        str,
        option(
            "--view",
            metavar="QUERY",
            help="What to open with: what follows ? in a link; of curves, from curve? on.",
        ),
    ] = "",
    browser: Annotated[bool, option("--browser/--no-browser", help="Whether to open the browser.")] = True,
    host: Annotated[
        str,
        option("--host", metavar="ADDRESS", help="Listen here; other than 127.0.0.1, other machines may use it too."),
    ] = "127.0.0.1",
    export: Annotated[
        Path | None,
        option("--export", metavar="HTML", help="Write the view as one page that needs no server, and end."),
    ] = None,
) -> None:
    """Explore designs in the plane, in the browser.

    Drag or type arms, noise variances and theta, and see the design, its certificate, whole numbers and the bound on the
    samples at once; the page of curves has designs over an interval, with the sensitivity and its proven bound. The pages are
    served on this machine alone and fetch nothing from elsewhere.
    """
    query = view.removeprefix("/").removeprefix("?")
    if export is not None:
        from convexdesign.explore.single_page import alone, curve_alone

        check_writable(export, "--export")
        page, _, rest = query.partition("?")
        write_text(export, curve_alone(rest) if page == "curve" else alone(query))
        say(f"the view is in {export}")
        return
    from convexdesign.explore.guard import is_local
    from convexdesign.explore.serve import serve

    if not is_local(host):
        say(f"WARNING: whoever reaches {host} on this port can use the explorer; there is no password")
    serve(port, query, browser, lambda address: say(f"explorer at {address} (stop with Ctrl-C)"), host)

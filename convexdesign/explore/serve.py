"""The explorer in the browser: a server on this machine alone, which sends nothing anywhere else."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from convexdesign.errors import InputError
from convexdesign.explore.guard import Guard

__all__ = ["require_extra", "serve"]

HOST = "127.0.0.1"
# How long the session of a page outlives it; a page that is loaded anew begins another one.
SESSION_SECONDS = 5


def require_extra() -> None:
    """Raises InputError, naming the extra, where what the page is made with is not installed."""
    try:
        import anywidget  # noqa: F401  (only whether they are there matters)
        import marimo  # noqa: F401
        import threadpoolctl  # noqa: F401
        import uvicorn  # noqa: F401
        import zmq  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"the explorer needs {error.name}, which is not installed; get it with: pip install 'convexdesign[explore]'"
        ) from error


def serve(port: int = 0, query: str = "", open_browser: bool = True, announce: Callable[[str], None] = print) -> None:
    """Serve the explorer until interrupted. port 0: any free one. announce: called with the address once it answers.

    query: the link's part after the question mark to open with. Raises InputError where the extra is missing or the port is
    taken.
    """
    require_extra()
    import uvicorn
    from threadpoolctl import threadpool_limits

    listening = _listen(port)
    port = listening.getsockname()[1]
    address = f"http://{HOST}:{port}/" + (f"?{query}" if query else "")

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            announce(address)
            if open_browser:
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    config = uvicorn.Config(
        Guard(_application(), port), log_level="warning", lifespan="on", timeout_graceful_shutdown=1
    )
    # On matrices this small, threads of linear algebra only wait for one another.
    with listening, threadpool_limits(limits=1), suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listening])


def _application() -> Any:
    import marimo

    page = str(Path(__file__).with_name("app.py"))
    return marimo.create_asgi_app(quiet=True, session_ttl=SESSION_SECONDS).with_app(path="", root=page).build()


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"port {port} cannot be used ({error.strerror}); give another, or 0 for any free one"
        ) from error
    listening.listen()
    return listening

"""The explorer in the browser: a server of the standard library, on this machine alone, which fetches nothing from elsewhere.

GET gives the pages and their files; POST /start, /answer and /curve take what a page sends and give what it shows, as JSON. The
server keeps nothing between requests: what is set is in the page and in its address.
"""

from __future__ import annotations

import json
import logging
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from convexdesign.errors import InputError, MissingExtraError
from convexdesign.explore.answers import answer, beginning
from convexdesign.explore.curve import curve_answer
from convexdesign.explore.guard import Guard
from convexdesign.extras import needed

__all__ = ["serve"]

HERE = Path(__file__).parent
FILES = {
    "/": ("page.html", "text/html"),
    "/curve": ("curve.html", "text/html"),
    "/curve.js": ("curve.js", "text/javascript"),
    "/asking.js": ("asking.js", "text/javascript"),
    "/page.js": ("page.js", "text/javascript"),
    "/explorer.js": ("explorer.js", "text/javascript"),
    "/explorer.css": ("explorer.css", "text/css"),
}
# The page runs its own programs alone, and speaks to nobody else. (Widths of bars stand in attributes: styles may.)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
LONGEST_QUESTION = 100_000  # bytes; twenty-four arms and as many items take three thousand
SILENT_SECONDS = 60  # after which a connection that says nothing is closed


def serve(
    port: int = 0,
    query: str = "",
    open_browser: bool = True,
    announce: Callable[[str], None] = print,
    host: str = "127.0.0.1",
) -> None:
    """Serve the explorer until interrupted, ended (SIGTERM) or left by its terminal (SIGHUP): it then ends at once.

    port 0: any free one. announce: called with the address once it answers. query: the link's part after the question mark to
    open with; of the page of curves beginning with "curve?". host: the address to listen at; other than this machine's own,
    whoever reaches it may use the explorer. Raises InputError where the port or the host cannot be used.
    """
    with _listening(host, port) as server, _one_thread(), _interrupted_by_the_end(), suppress(KeyboardInterrupt):
        shown = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
        address = f"http://{f'[{shown}]' if ':' in shown else shown}:{server.server_port}/"
        address += query if query.startswith("curve") else f"?{query}" if query else ""
        announce(address)
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        server.serve_forever(poll_interval=0.1)


class Server(ThreadingHTTPServer):
    """One thread a connection; none of them keeps the program from ending."""

    daemon_threads = True
    guard: Guard

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.computing = threading.Lock()  # what Python keeps of warnings is one for all threads

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that was closed while it was answered is no fault."""
        logging.getLogger("convexdesign").debug("a page of the explorer went away", exc_info=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "convexdesign"
    sys_version = ""
    timeout = SILENT_SECONDS
    server: Server

    def do_GET(self) -> None:
        name, kind = FILES.get(urlsplit(self.path).path, ("", ""))
        if not self._allowed():
            return
        if name:
            self._send(200, f"{kind}; charset=utf-8", (HERE / name).read_bytes())
        else:
            self._say(404, "There is no such page.")

    def do_POST(self) -> None:
        if not self._allowed():
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and int(length) <= LONGEST_QUESTION):
            self._say(413, f"A question has a length of at most {LONGEST_QUESTION} bytes.")
            return
        body = self.rfile.read(int(length))
        try:
            asked = dict(json.loads(body))
            if self.path not in ("/start", "/answer", "/curve"):
                self._say(404, "There is no such page.")
                return
            with self.server.computing:
                if self.path == "/curve":
                    shown = curve_answer({"query": asked["query"]})
                elif self.path == "/start":
                    shown = beginning(str(asked["query"]))
                else:
                    shown = answer({"serial": asked.pop("serial"), **asked})
        except (ValueError, KeyError, TypeError, RecursionError):
            self._say(400, "This is no question of the explorer's page.")
            return
        self._send(200, "application/json", json.dumps(shown).encode())

    def _allowed(self) -> bool:
        headers = self.headers
        if self.server.guard.allows(headers.get_all("Host", []), headers.get_all("Origin", [])):
            return True
        self._say(403, "This explorer answers only the pages it serves, under the address it printed.")
        return False

    def _say(self, status: int, words: str) -> None:
        self.close_connection = True  # what else was sent is not read
        self._send(status, "text/plain; charset=utf-8", f"{words}\n".encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not news."""


def _listening(host: str, port: int) -> Server:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET

    class At(Server):
        address_family = family

    try:
        server = At((host, port), Handler)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"port {port} of {host or 'every address'} cannot be used ({reason}); give another port, or 0 for any free one"
        ) from error
    server.guard = Guard(host, server.server_port)
    return server


@contextmanager
def _interrupted_by_the_end() -> Iterator[None]:
    """SIGTERM and SIGHUP end the program as Ctrl-C does."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _one_thread() -> Any:
    """On matrices this small, threads of linear algebra only wait for one another; where nothing can tell them, they do."""
    try:
        threadpoolctl = needed("threadpoolctl", "one thread")
    except MissingExtraError:
        return nullcontext()
    return threadpoolctl.threadpool_limits(limits=1)

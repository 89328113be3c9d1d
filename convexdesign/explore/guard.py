"""Who may talk to the explorer: pages that it served itself, in a browser on this machine.

A server on 127.0.0.1 is within reach of every page that the browser shows: a page of another origin may send it requests, and
one whose name is made to point to 127.0.0.1 (DNS rebinding) may read the answers too. The first is told by the header Origin,
the second by Host, which browsers write themselves; both are compared with the names of this very server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["LOCAL_NAMES", "Guard"]

LOCAL_NAMES = ("127.0.0.1", "localhost")
REFUSAL = b"This explorer answers only the pages it serves, under the address it printed.\n"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class Guard:
    """An ASGI application that passes on what comes from its own pages, and lets no other origin read an answer.

    port: where the server listens; a request for another host or port, or from another origin, gets 403 (a WebSocket is
    closed before it opens). Headers Access-Control-* of the application are left out.
    """

    def __init__(self, application: Application, port: int):
        self.application = application
        self.hosts = {f"{name}:{port}".encode() for name in LOCAL_NAMES}
        self.hosts |= {name.encode() for name in LOCAL_NAMES if port == 80}
        self.origins = {b"http://" + host for host in self.hosts}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if not self.allows(scope):
                await _refuse(send)
                return
            await self.application(scope, receive, _without_sharing(send))
        elif scope["type"] == "websocket":
            if not self.allows(scope):
                await receive()
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.application(scope, receive, send)
        else:
            await self.application(scope, receive, send)

    def allows(self, scope: Message) -> bool:
        """Whether there is one Host, ours, and no Origin but ours."""
        hosts = [value for name, value in scope["headers"] if name.lower() == b"host"]
        origins = [value for name, value in scope["headers"] if name.lower() == b"origin"]
        ours = len(hosts) == 1 and hosts[0].lower() in self.hosts
        return ours and all(origin.lower() in self.origins for origin in origins)


def _without_sharing(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [
                (name, value)
                for name, value in message.get("headers", ())
                if not name.lower().startswith(b"access-control-")
            ]
            message = {**message, "headers": kept}
        await send(message)

    return sending


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(REFUSAL)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": REFUSAL})

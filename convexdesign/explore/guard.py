"""Who may talk to the explorer: pages that it served itself.

A server on 127.0.0.1 is within reach of every page that the browser shows: a page of another origin may send it requests, and
one whose name is made to point to 127.0.0.1 (DNS rebinding) may read the answers too. The first is told by the header Origin,
the second by Host, which browsers write themselves; both are compared with the names of this very server. Where it listens to
other machines, addresses written as numbers and this machine's own names are its names: no foreign name can be made to be one.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

__all__ = ["LOCAL_NAMES", "Guard", "is_local"]

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


class Guard:
    """host, port: where the server listens."""

    def __init__(self, host: str, port: int):
        self.port = port
        self.open = not is_local(host)
        self.names = {*LOCAL_NAMES, host.lower()}
        if self.open:
            self.names |= {name.lower() for name in (socket.gethostname(), socket.getfqdn())}

    def allows(self, host: Sequence[str], origin: Sequence[str]) -> bool:
        """Whether there is one Host, ours, and no Origin but ours; each as all headers of that name say it."""
        return (
            len(host) == 1 and self._is_ours(host[0]) and all(o.lower() == f"http://{host[0].lower()}" for o in origin)
        )

    def _is_ours(self, host: str) -> bool:
        name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
        if not name:
            name, port = host, ""
        if (port or "80") != str(self.port):
            return False
        return name.lower() in self.names or (self.open and _is_number(name))


def is_local(host: str) -> bool:
    """Whether only programs on this machine reach the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True

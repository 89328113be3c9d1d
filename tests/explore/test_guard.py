"""The server answers its own pages alone, and a session ends with its page: raw requests, without a browser."""

from __future__ import annotations

import base64
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest


@pytest.fixture(scope="module")
def server():
    """(port, pid) of an explorer in a process of its own."""
    command = [sys.executable, "-m", "convexdesign.cli", "explore", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stderr.readline())
            assert found
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield int(found[1]), process.pid
        finally:
            process.terminate()


@contextmanager
def sent(port: int, path: str, headers: dict[str, str], method: str = "GET"):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        yield connection


def answer(port: int, path: str, headers: dict[str, str], method: str = "GET") -> tuple[int, str]:
    """The status and the headers of one request."""
    with sent(port, path, {"Connection": "close", **headers}, method) as connection:
        data = b""
        while b"\r\n\r\n" not in data and (more := connection.recv(65536)):
            data += more
    head = data.partition(b"\r\n\r\n")[0].decode("latin-1").lower()
    return int(head.split()[1]), head


def websocket_headers(host: str, origin: str = "") -> dict[str, str]:
    key = base64.b64encode(secrets.token_bytes(16)).decode()
    return {
        "Host": host,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Version": "13",
    } | ({"Origin": origin} if origin else {})


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_its_own_pages_are_answered_and_shared_with_nobody(server, name):
    port, _ = server
    for headers in ({}, {"Origin": f"http://{name}:{port}"}):
        status, head = answer(port, "/", {"Host": f"{name}:{port}", **headers})
        assert status == 200
        assert "access-control" not in head


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:PORT"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1:1"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1.evil.example:PORT"},
        {"Host": "127.0.0.1:PORT", "Origin": "http://evil.example"},
        {"Host": "127.0.0.1:PORT", "Origin": "null"},
        {"Host": "127.0.0.1:PORT", "Origin": "https://127.0.0.1:PORT"},
        {"Host": "127.0.0.1:PORT", "Origin": "http://127.0.0.1:1"},
    ],
    ids=lambda h: " ".join(h.values()),
)
def test_other_hosts_and_origins_are_refused(server, headers):
    port, _ = server
    headers = {name: value.replace("PORT", str(port)) for name, value in headers.items()}
    for path, method in (("/", "GET"), ("/api/kernel/run", "POST"), ("/", "OPTIONS")):
        status, head = answer(port, path, {**headers, "Access-Control-Request-Method": "POST"}, method)
        assert status == 403, (path, method)
        assert "access-control" not in head
    session = f"/ws?session_id=s_{secrets.token_hex(3)}"
    assert answer(port, session, websocket_headers(headers["Host"], headers.get("Origin", "")))[0] == 403


def threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts the threads of a process by /proc")
def test_sessions_end_with_their_pages(server):
    """Ten pages opened and closed leave no thread behind."""
    port, pid = server
    host = f"127.0.0.1:{port}"

    def visit() -> None:
        path = f"/ws?session_id=s_{secrets.token_hex(3)}"
        with sent(port, path, websocket_headers(host, f"http://{host}")) as connection:
            assert b" 101 " in connection.recv(200)
            time.sleep(0.2)

    visit()
    before = threads(pid)
    for _ in range(10):
        visit()
    deadline = time.monotonic() + 60
    while threads(pid) > before and time.monotonic() < deadline:
        time.sleep(0.5)
    assert threads(pid) <= before

"""The server answers its own pages alone, and a connection ends with its page: raw requests, without a browser."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from convexdesign.explore.guard import Guard


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
    for path, method in (("/", "GET"), ("/answer", "POST"), ("/", "OPTIONS")):
        status, head = answer(port, path, {**headers, "Content-Length": "0"}, method)
        assert status == (501 if method == "OPTIONS" else 403), (path, method)
        assert "access-control" not in head


def posted(port: int, path: str, body: bytes, length: int | None = None) -> tuple[int, bytes]:
    headers = {"Host": f"127.0.0.1:{port}", "Connection": "close", "Content-Length": str(length or len(body))}
    with sent(port, path, headers, "POST") as connection:
        connection.sendall(body)
        data = b"".join(iter(lambda: connection.recv(65536), b""))
    return int(data.split()[1]), data.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/answer", b""),
        ("/answer", b"{"),
        ("/answer", b"[]"),
        ("/answer", b"3"),
        ("/answer", b"{}"),
        ("/answer", b"[" * 50_000),
        ("/answer", b"\xff\xfe"),
        ("/start", b"{}"),
        ("/nowhere", b'{"query": ""}'),
    ],
)
def test_what_is_no_question_is_refused_and_the_server_goes_on(server, path, body):
    port, _ = server
    status, words = posted(port, path, body)
    assert status in (400, 404)
    assert len(words) < 100  # a sentence, no traceback
    status, found = posted(port, "/answer", json.dumps({"serial": 1, "query": ""}).encode())
    assert status == 200
    assert json.loads(found)["serial"] == 1


def test_long_questions_are_not_read(server):
    port, _ = server
    assert posted(port, "/answer", b"", length=10**9)[0] == 413
    assert answer(port, "/answer", {"Host": f"127.0.0.1:{port}", "Content-Length": "-1"}, "POST")[0] == 413


def test_only_its_own_files_are_given(server):
    port, _ = server
    host = {"Host": f"127.0.0.1:{port}"}
    for path in ("/explorer.js", "/page.js", "/explorer.css", "/?problem=d-optimal"):
        status, head = answer(port, path, host)
        assert status == 200
        assert "default-src 'none'" in head
    for path in ("/serve.py", "/../serve.py", "/%2e%2e/serve.py", "//etc/passwd", "/explorer.js/"):
        assert answer(port, path, host)[0] == 404


def test_addresses_of_an_open_server():
    """Numbers and this machine's own names, never a name that somebody else can point here."""
    guard = Guard("0.0.0.0", 8000)
    assert guard.allows(["192.0.2.7:8000"], ["http://192.0.2.7:8000"])
    assert guard.allows(["[2001:db8::1]:8000"], [])
    assert guard.allows([f"{socket.gethostname()}:8000"], [])
    assert not guard.allows(["evil.example:8000"], [])
    assert not guard.allows(["192.0.2.7:8001"], [])
    assert not guard.allows(["192.0.2.7:8000"], ["http://evil.example"])
    assert not guard.allows(["192.0.2.7:8000"] * 2, [])
    assert not Guard("127.0.0.1", 8000).allows(["192.0.2.7:8000"], [])
    assert Guard("127.0.0.1", 80).allows(["localhost"], [])
    assert not Guard("127.0.0.1", 8000).allows([], [])


def threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts the threads of a process by /proc")
def test_connections_end_with_their_pages(server):
    """Ten pages opened and closed leave no thread behind."""
    port, pid = server

    def visit() -> None:
        with sent(port, "/", {"Host": f"127.0.0.1:{port}"}) as connection:
            assert b" 200 " in connection.recv(200)

    visit()
    before = threads(pid)
    for _ in range(10):
        visit()
    deadline = time.monotonic() + 60
    while threads(pid) > before and time.monotonic() < deadline:
        time.sleep(0.5)
    assert threads(pid) <= before

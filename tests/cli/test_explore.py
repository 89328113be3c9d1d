"""`convexdesign explore`: what it says when it cannot serve, where it listens, and that it stops when told to."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys

import pytest


@pytest.mark.parametrize("missing", ["marimo", "anywidget", "uvicorn", "zmq", "threadpoolctl"])
def test_without_the_extra_it_says_which(cli, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    result = cli("explore", "--no-browser")
    assert result.code == 2
    assert missing in result.err
    assert "pip install 'convexdesign[explore]'" in result.err


def test_a_port_that_is_taken(cli):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = cli("explore", "--no-browser", "--port", port)
    assert result.code == 2
    assert f"port {port} cannot be used" in result.err
    assert cli("explore", "--port", 70000).code == 2


def test_it_answers_on_this_machine_alone_and_stops_when_interrupted():
    from urllib.request import urlopen

    command = [sys.executable, "-m", "convexdesign.cli", "explore", "--no-browser", "--view", "?problem=d-optimal"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            said = server.stderr.readline()
            found = re.search(r"(http://127\.0\.0\.1:(\d+)/)\?problem=d-optimal ", said)
            assert found, said
            with urlopen(found[1], timeout=60) as page:
                assert "convexdesign explorer" in page.read().decode()
            with socket.socket() as other, pytest.raises(OSError):
                other.connect(("127.0.0.2", int(found[2])))  # another address of this machine: refused
            server.send_signal(signal.SIGINT)
            assert server.wait(60) == 0
        finally:
            server.kill()

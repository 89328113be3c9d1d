"""`convexdesign explore`: what it says when it cannot serve, where it listens, and that it stops when told to."""

from __future__ import annotations

import html
import json
import re
import signal
import socket
import subprocess
import sys

import pytest

import convexdesign as cd


def test_the_widget_without_its_extra_says_so(monkeypatch):
    import convexdesign.explore

    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "convexdesign.explore.widget", raising=False)
    with pytest.raises(cd.InputError, match=r"anywidget.*pip install 'convexdesign\[explore\]'"):
        convexdesign.explore.Explorer  # noqa: B018


def test_the_page_needs_no_extra():
    """A server of the standard library: nothing of the extra is loaded to serve and to answer."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('anywidget', 'traitlets', 'threadpoolctl', 'matplotlib')));"
        "import convexdesign.explore.serve as s; print(s.beginning('')['shown']['plane']['weights'])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.startswith(
        "["
    )


def test_a_view_as_one_page(cli, tmp_path):
    out = tmp_path / "view.html"
    assert cli("explore", "--export", out, "--view", "problem=g-optimal&arms=1,0,1;0,1,3&pulls=8").code == 0
    text = out.read_text(encoding="utf-8")
    certificate = json.loads(html.unescape(re.search(r'<pre id="certificate">(.*?)</pre>', text, re.S)[1]))
    problem = cd.DesignProblem.g_optimal([[1.0, 0.0], [0.0, 1.0]], noise_variance=[1.0, 3.0])
    found = cd.verify(problem, weights=certificate["weights"])
    assert found.value == pytest.approx(certificate["value"])
    assert certificate["bound"] <= certificate["value"] == pytest.approx(4.0, rel=1e-6)
    assert set(re.findall(r"https?://[^\s\"'<)]+", text)) == {"http://www.w3.org/2000/svg"}
    bad = cli("explore", "--export", out, "--view", "problem=a-optimal&arms=1,0,1;2,0,1")
    assert bad.code == 2
    assert "nothing to export" in bad.err


def test_a_host_that_others_reach_is_warned_about(cli, monkeypatch):
    from convexdesign.explore import serve

    monkeypatch.setattr(serve, "serve", lambda *given: None)
    assert "whoever reaches 0.0.0.0" in cli("explore", "--host", "0.0.0.0", "--no-browser").err
    assert cli("explore", "--no-browser").err == ""
    monkeypatch.undo()
    result = cli("explore", "--host", "192.0.2.1", "--no-browser")  # no address of this machine
    assert result.code == 2
    assert "of 192.0.2.1 cannot be used" in result.err


def test_a_port_that_is_taken(cli):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = cli("explore", "--no-browser", "--port", port)
    assert result.code == 2
    assert f"port {port} of 127.0.0.1 cannot be used" in result.err
    assert cli("explore", "--port", 70000).code == 2


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_it_answers_on_this_machine_alone_and_ends_at_once_with_an_open_page(name):
    from http.client import HTTPConnection

    command = [sys.executable, "-m", "convexdesign.cli", "explore", "--no-browser", "--view", "?problem=d-optimal"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            said = server.stderr.readline()
            found = re.search(r"(http://127\.0\.0\.1:(\d+)/)\?problem=d-optimal ", said)
            assert found, said
            page = HTTPConnection("127.0.0.1", int(found[2]), timeout=60)  # kept open, as browsers do
            page.request("GET", "/")
            assert "convexdesign explorer" in page.getresponse().read().decode()
            with socket.socket() as other, pytest.raises(OSError):
                other.connect(("127.0.0.2", int(found[2])))  # another address of this machine: refused
            server.send_signal(getattr(signal, name))
            assert server.wait(60) == 0
            assert server.stderr.read() == ""
            page.close()
        finally:
            server.kill()

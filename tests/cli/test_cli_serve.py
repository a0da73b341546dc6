"""`groundgraph serve`: from a folder of documents to a page, and a graceful end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from serve_process import serve_process

LOOKS = """
import gc
from pathlib import Path
from langgraph_sdk import Auth

auth = Auth()

@auth.authenticate
async def anybody(headers):
    Path("looks").write_text(f"{gc.get_freeze_count()} {gc.get_threshold()[2]}")
    return "anybody"
"""


@pytest.mark.covers("U8")
@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_folder_is_taken_in_and_a_page_is_there_until_it_is_interrupted(
    tmp_path: Path, ending: signal.Signals, code: int
):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "pumps.md").write_text("# Pumps\n\nPump 17 is serviced every 90 days.\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GROUNDGRAPH_")}
    command = [sys.executable, "-m", "groundgraph", "serve", "docs", "--port", "0", "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        told = b""
        while not told.rstrip().endswith(b"}"):
            line = process.stdout.readline() if process.stdout else b""
            assert line, process.stderr.read() if process.stderr else ""
            told += line
        url = json.loads(told)["url"]
        asked = {"model": "groundgraph", "messages": [{"role": "user", "content": "How often is pump 17 serviced?"}]}
        answer = httpx.post(f"{url}v1/chat/completions", json=asked).json()
        assert "90 days" in answer["choices"][0]["message"]["content"]
        assert httpx.get(url).status_code == 200
    finally:
        process.send_signal(ending)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, b"")
    assert b"Traceback" not in err
    assert (b"Interrupted" in err) is bool(code)


def test_others_are_let_in_only_where_users_sign_in(call):
    ran = call("serve", "--host", "0.0.0.0")
    assert ran.code == 2
    assert "GROUNDGRAPH_TOKEN" in ran.err


def test_what_is_missing_is_named_once(call, monkeypatch: pytest.MonkeyPatch):
    from groundgraph.cli import serve

    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    ran = call("serve")
    assert (ran.code, ran.err.count("groundgraph[page]")) == (2, 1)


def test_documents_that_are_not_there_are_told_and_nothing_is_served(call):
    ran = call("serve", "nowhere", "--json")
    assert (ran.code, ran.json["error"]["type"]) == (2, "ConfigurationError")
    assert ran.json["error"]["message"] == "PATH: there is no file or folder 'nowhere'"


def test_a_port_that_is_taken_is_told_before_documents_are_taken_in(call, tmp_path: Path):
    (tmp_path / "pumps.md").write_text("# Pumps\n\nPump 17 is serviced every 90 days.\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = call("serve", "pumps.md", "--port", port)
    assert (ran.code, ran.out) == (2, "")
    assert f"cannot listen on 127.0.0.1, port {port} (Address already in use): choose another --port" in ran.err
    assert not (tmp_path / ".groundgraph").exists()


def test_a_server_that_does_not_start_is_told(call, monkeypatch: pytest.MonkeyPatch):
    from groundgraph.serve import app

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no room left"})

    monkeypatch.setattr(app, "serve_app", lambda graph, served: broken)
    ran = call("serve", "--port", "0")
    assert ran.code == 3
    assert "The server could not start" in ran.err
    assert "Interrupted" not in ran.err


@pytest.mark.covers("U8")
def test_a_server_does_not_look_for_garbage_among_what_stays(tmp_path: Path):
    (tmp_path / "auth.py").write_text(LOOKS)
    (tmp_path / "groundgraph.yaml").write_text("knowledge_base: {}\n")
    with serve_process(tmp_path, "--auth", "auth.py:auth") as served:
        assert httpx.get(f"{served.url}/api/page").status_code == 200
    kept, rarely = map(int, (tmp_path / "looks").read_text().split())
    assert kept > 50_000
    assert rarely == 100

"""`groundgraph serve`: from a folder of documents to a page, and a graceful end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest


@pytest.mark.covers("U8")
def test_a_folder_is_taken_in_and_a_page_is_there_until_it_is_interrupted(tmp_path: Path):
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
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def test_others_are_let_in_only_where_users_sign_in(call):
    ran = call("serve", "--host", "0.0.0.0")
    assert ran.code == 2
    assert "GROUNDGRAPH_TOKEN" in ran.err


def test_what_is_missing_is_named_once(call, monkeypatch: pytest.MonkeyPatch):
    from groundgraph.cli import serve

    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    ran = call("serve")
    assert (ran.code, ran.err.count("groundgraph[page]")) == (2, 1)

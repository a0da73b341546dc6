"""`groundgraph ingest --watch`."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from groundgraph.cli import watch

pytestmark = pytest.mark.covers("K15")


@contextmanager
def following(folder: Path, *given: str) -> Iterator[tuple[subprocess.Popen[str], Callable[[str], None]]]:
    """A running `ingest --watch`, and a function that waits until it has said something."""
    command = [sys.executable, "-u", "-m", "groundgraph", "ingest", *given, "--watch"]
    said = folder / "said.log"
    with said.open("w") as out, subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, text=True) as process:

        def await_text(text: str) -> None:
            until = time.monotonic() + 60
            while text not in said.read_text():
                assert time.monotonic() < until, said.read_text()
                assert process.poll() is None, said.read_text()
                time.sleep(0.05)

        try:
            yield process, await_text
        finally:
            process.kill()


def test_what_changes_is_taken_in_until_ctrl_c(docs, tmp_path, call):
    with following(tmp_path, "docs") as (process, await_text):
        await_text("Following the documents")
        (docs / "lathe.md").write_text("# Lathes\n\nLathe 12 stands in hall C.\n")
        await_text("1 written")
        (docs / "lathe.md").unlink()
        await_text("1 deleted")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
    assert "lathe" not in call("documents", "list", "--json").out


def test_what_cannot_be_followed_is_refused_before_anything_is_taken_in(call, docs, monkeypatch):
    refused = call("ingest", "https://example.org/page", "--watch")
    assert (refused.code, "a web page cannot be followed" in refused.err) == (2, True)
    gone = call("ingest", "docs", "gone", "--watch")
    assert (gone.code, "does not exist" in gone.err) == (2, True)
    together = call("ingest", "docs", "--watch", "--dry-run")
    assert (together.code, "--watch" in together.err) == (2, True)
    monkeypatch.setattr(watch, "find_spec", lambda name: None)
    missing = call("ingest", "docs", "--watch")
    assert (missing.code, 'pip install "groundgraph[watch]"' in missing.err) == (2, True)
    assert not (docs.parent / ".groundgraph").exists()


def test_a_run_that_fails_is_told_and_tried_again(capsys):
    def busy() -> None:
        raise OSError("the base is locked")

    assert watch._succeeds(busy) is False
    assert "tried again: the base is locked" in capsys.readouterr().err
    assert watch._succeeds(lambda: None) is True

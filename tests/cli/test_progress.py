"""Progress of an ingest."""

from __future__ import annotations

import re
import sys

from groundgraph.cli import progress
from groundgraph.cli.progress import shown_ingest, shown_progress


def test_elsewhere_than_on_a_terminal_a_line_now_and_then(capsys, monkeypatch):
    now = iter([0.0, 1.0, 3.0, 4.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with shown_progress("Ingesting") as report:
        report(10, 100, "a")
        report(30, 100, "b")
        report(35, None, "c")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "Ingesting: 30 of 100 documents, 10 documents/s, 7 s left\n"


def test_an_ingest_shows_documents_chunks_rate_failures_and_the_time_left(capsys, monkeypatch):
    now = iter([0.0, 1.0, 4.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with shown_ingest("Ingesting") as listen:
        listen({"stage": "find_documents", "total": 500, "failed": 1})
        listen({"stage": "write_documents", "finished": list("abcdefghij"), "failed": 1, "chunks": 19})
    told = capsys.readouterr().err
    assert told == "Ingesting: 10 of 500 documents, 19 chunks, 2 documents/s, 2 failed, 3 min 16 s left\n"


def test_after_a_few_documents_no_time_is_told():
    assert progress.Course(done=9, total=500, started=0.0).left(4.0) == ""
    assert progress.Course(done=1, total=2, started=0.0).left(4.0) == "4 s left"
    assert progress.Course(done=0, total=1, started=0.0).left(4.0) == ""


def test_quiet_shows_nothing(capsys):
    with shown_progress("Ingesting", quiet=True) as report:
        report(1, 1, "a")
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_a_bar_with_counts_and_rate(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with shown_progress("Ingesting") as report:
        report(3, 4, "a")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Ingesting" in captured.err
    assert "3/4" in captured.err
    assert re.search(r"\d+ documents/s", captured.err)


def test_on_a_terminal_an_ingest_says_more_beside_the_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    with shown_ingest("Ingesting") as listen:
        listen({"stage": "find_documents", "total": 4})
        listen({"stage": "write_documents", "finished": ["a", "b"], "failed": 1, "chunks": 9})
    told = capsys.readouterr().err
    for part in ("2/4", "9 chunks", "1 failed", "s left", "write documents"):
        assert part in told

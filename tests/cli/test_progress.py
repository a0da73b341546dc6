"""Progress of an ingest."""

from __future__ import annotations

import re
import sys

from groundgraph.cli import progress
from groundgraph.cli.progress import shown_progress


def test_elsewhere_than_on_a_terminal_a_line_now_and_then(capsys, monkeypatch):
    now = iter([0.0, 1.0, 3.0, 3.0, 4.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with shown_progress("Ingesting") as report:
        report(10, 100, "a")
        report(30, 100, "b")
        report(35, None, "c")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "Ingesting: 30 of 100 documents, 10 documents/s\n"


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

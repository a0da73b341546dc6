"""A recorded turn as the page shows it: its answer as HTML, and everything around it in its reader's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundgraph.report.evidence import RecordedTurn
from groundgraph.report.room import Room
from groundgraph.report.turn_page import words_of
from groundgraph.report.turn_view import TurnView
from groundgraph.serve.conversations import KeptTurn
from groundgraph.serve.thread_export import citations_of, turn_markdown
from groundgraph.settings.settings import Settings


def kept_json(turn: KeptTurn) -> dict[str, Any]:
    """A turn in the tree of its conversation."""
    return {**vars(turn), "mark": dict(turn.mark)}


def turn_json(record: Mapping[str, Any], settings: Settings, language: str) -> dict[str, Any]:
    """What the page shows of a record; `html` is safe to put into a page, everything else is text."""
    view = TurnView(RecordedTurn(record), words_of(record, settings, language), Room())
    name, called, means = view.outcome
    answer = str(view.answer)
    return {
        "html": answer,
        "language": record.get("language") or "",
        "outcome": {"name": name, "called": str(called), "means": means},
        "alert": view.source_failed,
        "notes": list(record["notes"]),
        "findings": _findings(view),
        "citations": citations_of(record),
        "markdown": turn_markdown(record),
        "written": view.written,
    }


def _findings(view: TurnView) -> list[dict[str, str]]:
    flags = view.record["citation_check"].get("flags", [])
    return [
        {"kind": view.words.named("finding", flag["kind"]), "sentence": flag["sentence"], "detail": flag["detail"]}
        for flag in flags
    ]

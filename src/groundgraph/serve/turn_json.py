"""A recorded turn as the page shows it: its answer as HTML, and everything around it in its reader's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundgraph.report.evidence import RecordedTurn
from groundgraph.report.room import Room
from groundgraph.report.turn_page import words_of
from groundgraph.report.turn_view import TurnView
from groundgraph.report.words import findings_of
from groundgraph.serve.conversations import KeptTurn
from groundgraph.serve.thread_export import citations_of, turn_markdown
from groundgraph.settings.settings import Settings


def kept_json(turn: KeptTurn, settings: Settings, language: str) -> dict[str, Any]:
    """A turn in the tree of its conversation."""
    asked = None if turn.asked is None else asked_json(turn.asked, settings, language)
    return {**vars(turn), "mark": dict(turn.mark), "asked": asked}


def asked_json(asked: Mapping[str, Any], settings: Settings, language: str) -> dict[str, Any]:
    """What a person is asked by whose decision an answer goes out; everything is text."""
    shown = {name: asked[name] for name in ("answer", "support", "support_below", "evidence")}
    findings = findings_of(asked["flags"], words_of({}, settings, language))
    return {**shown, "findings": findings, "problem": asked.get("problem", "")}


def turn_json(record: Mapping[str, Any], settings: Settings, language: str) -> dict[str, Any]:
    """What the page shows of a record; `html` is safe to put into a page, everything else is text.

    `choices` are those of a turn that asks back (outcome `clarify`), else none: the `label` of each is shown and, sent
    as the next message of the conversation, chooses it; `citations` are the labels of the passages that speak of it.
    The answer holds them too, as a list.
    """
    view = TurnView(RecordedTurn(record), words_of(record, settings, language), Room())
    name, called, means = view.outcome
    answer = str(view.answer)
    return {
        "html": answer,
        "language": record.get("language") or "",
        "outcome": {"name": name, "called": str(called), "means": means},
        "alert": view.source_failed,
        "notes": list(record["notes"]),
        "findings": findings_of(view.record["citation_check"].get("flags", []), view.words),
        "citations": citations_of(record),
        "markdown": turn_markdown(record),
        "choices": [{name: one[name] for name in ("label", "citations")} for one in record.get("choices", [])],
    }

"""A recorded turn as the page shows it, and a turn or a conversation to take along: as Markdown with footnotes, and as
JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundgraph.answers.label_gate import LABEL_OR_CODE, escape_labels, label_numbers
from groundgraph.report.evidence import RecordedTurn
from groundgraph.report.room import Room
from groundgraph.report.turn_page import words_of
from groundgraph.report.turn_view import TurnView
from groundgraph.report.words import findings_of, plain
from groundgraph.serve.conversations import KeptTurn
from groundgraph.settings.settings import Settings

Record = Mapping[str, Any]


def citations_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The citations by label, each with the first of its quotes."""
    found: dict[int, dict[str, Any]] = {}
    for one in record["citations"]:
        shown = {"label": one["label"], "title": one["title"] or "", "section": one["section"] or ""}
        place = {"shown": one["location"]["shown"], "source": one["source_name"], "quote": one["quote"]}
        found.setdefault(one["label"], {**shown, **place})
    return [found[label] for label in sorted(found)]


def turn_markdown(record: Record, before: str = "") -> str:
    """A turn as Markdown, its citations as footnotes whose names begin with `before`."""
    citations = citations_of(record)
    known = {one["label"] for one in citations}

    def footnotes(found: re.Match[str]) -> str:
        labels = label_numbers(found.group(1)) if found.group(1) else []
        cited = labels and known.issuperset(labels)
        return "".join(f"[^{before}{label}]" for label in labels) if cited else found.group()

    notes = [f"> {_line(note)}" for note in record["notes"]]
    listed = [f"[^{before}{one['label']}]: {_found(one['shown'])}: “{_found(one['quote'])}”" for one in citations]
    answer = LABEL_OR_CODE.sub(footnotes, record["answer"].strip())
    parts = [f"**{_line(record['question'])}**", answer, *notes, "\n".join(listed)]
    return plain("\n\n".join(part for part in parts if part)) + "\n"


def thread_markdown(title: str, turns: Sequence[KeptTurn], records: Mapping[str, Record]) -> str:
    """The branch of a conversation that was taken last, turn by turn; a turn without a record is its question."""
    shown = [f"# {_line(title)}\n"]
    for number, turn in enumerate(_latest(turns), 1):
        record = records.get(turn.id)
        shown.append(turn_markdown(record, f"{number}-") if record else f"**{_line(turn.question)}**\n")
    return plain("\n".join(shown))


def thread_json(title: str, turns: Sequence[KeptTurn], records: Mapping[str, Record]) -> dict[str, Any]:
    """All branches of a conversation: every turn with the name of its parent."""
    return {"title": title, "turns": [_turn_json(turn, records.get(turn.id)) for turn in turns]}


def _turn_json(turn: KeptTurn, record: Record | None) -> dict[str, Any]:
    kept = {"id": turn.id, "parent": turn.parent, "at": turn.at, "question": turn.question, "mark": dict(turn.mark)}
    if record is None:
        return {**kept, "outcome": None}
    told = {name: record[name] for name in ("outcome", "answer", "notes")}
    return {**kept, **told, "citations": citations_of(record)}


def _latest(turns: Sequence[KeptTurn]) -> Iterator[KeptTurn]:
    """From the first turn by the newest at each step, as the page opens a conversation."""
    newest = {turn.parent: turn for turn in turns}
    at = newest.get("")
    while at:
        yield at
        at = newest.get(at.id)


def _found(text: str) -> str:
    """Words of a document in one line, which load and run nothing."""
    return _line(escape_labels(text))


def _line(text: str) -> str:
    return " ".join(text.split())


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

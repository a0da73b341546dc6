"""The output of a turn that ended before: from its record, or from its answer where there is none."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AnyMessage


def output_without_record(message: AnyMessage) -> dict[str, Any]:
    """What the answer itself tells, where no record was stored."""
    return {
        "answer": str(message.text),
        "outcome": message.response_metadata.get("outcome", "answered"),
        "notes": [],
        "citations": [],
        "support": {"score": 0.0, "answerable": 0.0, "flags": []},
        "provenance": {},
    }


def output_of(record: dict[str, Any]) -> dict[str, Any]:
    """The output keys of a turn that its record holds."""
    check = record["citation_check"]
    return {
        "answer": record["answer"],
        "outcome": record["outcome"],
        "notes": record["notes"],
        "citations": record["citations"],
        "support": {name: check.get(name) for name in ("score", "answerable", "flags")},
        "provenance": record,
    }

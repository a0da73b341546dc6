"""A recorded turn with what is found out about it once, however often its page is made smaller."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from groundgraph.report.evidence import Evidence, evidence_of
from groundgraph.report.steps import Step, path_of


@dataclass
class RecordedTurn:
    """A full record.

    Attributes:
        record: as `load_provenance` gives it.
    """

    record: Mapping[str, Any]

    @cached_property
    def evidence(self) -> Evidence:
        """Its evidence."""
        return evidence_of(self.record)

    @cached_property
    def path(self) -> Sequence[Step]:
        """Its way through the graph."""
        return path_of(self.record)

    @cached_property
    def stored(self) -> str:
        """The record as JSON, with the length of evidence in place of its text."""
        by_source = {name: [_without_text(row) for row in rs] for name, rs in self.record["results_by_source"].items()}
        results = [_without_text(row) for row in self.record["results"]]
        document = {**self.record, "results": results, "results_by_source": by_source}
        return json.dumps(document, ensure_ascii=False, indent=1, default=str)


def _without_text(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name not in ("text", "text_preview")}
    return {**kept, "text_characters": len(row["text"])}

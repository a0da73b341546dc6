"""Reads one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator

from groundgraph.core.document import Document
from groundgraph.core.evidence import jsonable
from groundgraph.core.original import FILE_LINE
from groundgraph.nodes.ingest.records import Records, left_out, shown


def load_jsonl(text: str, warnings: list[str], name: str) -> Document:
    """The document with a record for each line of `text`; a line that holds no JSON object gives a warning.

    Raises:
        IngestError: no line holds a record, or there are too many.
    """
    records = Records()
    broken: list[str] = []
    other: list[str] = []
    for number, line in enumerate(_lines(text), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            broken.append(f"line {number}")
            continue
        if not isinstance(row, dict):
            other.append(f"line {number}")
            continue
        values = jsonable(row)
        records.add([(field, shown(value), value) for field, value in values.items()], {FILE_LINE: number})
    warnings = [
        *warnings,
        *left_out(broken, "lines were", "they are no JSON"),
        *left_out(other, "lines were", "they hold no JSON object"),
    ]
    return records.document(name, warnings)


def _lines(text: str) -> Iterator[str]:
    """The lines of `text` one by one: a list of all would double the memory."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = end + 1

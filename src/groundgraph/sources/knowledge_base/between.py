"""What stands between neighbouring chunks of a document, so that they can be joined (R9)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

# Only white space is worth knowing, so a gap longer than this is none.
MAX_GAP = 64
_BETWEEN = (
    "SELECT substr(documents.text, one.end + 1, other.start - one.end) "
    "FROM documents JOIN chunks AS one ON one.document_id = documents.id "
    "JOIN chunks AS other ON other.document_id = documents.id "
    "WHERE documents.name = ? AND one.position = ? AND other.position = ? "
    f"AND NOT one.derived AND NOT other.derived AND other.start - one.end BETWEEN 0 AND {MAX_GAP} "
    # No page, record or other part begins between the two.
    "AND (documents.parts = '[]' OR NOT EXISTS (SELECT 1 FROM json_each(documents.parts) AS part "
    "WHERE json_extract(part.value, '$[0]') BETWEEN one.start + 1 AND other.start))"
)


def texts_between(connection: sqlite3.Connection, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
    """For each pair of chunk ids the text of their document between the two.

    None for chunks of different documents or parts, chunks that a model wrote, and chunks that are far apart.
    """
    return [_between(connection, one, other) for one, other in pairs]


def _between(connection: sqlite3.Connection, one: str, other: str) -> str | None:
    (name, _, first), (same, _, second) = one.rpartition("#"), other.rpartition("#")
    if name != same or not (first.isdigit() and second.isdigit()):
        return None
    row = connection.execute(_BETWEEN, (name, int(first), int(second))).fetchone()
    return None if row is None else str(row[0])

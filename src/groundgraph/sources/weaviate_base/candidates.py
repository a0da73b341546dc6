"""A chunk that may be found, with what the ledger says of its document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundgraph.sources.weaviate_base.ledger import LedgerRow

# Name of the document and place in it: chunks that score the same stand in this order.
Key = tuple[str, int]


@dataclass(frozen=True)
class Candidate:
    """One chunk.

    Attributes:
        id: of its object.
        row: of its document.
        position: its place in the document.
        own_fields: its own metadata.
        stems: those of each matching text.
        heading_stems: those of what stands above it.
    """

    id: str
    row: LedgerRow
    position: int
    own_fields: Mapping[str, Any]
    stems: Sequence[str] = field(repr=False)
    heading_stems: str = field(repr=False)

    @property
    def key(self) -> Key:
        """What identifies it."""
        return self.row.stored.name, self.position

    @property
    def filter_values(self) -> dict[str, Any]:
        """The values that filters are about."""
        stored = self.row.stored
        return {"kind": stored.kind, **stored.metadata, **self.own_fields, "document": stored.name}


def candidate_of(found: Any, documents: Mapping[str, LedgerRow]) -> Candidate | None:
    """The candidate in an object; None when it belongs to another version than the ledger names."""
    values = found.properties
    row = documents.get(str(values["document_id"]))
    position = int(values["position"])
    if row is None or row.version != str(values["version"]) or position >= row.stored.chunks:
        return None
    return Candidate(
        str(found.uuid),
        row,
        position,
        json.loads(values["metadata"]),
        values.get("stems") or [""],
        values.get("heading_stems") or "",
    )

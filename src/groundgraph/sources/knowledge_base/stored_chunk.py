"""A stored chunk as a piece of evidence, whatever it is stored in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundgraph.core.chain import Match
from groundgraph.core.document import DOCUMENTS
from groundgraph.core.evidence import SourceResult
from groundgraph.core.original import FILE_LINE, FILE_ROW, FILE_SHEET, FILE_TEXT
from groundgraph.core.text import stems
from groundgraph.search.rank import RankedPassage

SOURCE_TYPE = "knowledge_base"
# What every result carries; fields of documents and of their parts stand beside these.
OWN_METADATA = ("document", "title", "section", "headings", "heading_levels", "position", "start", "end")
SOMETIMES = ("derived", "qualifying_text", FILE_TEXT, FILE_LINE, FILE_ROW, FILE_SHEET)


@dataclass(frozen=True)
class StoredChunk:
    """A chunk with what is known of its document; `Chunk`, `Document` and `PreparedChunk` say what each value is.

    Attributes:
        fields: the metadata of the document.
        own_fields: that of the chunk.
    """

    document: str
    title: str
    kind: str
    fields: Mapping[str, Any] = field(repr=False)
    position: int
    start: int
    end: int
    origin: int
    derived: bool
    headings: Sequence[str]
    heading_levels: Sequence[int]
    own_fields: Mapping[str, Any] = field(repr=False)
    qualifying_text: str
    text: str = field(repr=False)


def match_of(ranked: RankedPassage, chunk: StoredChunk, source_name: str) -> Match:
    """`chunk` as evidence, with the scores that the search gave it."""
    result = SourceResult(
        content=chunk.text,
        source_id=f"{chunk.document}#{chunk.position}",
        source_name=source_name,
        source_type=SOURCE_TYPE,
        relevance=ranked.relevance,
        metadata=_metadata(chunk),
        score=ranked.score,
        scores={**ranked.scores, "match": ranked.match_score},
    )
    return Match(result, ranked.match_score)


def _metadata(chunk: StoredChunk) -> dict[str, Any]:
    kind = {} if chunk.kind == DOCUMENTS else {"kind": chunk.kind}
    own = {
        "document": chunk.document,
        "title": chunk.title,
        "section": " > ".join(chunk.headings),
        "headings": list(chunk.headings),
        "heading_levels": list(chunk.heading_levels),
        "position": chunk.position,
        "start": chunk.start - chunk.origin,
        "end": chunk.end - chunk.origin,
    }
    more: dict[str, Any] = {"derived": True} if chunk.derived else {}
    if _adds_something(chunk):
        more["qualifying_text"] = chunk.qualifying_text
    return {**kind, **chunk.fields, **chunk.own_fields, **own, **more}


def _adds_something(chunk: StoredChunk) -> bool:
    """Whether the qualifying text holds a word that stands neither in the chunk nor above it."""
    if not chunk.qualifying_text or chunk.qualifying_text in chunk.text:
        return False
    above = stems("\n".join([chunk.text, chunk.title, *chunk.headings]))
    return not set(stems(chunk.qualifying_text)).issubset(above)

"""Where a quote stands, as a report says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundgraph.report.words import Words


def where_of(words: Words, row: Mapping[str, Any], citation: Mapping[str, Any]) -> str:
    """The place of the quote that `citation` has from `row`, and which characters it is, there or in the passage.

    A record of before places were known says which characters; one of a PDF has its page in the metadata of the row.
    """
    location = citation.get("location") or {}
    shown = location.get("shown")
    # What is no file is named above the passage already.
    return "; ".join(filter(None, [shown if len(location) > 1 else "", _characters(words, row, citation)]))


def _characters(words: Words, row: Mapping[str, Any], citation: Mapping[str, Any]) -> str:
    start, end, quote = citation.get("start"), citation.get("end"), citation["quote"]
    if start is None:
        at = row["text"].find(quote)
        return words("offsets_here", start=at, end=at + len(quote)) if at >= 0 else ""
    kind = "offsets_derived" if citation.get("derived") else "offsets"
    page = citation.get("location", row["metadata"]).get("page")
    return words(kind, start=start, end=end, page=page)

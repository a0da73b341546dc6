"""A turn as text, with what the page shows: for a terminal, a ticket, a diff."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from groundgraph.core.evidence import preview
from groundgraph.core.settings import Settings
from groundgraph.report.evidence import Piece, evidence_of
from groundgraph.report.figures import compact, duration, moment
from groundgraph.report.quote_place import where_of
from groundgraph.report.steps import path_of
from groundgraph.report.turn_page import environment, words_of
from groundgraph.report.visible_text import plain
from groundgraph.report.words import Words

_TEMPLATE = "turn.txt.jinja2"
_PREVIEW_CHARS = 200
_BLANK_LINES = re.compile(r"\n{3,}")


def turn_text(record: Mapping[str, Any], *, settings: Settings | None = None, language: str | None = None) -> str:
    """The text of a turn; evidence by its beginning, cited evidence by its quote.

    Args:
        record: as `load_provenance` gives it, or the `provenance` of a turn's output.
        settings: see `turn_page`.
        language: see `turn_page`.

    Raises:
        TemplateInvalid: the folder of prompts holds a file that cannot be used.
    """
    words = words_of(record, settings, language)
    evidence = evidence_of(record)
    text = (
        environment()
        .get_template(_TEMPLATE)
        .render(
            record=record,
            word=words,
            cited=[_row(piece, words) for piece in evidence.cited],
            others=[_row(piece, words) for piece in evidence.others],
            left_out=[_row(piece, words) for piece in evidence.left_out],
            reasons=[words.reasons(piece.reasons, piece.label) for piece in evidence.left_out],
            steps=[(step, duration(words, step.elapsed)) for step in path_of(record)],
            asked_at=moment(record.get("started_at")),
            compact=compact,
        )
    )
    return _BLANK_LINES.sub("\n\n", plain(text)).rstrip() + "\n"


def _row(piece: Piece, words: Words) -> dict[str, Any]:
    row = piece.row
    metadata = row["metadata"]
    quotes = [(" ".join(one["quote"].split()), where_of(words, row, one)) for one in piece.citations]
    return {
        **row,
        "label": piece.label,
        "place": metadata.get("section") or metadata.get("title") or metadata.get("document") or row["source_id"],
        "quotes": quotes or [(preview(row["text"], _PREVIEW_CHARS), "")],
    }

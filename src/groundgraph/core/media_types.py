"""What a file is by the suffix of its name."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath

from groundgraph.core.document import HTML, MARKDOWN, PDF, PLAIN_TEXT, RESTRUCTURED_TEXT

CSV = "text/csv"
JSON_LINES = "application/jsonl"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MEDIA_TYPES = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": PLAIN_TEXT,
    ".text": PLAIN_TEXT,
    ".rst": RESTRUCTURED_TEXT,
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".pdf": PDF,
    ".docx": DOCX,
    ".csv": CSV,
    ".tsv": CSV,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".xlsx": XLSX,
}
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_TEXT = frozenset({MARKDOWN, PLAIN_TEXT, RESTRUCTURED_TEXT})


@lru_cache(maxsize=4096)
def media_type_of(name: str) -> str | None:
    """The media type of the file called `name`; None for other suffixes, and for the address of a web page."""
    return None if _ADDRESS.match(name) else MEDIA_TYPES.get(PurePath(name).suffix.lower())


def is_text(media_type: str | None) -> bool:
    """Whether such a file is taken in character by character, so that places in it are places in its text."""
    return media_type in _TEXT

"""Characters that no text may contain."""

from __future__ import annotations

import re

# A lone surrogate cannot be encoded, so no checkpoint could hold it; NUL ends a text in PostgreSQL.
FORBIDDEN = re.compile("[\ud800-\udfff\x00]")


def clean_text(text: str) -> str:
    """`text` with forbidden characters replaced by U+FFFD, each by one, so that offsets stay right."""
    return text if text.isascii() and "\x00" not in text else FORBIDDEN.sub("\ufffd", text)

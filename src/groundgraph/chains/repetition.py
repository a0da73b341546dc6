"""Whether a text says the same over and over, as a small model does that has lost its way."""

from __future__ import annotations

import zlib

# So many characters in a row that compress to this share of their bytes: prose takes about a half, a table with wide
# columns a fifth, a sentence that is written again and again a twentieth, one character a fiftieth.
STRETCH = 1000
MOST_SHARE = 0.1


def repeated(text: str) -> int | None:
    """Where the first stretch of `text` begins that says nothing but the same again; None without one."""
    for start in range(0, len(text) - STRETCH + 1, STRETCH // 2):
        part = text[start : start + STRETCH].encode("utf-8", "replace")
        if len(zlib.compress(part, 1)) <= MOST_SHARE * len(part):
            return start
    return None

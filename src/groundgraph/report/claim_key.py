"""Which sentence is meant, wherever it is read: in the answer's Markdown, in its lines without markup, in a finding."""

from __future__ import annotations

import re

_MARKUP = re.compile(r"[*_`~#>|\\\s]+")


def claim_key(text: str) -> str:
    """The letters, digits and other signs of a sentence, without Markdown, list signs and white space."""
    return _MARKUP.sub("", text).lstrip("-+•")

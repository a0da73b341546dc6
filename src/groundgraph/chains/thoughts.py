"""Thinking taken out of a whole reply. What streams goes through the label gate, which knows of it too."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)
_BLOCK = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>\s*|\Z)", re.IGNORECASE | re.DOTALL)


def strip_thoughts(text: str) -> str:
    """`text` without think blocks, without one that never ends, and without one of which only the end is there.

    Some servers put the opening tag into the prompt, so that the reply begins in the middle of a thought.
    """
    first = _TAG.search(text)
    if first is None:
        return text
    return _BLOCK.sub("", text[first.end() :] if first[1] else text)

"""The text of PDF pages as a reader would write it down."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LINE_END = re.compile(r"(?:(?<![ \t])[ \t]++)?(?:\r\n?|\n|\f)")
# pdfium puts one of these in place of a hyphen at the end of a line and of the line's end.
_MARKS = "\ufffe\x02"
_DIVIDED = re.compile(f"((?:(?<!\\w)\\w++)?)[{_MARKS}]\\s*+(\\w*+)")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\uffff\ud800-\udfff]")


def page_texts(pages: Sequence[str]) -> list[str]:
    """`pages` with `\\n` as line end, without control characters and white space at the ends of lines.

    A hyphen at the end of a line goes where the document has the same word without one, and stays otherwise; the
    word is on one line then.
    """
    lined = [_LINE_END.sub("\n", page).strip() for page in pages]
    if any(mark in page for page in lined for mark in _MARKS):
        known = {word.casefold() for page in lined for word in re.findall(r"\w+", page)}
        lined = [_DIVIDED.sub(lambda found: _joined(found, known), page) for page in lined]
    return [_CONTROL.sub("", page) for page in lined]


def _joined(found: re.Match[str], known: set[str]) -> str:
    before, after = found.groups()
    whole = before + after
    return whole if before and after and whole.casefold() in known else f"{before}-{after}"

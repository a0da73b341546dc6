"""Where a text has something in quotation marks, also marks within marks, in one pass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

# By what closes it, what each mark opens. “ opens in English and closes in German and, within «», in Russian.
_CLOSED_BY = {"”": "“„", "“": "„", "»": "«"}
_OPENERS = "“„«"
# No text nests deeper; of more, the outermost were never closed.
_MAX_OPEN = 16
# A blank line ends every quotation; straight marks, which do not say whether they open, also a list item or row.
_MARK = re.compile(r"[“”„«»\"]|\n[ \t>]*(?=([-*+•#|\n]|\d{1,3}[.)])?)")


@dataclass
class _Open:
    """The marks that are open, from the outermost to the innermost: what each is and where it stands."""

    marks: list[tuple[str, int]] = field(default_factory=list)
    count: Counter[str] = field(default_factory=Counter)

    def push(self, mark: str, at: int) -> None:
        if len(self.marks) == _MAX_OPEN:
            self.count[self.marks.pop(0)[0]] -= 1
        self.marks.append((mark, at))
        self.count[mark] += 1

    def pop(self, kinds: str) -> int | None:
        """Where the innermost of `kinds` stands; what was opened within it is no longer open."""
        if not any(self.count[kind] for kind in kinds):
            return None
        while True:
            mark, at = self.marks.pop()
            self.count[mark] -= 1
            if mark in kinds:
                return at

    def drop(self, kinds: str) -> None:
        if any(self.count[kind] for kind in kinds):
            self.marks = [(mark, at) for mark, at in self.marks if mark not in kinds]
            self.count = Counter(mark for mark, _ in self.marks)


def spans_in_marks(text: str) -> list[tuple[int, int]]:
    """The offsets of what stands in quotation marks, in order, without the marks.

    Of marks within marks the outer ones count: what stands in the inner ones is part of the quotation.
    """
    outer: list[tuple[int, int]] = []
    for start, end in sorted(_closed(text), key=lambda span: (span[0], -span[1])):
        if not outer or start >= outer[-1][1]:
            outer.append((start, end))
    return outer


def _closed(text: str) -> Iterator[tuple[int, int]]:
    is_open = _Open()
    for found in _MARK.finditer(text):
        mark, at = found.group(), found.start()
        if mark.startswith("\n"):
            if found[1] == "\n":
                is_open = _Open()
            elif found[1]:
                is_open.drop('"')
            continue
        opener = _opener_of(text, mark, at, is_open)
        if opener is None:
            is_open.push(mark, at)
        elif opener and (start := is_open.pop(opener)) is not None:
            yield start + 1, at


def _opener_of(text: str, mark: str, at: int, is_open: _Open) -> str | None:
    """What the mark at `at` closes; None when it opens, empty when it does neither."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if mark == '"':
        if is_open.count[mark] and not after.isalnum() and not (_is_gap(before) and not _is_gap(after)):
            return mark
        return "" if before.isalnum() or _is_gap(after) else None
    if mark in _OPENERS:
        if mark == "“" and is_open.count["„"]:
            return "„"
        # “so“ is how some close what they opened with the same mark.
        return mark if is_open.count[mark] and not _is_gap(before) and _is_gap(after) else None
    return _CLOSED_BY[mark]


def _is_gap(character: str) -> bool:
    """Whether nothing, or white space, stands there."""
    return not character or character.isspace()

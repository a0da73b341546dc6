"""The line ends of a file whose text is stored with `\\n`."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A run of lines: the number, from 1, of its first, and what ends each of them.
LineEnd = Sequence[object]
LINE_ENDS = "line_ends"
# Every result carries the runs. A file with more of them has line ends by chance, and no offsets.
MAX_RUNS = 50
_END = re.compile(r"\r\n?|\n")
_PAIR = "\r\n"


def line_ends(text: str) -> list[list[object]] | None:
    """The runs of equal line ends in `text`; empty when all are `\\n`, None when there are more than `MAX_RUNS`."""
    if "\r" not in text:
        return []
    if text.count("\r") == text.count(_PAIR) == text.count("\n"):
        return [[1, _PAIR]]
    runs: list[list[object]] = []
    for line, found in enumerate(_END.finditer(text), 1):
        if not runs or runs[-1][1] != found.group():
            runs.append([line, found.group()])
        if len(runs) > MAX_RUNS:
            return None
    return runs


def count_before(runs: Sequence[LineEnd], line: int) -> int:
    """How many characters more than `\\n` the ends of the lines before `line` are."""
    total = 0
    for (first, end), following in zip(runs, [*(run[0] for run in runs[1:]), line], strict=True):
        if end == _PAIR:
            total += max(0, min(_number(following), line) - _number(first))
    return total


def with_line_ends(text: str, runs: Sequence[LineEnd], line: int) -> str:
    """`text`, which begins in `line`, with the line ends of its file."""
    first, *others = text.split("\n")
    return first + "".join(_end_of(runs, line + passed) + other for passed, other in enumerate(others))


def _end_of(runs: Sequence[LineEnd], line: int) -> str:
    return next((str(end) for first, end in reversed(runs) if _number(first) <= line), "\n")


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0

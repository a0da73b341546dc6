"""The lines that stand at the head or foot of many pages, which are no sentences to quote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from groundgraph.chains.sentence_index import RUNNING_LINES, masked_line

# How many lines at either end of a page are looked at.
_EDGE = 2
# A line that runs stands on at least so many pages, and on this share of them: left and right pages may have their own,
# and a list may by chance go on at the top of a few.
MIN_PAGES = 3
MIN_SHARE = 0.25
# A document has few; what goes beyond would be the rows of a table that goes on from page to page.
MAX_LINES = 8
_MAX_CHARS = 200


def running_lines(pages: Sequence[str]) -> list[str]:
    """The lines that run, as `masked_line` writes them, the most frequent first; empty for fewer than three pages.

    Only lines with a letter count: a page number alone is no sentence anyway.

    Args:
        pages: their texts in order.
    """
    counts: Counter[str] = Counter()
    # A long text without form feeds is one page, whose lines nobody wants to have in memory twice.
    for page in pages if len(pages) >= MIN_PAGES else ():
        lines = [line for line in page.split("\n") if line.strip()]
        masked = {masked_line(line) for line in (*lines[:_EDGE], *lines[-_EDGE:]) if len(line) <= _MAX_CHARS}
        counts.update(line for line in masked if any(map(str.isalpha, line)))
    least = max(MIN_PAGES, MIN_SHARE * len(pages))
    return [line for line, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])) if count >= least][
        :MAX_LINES
    ]


def running_metadata(pages: Sequence[str]) -> dict[str, list[str]]:
    """What the metadata of a document says about its running lines; empty when it has none."""
    found = running_lines(pages)
    return {RUNNING_LINES: found} if found else {}

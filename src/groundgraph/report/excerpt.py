"""Which parts of a long text are shown when not all of it can be."""

from __future__ import annotations

from collections.abc import Sequence

from groundgraph.report.visible_text import Span

# How far a cut may move to fall between words; shorter parts are cut where they are.
_SNAP = 24
Part = tuple[int, int]


def excerpt(text: str, spans: Sequence[Span], limit: int) -> list[Part]:
    """The parts of `text` that are shown: all of it, or about `limit` characters around `spans`.

    Args:
        text: the whole text.
        spans: what must be seen, in order and without overlaps; each at least by its beginning.
        limit: at most so many characters, but one per span.

    Returns:
        (start, end) of each part, in order and apart.
    """
    if len(text) <= limit:
        return [(0, len(text))] if text else []
    if not spans:
        return [_between_words(text, (0, limit), spans)]
    share = max(1, limit // len(spans))
    parts: list[Part] = []
    for span in spans:
        shown = min(span.end - span.start, share)
        around = (share - shown) // 2
        start, end = max(0, span.start - around), min(len(text), span.start + shown + around)
        if parts and start <= parts[-1][1]:
            parts[-1] = (parts[-1][0], max(end, parts[-1][1]))
        else:
            parts.append((start, end))
    return [_between_words(text, part, spans) for part in parts]


def _between_words(text: str, part: Part, spans: Sequence[Span]) -> Part:
    """`part`, smaller by some characters where a cut then falls on white space and into no span."""
    start, end = part
    if end - start < 4 * _SNAP:
        return part
    if start > 0:
        first = next((at for at in range(start, start + _SNAP) if text[at - 1].isspace()), start)
        start = start if any(span.start < first and start < span.end for span in spans) else first
    if end < len(text):
        last = next((at for at in range(end, end - _SNAP, -1) if text[at].isspace()), end)
        end = end if any(span.start < end and last < span.end for span in spans) else last
    return start, end

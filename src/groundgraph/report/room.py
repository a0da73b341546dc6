"""How much of a record fits on a page, and a count of what did not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from markupsafe import Markup

from groundgraph.report.words import Span, marked, visible

# Which parts of a long text are shown when not all of it can be.

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
        first = _space(text, range(start - 1, start - 1 + _SNAP)) + 1
        start = first if first > 0 and _is_apart(spans, start, first) else start
    if end < len(text):
        last = _space(text, range(end, end - _SNAP, -1))
        end = last if last >= 0 and _is_apart(spans, last, end) else end
    return start, end


def _space(text: str, places: range) -> int:
    """The first of `places` where white space stands; -1 for none."""
    return next((at for at in places if text[at].isspace()), -1)


def _is_apart(spans: Sequence[Span], start: int, end: int) -> bool:
    """Whether nothing of any span stands between the two offsets."""
    return not any(span.start < end and start < span.end for span in spans)


T = TypeVar("T")
# Sizes of the most generous page in characters; each later page has 0.7 of everything.
_ANSWER, _CITED, _OTHER, _RECORD, _NAME, _ENTRIES = 40_000, 16_000, 4_000, 80_000, 600, 60
_LEAST_NAME, _LEAST_ENTRIES, _LEAST_INNER = 40, 4, 2
_SHRINK, _PAGES = 0.7, 16


@dataclass
class Room:
    """The room of one page: sizes in characters, and the most entries of any list.

    Attributes:
        answer: of the answer.
        cited: of a passage that the answer cites.
        other: of any other passage.
        record: of the record at the end.
        name: of a title, a reason, a value and the like.
        entries: of any list.
        characters: how many characters were left out so far.
        rows: how many entries were.
    """

    answer: int = _ANSWER
    cited: int = _CITED
    other: int = _OTHER
    record: int = _RECORD
    name: int = _NAME
    entries: int = _ENTRIES
    characters: int = field(default=0, init=False)
    rows: int = field(default=0, init=False)

    @classmethod
    def rooms(cls) -> Iterator[Room]:
        """Rooms for pages that are smaller and smaller; the last one holds any record within 300 kB."""
        for page in range(_PAGES):
            share = _SHRINK**page
            yield cls(
                answer=int(_ANSWER * share),
                cited=int(_CITED * share),
                other=int(_OTHER * share),
                record=int(_RECORD * share),
                name=max(_LEAST_NAME, int(_NAME * share)),
                entries=max(_LEAST_ENTRIES, int(_ENTRIES * share)),
            )

    def short(self, value: object, limit: int | None = None) -> Markup:
        """A name or another short value, at most `limit` characters or those of a name, cut with an ellipsis."""
        text, most = str(value), limit or self.name
        if len(text) <= most:
            return visible(text)
        self.characters += len(text) - most
        return visible(text[:most].rstrip() + "…")

    def cut(self, text: str, limit: int) -> str:
        """The beginning of `text`, at most `limit` characters, whole lines where there are any."""
        if len(text) <= limit:
            return text
        kept = text[:limit]
        kept = kept[: kept.rfind("\n") + 1] or kept
        self.characters += len(text) - len(kept)
        return kept

    def some(self, entries: Iterable[T]) -> Shown[T]:
        """The first entries, and how many there are beside them."""
        return self._first(list(entries), self.entries)

    def few(self, entries: Iterable[T]) -> Shown[T]:
        """As `some`, for a list within an entry of a list."""
        return self._first(list(entries), max(_LEAST_INNER, self.entries // 4))

    def _first(self, every: Sequence[T], count: int) -> Shown[T]:
        more = max(0, len(every) - count)
        self.rows += more
        return Shown(every[:count], more)

    def passage(self, text: str, limit: int, spans: Sequence[Span] = ()) -> list[tuple[int, Markup]]:
        """What is shown of `text`: its parts with `spans` marked, each with how many characters are missing before
        it; at the end what is missing behind the last."""
        parts = excerpt(text, spans, limit)
        shown: list[tuple[int, Markup]] = []
        at = 0
        for start, end in parts:
            shown.append((start - at, marked(text, start, end, spans)))
            at = end
        missing = len(text) - sum(end - start for start, end in parts)
        self.characters += missing
        return [*shown, (len(text) - at, Markup(""))] if at < len(text) else shown


@dataclass(frozen=True)
class Shown(Sequence[T]):
    """The entries of a list that are shown, and how many are not."""

    entries: Sequence[T]
    more: int

    def __getitem__(self, at: Any) -> Any:
        return self.entries[at]

    def __len__(self) -> int:
        return len(self.entries)

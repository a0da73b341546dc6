"""The headings of a store as trees, one per document, over the passages in their order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from groundgraph.core.topic_store import Outline, Place


@dataclass
class Heading:
    """A heading. What stands below it is one run of passages.

    Attributes:
        title: its words.
        depth: 0 for the title of a document, a heading that all others stand below; else the level in the tree, from 1.
        parent: the place of the heading above it in `OutlineTree.headings`; None for a root.
        first: the place of its first passage in `OutlineTree.places`.
        last: the place behind its last one.
        children: the headings directly below it, in order.
    """

    title: str
    depth: int
    parent: int | None
    first: int
    last: int
    children: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class OutlineTree:
    """All headings of a store.

    Attributes:
        places: the passages; those of one document together and in its order.
        headings: every heading after the one above it.
        above: for each passage the deepest heading above it; None without one.
        at: for each passage id its place.
    """

    places: Sequence[Place]
    headings: Sequence[Heading]
    above: Sequence[int | None]
    at: dict[str, int]

    def path(self, heading: int) -> list[int]:
        """The headings from the root down to `heading`, that one included."""
        found: list[int] = []
        here: int | None = heading
        while here is not None:
            found.append(here)
            here = self.headings[here].parent
        return found[::-1]

    def titles(self, heading: int) -> tuple[str, ...]:
        """The titles of `path`."""
        return tuple(self.headings[number].title for number in self.path(heading))

    def holds(self, heading: int, kept: Collection[int] | None) -> bool:
        """Whether one of the passages `kept` (None: all) stands below `heading`."""
        return kept is None or any(place in kept for place in self.below(heading))

    def below(self, heading: int) -> range:
        """The places of all passages below `heading`."""
        return range(self.headings[heading].first, self.headings[heading].last)


def outline_tree(outline: Outline) -> OutlineTree:
    """The trees of `outline`.

    A heading ends where the path of a passage no longer holds it: two headings of the same words stay two.
    """
    growing = _Growing()
    for _, places in groupby(outline.places, key=lambda place: place.document):
        growing.document(list(places))
    at = {place.id: number for number, place in enumerate(growing.places)}
    return OutlineTree(growing.places, growing.headings, growing.above, at)


class _Growing:
    def __init__(self) -> None:
        self.places: list[Place] = []
        self.headings: list[Heading] = []
        self.above: list[int | None] = []

    def document(self, places: Sequence[Place]) -> None:
        before = len(self.headings)
        open_now: list[int] = []
        for place in places:
            open_now = self._opened(open_now, place)
            number = len(self.places)
            for heading in open_now:
                self.headings[heading].last = number + 1
            self.above.append(open_now[-1] if open_now else None)
            self.places.append(place)
        self._measure(before)

    def _opened(self, open_now: list[int], place: Place) -> list[int]:
        """The headings above `place`, those among them that `open_now` does not have made anew."""
        same = 0
        while (
            same < min(len(open_now), len(place.headings))
            and self.headings[open_now[same]].title == place.headings[same]
        ):
            same += 1
        opened = open_now[:same]
        for title in place.headings[same:]:
            parent = opened[-1] if opened else None
            opened.append(len(self.headings))
            if parent is not None:
                self.headings[parent].children.append(opened[-1])
            self.headings.append(Heading(title, 0, parent, len(self.places), len(self.places)))
        return opened

    def _measure(self, first: int) -> None:
        """The depths of a document's headings, which are those from `first` on."""
        roots = [heading for heading in self.headings[first:] if heading.parent is None]
        # A single heading over others names the document; one that stands alone is a topic like any other.
        titled = len(roots) == 1 and bool(roots[0].children)
        for heading in self.headings[first:]:
            if heading.parent is None:
                heading.depth = 0 if titled else 1
            else:
                heading.depth = self.headings[heading.parent].depth + 1

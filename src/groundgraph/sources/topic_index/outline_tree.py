"""The headings of a store as trees, one per document, over the passages in their order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from groundgraph.search.topics import Outline, Place


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


# From what a question matches to the parts of documents that answer it.
#
# A region is a heading with what stands below it, or a passage that stands below none. Headings that match by their
# words are regions themselves. A passage that was found stands for the text of its deepest heading, and for everything
# below that heading when no other passage is nearly as good. Where most good passages stand below one heading, in
# several branches of it, that heading is what the question is about, although none of the passages says so alone.

# What is less than half as good as the best says something about another topic.
LEAST_SHARE = 0.5
# Passages almost as good as the best decide together what a question is about: more than half of them, at least four,
# in at least three branches.
STRONG_SHARE = 2 / 3
MOST = 0.5
LEAST_SEEDS = 4
LEAST_BRANCHES = 3


@dataclass(frozen=True)
class Seed:
    """A passage that was found.

    Attributes:
        place: where it stands.
        score: how well it fits, 0 to 1.
        strength: the number by which the search ordered it, as a share of the best one's. Scores may be of different
            kinds within one list (a share of words, a cosine), these are not.
    """

    place: int
    score: float
    strength: float = 1.0


@dataclass
class Region:
    """A part of a document.

    Attributes:
        heading: at its top; None for a passage without one.
        score: of the best that led to it, 0 to 1.
        whole: whether everything below the heading belongs to it, or only the text directly below.
        seeds: the places of the passages that led to it, the best first.
        inner: regions further down that were found as well.
        rank: where the best of what led to it stands among the passages that were found, from 0. A heading stands
            where its score would put it among them.
    """

    heading: int | None
    score: float
    whole: bool
    seeds: list[int] = field(default_factory=list)
    inner: list[Region] = field(default_factory=list)
    rank: int = 0

    def take_in(self, other: Region) -> None:
        """Count what led to `other` as what led to this one."""
        self.score = max(self.score, other.score)
        self.whole = self.whole or (other.whole and other.heading == self.heading)
        self.seeds += [place for place in other.seeds if place not in self.seeds]
        self.rank = min(self.rank, other.rank)


def regions(
    tree: OutlineTree, matched: Sequence[tuple[int, float]], seeds: Sequence[Seed], min_depth: int
) -> list[Region]:
    """The regions that the headings `matched` and the `seeds` lead to, the best first; none lies in another.

    Args:
        tree: of all headings.
        matched: headings with their scores, the best first.
        seeds: passages that were found, the best first.
        min_depth: a heading above this depth is no region.
    """
    found: dict[object, Region] = {}
    for region in (*_of_headings(matched, seeds), *_of_passages(tree, seeds, min_depth)):
        key = region.heading if region.heading is not None else ("passage", *region.seeds)
        if key in found:
            found[key].take_in(region)
        else:
            found[key] = region
    outermost = _outermost(tree, list(found.values()))
    # Python's sort is stable, and headings that match come first.
    return sorted(outermost, key=lambda region: region.rank)


def _of_headings(matched: Sequence[tuple[int, float]], seeds: Sequence[Seed]) -> Iterator[Region]:
    best = max([score for _, score in matched] + [seed.score for seed in seeds], default=0.0)
    for heading, score in matched:
        if score < LEAST_SHARE * best:
            continue
        yield Region(heading, score, True, rank=sum(seed.score > score for seed in seeds))


def _of_passages(tree: OutlineTree, seeds: Sequence[Seed], min_depth: int) -> Iterator[Region]:
    common = common_heading(tree, seeds, min_depth)
    for rank, seed in enumerate(seeds):
        if seed.strength < LEAST_SHARE:
            continue
        above = tree.above[seed.place]
        whole = rank == 0 and above is not None and _has_no_rival(tree, above, seeds)
        if common is not None and seed.place in tree.below(common):
            above, whole = common, True
        elif above is not None and tree.headings[above].depth < min_depth:
            above = None
        yield Region(above, seed.score, whole, [seed.place], rank=rank)


def _has_no_rival(tree: OutlineTree, heading: int, seeds: Sequence[Seed]) -> bool:
    return all(seed.place in tree.below(heading) for seed in _strong(seeds))


def _strong(seeds: Sequence[Seed]) -> list[Seed]:
    return [seed for seed in seeds if seed.strength >= STRONG_SHARE]


def common_heading(tree: OutlineTree, seeds: Sequence[Seed], min_depth: int) -> int | None:
    """The deepest heading that the strong ones of `seeds` have in common; None when they have none."""
    strong = _strong(seeds)
    branches: dict[int, set[int | None]] = defaultdict(set)
    counts: dict[int, int] = defaultdict(int)
    for seed in strong:
        above = tree.above[seed.place]
        path = tree.path(above) if above is not None else []
        for number, below in zip(path, [*path, None][1:], strict=True):
            branches[number].add(below)
            counts[number] += 1
    common = [
        number
        for number, count in counts.items()
        if tree.headings[number].depth >= min_depth
        and count > MOST * len(strong)
        and count >= LEAST_SEEDS
        and len(branches[number]) >= LEAST_BRANCHES
    ]
    return max(common, key=lambda number: (tree.headings[number].depth, -number), default=None)


def _outermost(tree: OutlineTree, found: Sequence[Region]) -> list[Region]:
    """`found` with every region that lies in a whole other one taken into that."""
    by_heading = {region.heading: region for region in found if region.heading is not None and region.whole}
    kept: list[Region] = []
    for region in found:
        path = tree.path(region.heading) if region.heading is not None else []
        outer = next((by_heading[number] for number in path[:-1] if number in by_heading), None)
        # What fits better than the whole stands before it.
        if outer is None or outer.score < region.score:
            kept.append(region)
        else:
            outer.inner.append(region)
            outer.take_in(region)
    return kept

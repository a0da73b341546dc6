"""From what a question matches to the parts of documents that answer it (X1).

A region is a heading with what stands below it, or a passage that stands below none. Headings that match by their words
are regions themselves. A passage that was found stands for the text of its deepest heading, and for everything below
that heading when no other passage is nearly as good. Where most good passages stand below one heading, in several
branches of it, that heading is what the question is about, although none of the passages says so alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from groundgraph.sources.topic_index.outline_tree import OutlineTree

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

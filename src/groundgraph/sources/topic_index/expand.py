"""What belongs to a heading (X2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from groundgraph.sources.topic_index.outline_tree import OutlineTree

Mode = Literal["subtree", "children", "leaves"]


def expanded(tree: OutlineTree, heading: int, mode: Mode, max_depth: int | None = None) -> list[int]:
    """The places of the passages that `heading` stands for, in the order of the document; never none.

    Args:
        tree: of all headings.
        heading: one of them.
        mode: `subtree` takes everything below it; `children` the first passage of each heading directly below it;
            `leaves` the passages of the deepest headings. A heading without others below it gives its own passages.
        max_depth: how many levels below it are looked at; None for all. The headings on the last level count as the
            deepest.
    """
    if mode == "children":
        children = tree.headings[heading].children if max_depth != 0 else []
        # A heading without a text of its own begins with the first passage below it.
        found = [tree.headings[child].first for child in children]
    else:
        wanted = {number for number, deepest in _down(tree, heading, max_depth) if mode == "subtree" or deepest}
        found = _directly_below(tree, heading, wanted)
    return found or _directly_below(tree, heading, {heading}) or [tree.headings[heading].first]


def _directly_below(tree: OutlineTree, heading: int, wanted: Collection[int]) -> list[int]:
    """The passages below `heading` whose deepest heading is one of `wanted`."""
    return [place for place in tree.below(heading) if tree.above[place] in wanted]


def _down(tree: OutlineTree, heading: int, levels: int | None) -> Iterator[tuple[int, bool]]:
    """`heading` and those at most `levels` below it, each with whether none of these stands below it."""
    # Not by recursion: a hostile document may nest deeper than Python does.
    waiting: list[tuple[int, int]] = [(heading, 0)]
    while waiting:
        number, level = waiting.pop()
        children = tree.headings[number].children if levels is None or level < levels else []
        yield number, not children
        waiting += [(child, level + 1) for child in children]


def capped(places: Sequence[int], limit: int, first: Sequence[int]) -> list[int]:
    """At most `limit` of `places`, in order: those of `first`, in their order of preference, and then the foremost."""
    if len(places) <= limit:
        return list(places)
    among = set(places)
    wanted = dict.fromkeys([*(place for place in first if place in among), *places])
    return sorted(list(wanted)[:limit])

"""Grouping by mean similarity."""

from __future__ import annotations

from collections.abc import Callable


def group(similarity: Callable[[int, int], float], count: int, threshold: float) -> list[list[int]]:
    """The numbers below `count` in groups, each number in exactly one; sequential average-link clustering.

    In their order, each joins the group to whose members it is most similar on average, when that is at least
    `threshold` (of equals the earliest group), else it begins one. A similarity that is no number counts as 0. Takes
    each pair once, so n * n / 2 calls.
    """
    groups: list[list[int]] = []
    for number in range(count):
        means = [sum(_known(similarity(number, member)) for member in members) / len(members) for members in groups]
        best = max(range(len(groups)), key=means.__getitem__, default=None)
        if best is not None and means[best] >= threshold:
            groups[best].append(number)
        else:
            groups.append([number])
    return groups


def _known(value: float) -> float:
    return value if value == value else 0.0  # noqa: PLR0124 - NaN is the only number unlike itself

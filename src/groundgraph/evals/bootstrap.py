"""How sure a figure is: percentile bootstrap over queries (Efron and Tibshirani 1993, chapter 13).

Every function draws with the same fixed seed, so a figure has the same interval on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 20260101

Interval = tuple[float, float]


def mean_interval(values: Sequence[float]) -> Interval:
    """The interval of the mean of `values`, one per query; for a difference of two runs, of the paired differences.

    Raises:
        ValueError: there are no values.
    """
    import numpy as np

    if not values:
        raise ValueError("there are no values to resample")
    array = np.asarray(values, dtype=float)
    random = np.random.default_rng(SEED)
    means = [array[random.integers(len(array), size=len(array))].mean() for _ in range(RESAMPLES)]
    return _percentiles(means, float(array.mean()))


def area_under_curve(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The probability that a score of `positive` is above one of `negative`, ties counting half (AUC, Mann-Whitney U).

    Raises:
        ValueError: one of the two is empty.
    """
    levels = _Levels(positive, negative)
    return levels.area(levels.positive, levels.negative)


def area_interval(positive: Sequence[float], negative: Sequence[float]) -> Interval:
    """The interval of `area_under_curve`. Each class is resampled by itself, so that both keep their size.

    Raises:
        ValueError: one of the two is empty.
    """
    levels = _Levels(positive, negative)
    areas = [levels.area(levels.positive[p], levels.negative[n]) for p, n in levels.draws()]
    return _percentiles(areas, levels.area(levels.positive, levels.negative))


def area_difference_interval(
    positive: tuple[Sequence[float], Sequence[float]], negative: tuple[Sequence[float], Sequence[float]]
) -> Interval:
    """The interval of the difference of two runs' `area_under_curve`, the first minus the second.

    Args:
        positive: the scores of the same positive queries in the first and in the second run.
        negative: those of the negative queries.

    Raises:
        ValueError: there are no positive or no negative queries.
    """
    first, second = _Levels(positive[0], negative[0]), _Levels(positive[1], negative[1])
    whole = first.area(first.positive, first.negative) - second.area(second.positive, second.negative)
    return _percentiles(
        [
            first.area(first.positive[p], first.negative[n]) - second.area(second.positive[p], second.negative[n])
            for p, n in first.draws()
        ],
        whole,
    )


class _Levels:
    """Scores as their ranks among all distinct scores, which makes the area of a resample a matter of counting."""

    def __init__(self, positive: Sequence[float], negative: Sequence[float]) -> None:
        import numpy as np

        if not positive or not negative:
            raise ValueError("an area under the curve needs positive and negative scores")
        distinct, ranks = np.unique(np.asarray([*positive, *negative], dtype=float), return_inverse=True)
        self.count = len(distinct)
        self.positive: NDArray[np.intp] = ranks[: len(positive)]
        self.negative: NDArray[np.intp] = ranks[len(positive) :]

    def draws(self) -> Iterator[tuple[Any, Any]]:
        import numpy as np

        random = np.random.default_rng(SEED)
        for _ in range(RESAMPLES):
            yield (
                random.integers(len(self.positive), size=len(self.positive)),
                random.integers(len(self.negative), size=len(self.negative)),
            )

    def area(self, positive: Any, negative: Any) -> float:
        import numpy as np

        above = np.bincount(positive, minlength=self.count)
        other = np.bincount(negative, minlength=self.count)
        below = np.cumsum(other) - other
        return float((above * (below + other / 2)).sum() / (len(positive) * len(negative)))


def _percentiles(statistics: Sequence[float], whole: float) -> Interval:
    """The middle 95 % of `statistics`, never without the figure of the whole sample, which rounding could exclude."""
    import numpy as np

    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(np.asarray(statistics, dtype=float), [tail, 100 - tail])
    return min(float(low), whole), max(float(high), whole)

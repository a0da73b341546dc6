"""CPU time of several subjects that take turns, so that noise hits all of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable, Mapping
from statistics import median

from benchmarks.effort import WARM_UP, Effort

# Does the turn with this number, which counts on from round to round.
Turn = Callable[[int], Awaitable[object]]


class Rounds:
    """Milliseconds of CPU per turn, one figure for each round of each subject."""

    def __init__(self, figures: Mapping[str, list[float]]) -> None:
        self._figures = figures

    def ms(self, name: str) -> float:
        """The median over the rounds."""
        return median(self._figures[name])

    def ratio(self, name: str, baseline: str) -> float:
        """The median of the ratios within one round."""
        return median(self._pairs(name, baseline, lambda own, base: own / base))

    def difference(self, name: str, baseline: str) -> float:
        """The median of the differences within one round."""
        return median(self._pairs(name, baseline, lambda own, base: own - base))

    def _pairs(self, name: str, baseline: str, compare: Callable[[float, float], float]) -> list[float]:
        return list(map(compare, self._figures[name], self._figures[baseline]))


async def interleaved(subjects: Mapping[str, Turn], effort: Effort) -> Rounds:
    """Each round runs every subject; every other round in the opposite order. The first turns are not counted."""
    for turn in subjects.values():
        for number in range(WARM_UP):
            await turn(number)
    figures: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(effort.rounds):
        order = list(subjects) if number % 2 == 0 else list(subjects)[::-1]
        for name in order:
            first = WARM_UP + number * effort.turns
            figures[name].append(await _cpu_ms(subjects[name], first, effort.turns))
    return Rounds(figures)


async def _cpu_ms(turn: Turn, first: int, turns: int) -> float:
    gc.collect()
    started = time.process_time()
    for number in range(first, first + turns):
        await turn(number)
    return (time.process_time() - started) / turns * 1000

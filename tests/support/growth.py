"""How the time of a call grows with the length of its text."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Twice the text may take at most so many times the time.
MOST = 2.5
# Seconds of the processor from which on a growth is judged: below, it is the clock that is measured.
_FLOOR = 0.001
# A text of so many pumped characters is read within so many seconds, or in a time that is not to be waited for with a
# longer one: it doubles with every character, or grows with a high power of their number.
_SHORT = {16: 0.05, 22: 0.05, 128: 0.1, 512: 0.25}
# How often is looked again at what seems to grow too fast: on a busy machine few measurements are undisturbed.
_LOOKS = 25
# What still seems to grow too fast is judged over so many doublings: a cache or a heap that fills makes one doubling
# dear, and another process makes it dearer, but what grows faster than its text does so at each.
_SPAN = 3
# Seconds of all the looks at one text: what takes longer than this for a few thousand characters was seen clearly.
_PATIENCE = 2.0


def growth(
    call: Callable[[str], object],
    text: Callable[[int], str],
    sizes: tuple[int, ...],
    known: dict[int, float] | None = None,
) -> str:
    """What is wrong with the time that `call` takes for `text` of a growing size; empty when nothing is.

    The sizes go up, and the first that is wrong ends it: what is slow is not waited for. `known` is told how long each
    took.
    """
    known = {} if known is None else known
    for size, limit in _SHORT.items():
        known[size] = _seconds(call, text(size))
        if known[size] > limit and _least(call, text(size), 2) > limit:
            return f"{size} characters take more than {limit} s"
    before = 0.0
    for number, size in enumerate(sizes):
        seconds = known[size] = known[size] if size in known else _seconds(call, text(size))
        if number and seconds > max(before, _FLOOR / MOST) * MOST ** _doublings(size / sizes[number - 1]):
            said = _grown(call, text, size)
            if said:
                return said
        before = seconds
    return ""


def _doublings(ratio: float) -> float:
    return 1.0 if ratio <= 2 else 1.0 + _doublings(ratio / 2)


def _grown(call: Callable[[str], object], text: Callable[[int], str], size: int) -> str:
    """Looks again, at the size and at half of it, then at the size and at an eighth of it."""
    return _grown_over(1, call, text, size) and _grown_over(_SPAN, call, text, size)


def _grown_over(doublings: int, call: Callable[[str], object], text: Callable[[int], str], size: int) -> str:
    """Looks several times at the size and at what is so many doublings below it: the least of each counts."""
    below, most = size // 2**doublings, MOST**doublings
    short = long = float("inf")
    end = time.thread_time() + _PATIENCE
    for look in range(_LOOKS):
        if look and time.thread_time() > end:
            break
        short = min(short, _seconds(call, text(below)))
        long = min(long, _seconds(call, text(size)))
        if long <= max(short, _FLOOR / most) * most:
            return ""
    return f"{below} characters take {short * 1000:.1f} ms, {size} take {long * 1000:.1f} ms"


@contextmanager
def uncollected() -> Iterator[None]:
    """Nothing is collected inside: what thousands of other tests left behind takes half a second to walk through."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def cpu_seconds(call: Callable[[], object]) -> float:
    """Seconds of the processor that `call` takes in this thread, whatever else the machine does."""
    with uncollected():
        started = time.thread_time()
        call()
        return time.thread_time() - started


def _least(call: Callable[[str], object], text: str, times: int) -> float:
    return min(_seconds(call, text) for _ in range(times))


def _seconds(call: Callable[[str], object], text: str) -> float:
    return cpu_seconds(lambda: call(text))

"""Starting processes that are interrupted later, and forking some that are killed."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random


@contextmanager
def interruptible() -> Iterator[None]:
    """What starts inside ends on SIGINT, also when this process ignores it, as the background jobs of a shell do."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def killed(
    work: Callable[[int], None], kills: int, chance: Random, meanwhile: Callable[[float], None] = time.sleep
) -> int:
    """How many of `kills` processes, two at a time, were killed at their `work`, which is told the number of each."""
    ended = 0
    for first in range(0, kills, 2):
        children = []
        for number in (first, first + 1):
            child = os.fork()
            if not child:
                try:
                    work(number)
                finally:
                    traceback.print_exc()
                    os._exit(1)
            children.append(child)
        meanwhile(chance.uniform(0.2, 1.0))
        for child in children:
            os.kill(child, signal.SIGKILL)
            ended += os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    return ended

"""A process that does its work when it is told to, and says what it cost."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

# Makes the work from its size; the work takes the number of the turn.
Make = Callable[[int], Callable[[int], Any]]


def serve(works: Mapping[str, Make]) -> None:
    """Read a line `{"work", "size", "first", "count"}`, do it, and write `{"cpu_ms", "wall_ms"}` of one turn.

    A work of a size is made at its first line, which is not counted: a line with `count` 0 only makes it.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    made: dict[tuple[str, int], Callable[[int], Any]] = {}
    for line in sys.stdin:
        told = json.loads(line)
        key = told["work"], told["size"]
        if key not in made:
            # Of one size at a time, so that those before are in nobody's way.
            made.clear()
            made[key] = works[told["work"]](told["size"])
        cost = loop.run_until_complete(_cost(made[key], range(told["first"], told["first"] + told["count"])))
        print(json.dumps(cost), flush=True)


async def _cost(work: Callable[[int], Any], turns: range) -> dict[str, float]:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for number in turns:
        done = work(number)
        if inspect.isawaitable(done):
            await done
    count = len(turns) or 1
    return {
        "cpu_ms": (time.process_time() - cpu) / count * 1000,
        "wall_ms": (time.perf_counter() - wall) / count * 1000,
    }

"""Work that counts tokens, which a model's own counter may block in (P9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from groundgraph.chains.count_tokens import TokenCounter
from groundgraph.core.blocking import run_blocking
from groundgraph.core.deadline import DeadlinePassed, within

T = TypeVar("T")

# Seconds for counting the tokens of a turn; a tokenizer is fetched within them, or not at all.
COUNTER_LIMIT = 5.0


async def counted(counter: TokenCounter, work: Callable[[], T]) -> T:
    """The result of `work`, which counts with `counter`.

    A model's own counter runs beside the event loop, and one that takes too long is given up for an estimate.
    """
    if counter.method == "estimate":
        return work()
    try:
        return await within(COUNTER_LIMIT, run_blocking(work))
    except DeadlinePassed:
        counter.give_up()
        return work()

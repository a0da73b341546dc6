"""A call that costs money or time is made once in a turn, also when something behind it fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from groundgraph.core.turn_values import Ref


async def paid_call(work: str, refs: Sequence[Ref], call: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    """What `call` gives: in a step that runs again, what it gave the first time.

    LangGraph keeps it as a task of the running step, in the order in which the tasks of a step are called; so a work
    calls in a fixed order.

    Args:
        work: the name of the work, which the task has in what is streamed.
        refs: what the call is about. It is made anew when the works before came to another ranking this time, for
            example because a source answers again.
        call: gives a mapping of plain values, since it stands in a checkpoint.
    """
    # Not loaded by those who pay for nothing (L10).
    from langgraph.func import task

    about = [ref[0] for ref in refs]

    async def paid() -> dict[str, Any]:
        return {**await call(), "about": about}

    kept: dict[str, Any] = await task(paid, name=work)()  # type: ignore[call-overload]
    if kept["about"] != about:
        kept = await task(paid, name=work)()  # type: ignore[call-overload]
    return kept

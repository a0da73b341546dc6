"""Calling a chain for many inputs at once, a plain one in few threads, an asynchronous one in few tasks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from groundgraph.core.blocking import run_blocking
from groundgraph.nodes.ingest.outage import Outage

# Calls in a row that found the model out of reach, after which the rest of a batch is given up.
_PATIENCE = 8


async def call_for_each(
    chain: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], *, at_once: int
) -> list[Any | Exception]:
    """What `chain` returns for each entry of `arguments`, or the exception that it raised there.

    When an asynchronous chain finds its model out of reach again and again, the rest fails for the same reason.

    Args:
        chain: plain or asynchronous.
        arguments: the arguments of each call.
        at_once: how many calls run at the same time.
    """
    if is_asynchronous(chain):
        slots, outage = asyncio.Semaphore(at_once), Outage(_PATIENCE)
        return list(await asyncio.gather(*(_awaited(chain, entry, slots, outage) for entry in arguments)))
    # A thread for each call would cost more than most plain chains do.
    size = -(-len(arguments) // at_once) or 1
    shares = [arguments[start : start + size] for start in range(0, len(arguments), size)]
    answers = await asyncio.gather(*(run_blocking(_each, chain, share) for share in shares))
    return [await _settled(answer) for share in answers for answer in share]


def is_asynchronous(chain: Callable[..., Any]) -> bool:
    """Whether a call of `chain` gives a coroutine."""
    return inspect.iscoroutinefunction(chain if inspect.isroutine(chain) else type(chain).__call__)


async def _awaited(
    chain: Callable[..., Any], arguments: tuple[Any, ...], slots: asyncio.Semaphore, outage: Outage
) -> Any:
    async with slots:
        if outage.error is not None:
            return outage.error
        answer = await _settled(chain(*arguments))
        outage.see(answer)
        return answer


async def _settled(answer: Any) -> Any:
    try:
        return await answer if inspect.isawaitable(answer) else answer
    except Exception as error:
        return error


def _each(chain: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    answers: list[Any] = []
    for entry in arguments:
        try:
            answers.append(chain(*entry))
        except Exception as error:
            answers.append(error)
    return answers

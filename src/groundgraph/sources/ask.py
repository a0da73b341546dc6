"""Asking a source whose `query` may be a coroutine function or a plain one."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any, cast

from groundgraph.core.blocking import run_blocking
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.contract import GroundedSource


async def ask(
    source: GroundedSource, intent: RetrievalIntent, *, top_k: int, score_threshold: float
) -> list[SourceResult]:
    """What `source` answers; a plain `query` runs in a thread, so that it never holds up the event loop.

    Raises whatever the source raises.
    """
    if inspect.iscoroutinefunction(source.query):
        return await source.query(intent, top_k=top_k, score_threshold=score_threshold)
    answer: Any = await run_blocking(source.query, intent, top_k=top_k, score_threshold=score_threshold)
    # A decorated coroutine function looks plain; calling it only made the coroutine, which is awaited here.
    return cast("list[SourceResult]", await answer if isinstance(answer, Awaitable) else answer)

"""Calling a chain that may be plain or asynchronous."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from groundgraph.core.blocking import run_blocking


async def call_chain(chain: Callable[..., Any], *arguments: Any) -> Any:
    """What `chain` returns for `arguments`; a plain one runs in a worker thread. Raises whatever it raises."""
    call = chain if inspect.isroutine(chain) else type(chain).__call__
    if inspect.iscoroutinefunction(call):
        return await chain(*arguments)
    answer = await run_blocking(chain, *arguments)
    return await answer if isinstance(answer, Awaitable) else answer

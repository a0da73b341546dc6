"""LangGraph alone: a graph with the steps and Sends of a turn of groundgraph, which does nothing in them."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.bare_graph import bare_graph
from benchmarks.peers.workers.made_up import REPLY, asked
from benchmarks.peers.workers.worker import serve
from benchmarks.shape import TurnShape

# The steps of a warm turn, as `benchmarks.turn_shape` counts them, are handed over by whoever starts this process.
STEPS = tuple((name, int(tasks)) for name, _, tasks in (step.partition(":") for step in sys.argv[1:]))


def turns(sources: int) -> Callable[[int], Any]:
    widest = max(tasks for _, tasks in STEPS)
    graph = bare_graph(TurnShape(tuple((name, sources if tasks == widest else tasks) for name, tasks in STEPS)))
    return lambda _: graph.ainvoke({"value": 0})


def at_once(threads: int) -> Callable[[int], Any]:
    """So many turns at once; the cost is that of all of them."""
    one = turns(3)

    async def all_of_them(_: int) -> None:
        await asyncio.gather(*(one(thread) for thread in range(threads)))

    return all_of_them


def thread(_: int) -> Callable[[int], Any]:
    """One thread, turn after turn, with its messages in LangGraph's ordinary channel, under the SQLite saver."""
    stack, opened = AsyncExitStack(), list[Any]()

    async def turn(number: int) -> None:
        if not opened:
            saver = AsyncSqliteSaver.from_conn_string(f"{tempfile.mkdtemp()}/bare.sqlite")
            opened.append(bare_graph(TurnShape(STEPS), checkpointer=await stack.enter_async_context(saver)))
        messages = [("user", asked(number)), ("assistant", REPLY)]
        await opened[0].ainvoke({"value": 0, "messages": messages}, {"configurable": {"thread_id": "one"}})

    return turn


serve({"turn": turns, "at once": at_once, "thread": thread})

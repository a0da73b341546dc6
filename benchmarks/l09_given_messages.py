"""L9 without running thousands of turns: what a turn costs behind a conversation that was given at once.

Run it with `python -m benchmarks.l09_given_messages`: a minute on a quiet machine. How the file of such a thread grows,
only `L9-5000` tells.
"""

from __future__ import annotations

import asyncio
import os

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from benchmarks.corpus import question
from benchmarks.long_conversation import answer, converse, open_conversation
from benchmarks.setting import TOPICS, thread

BEFORE = {"new": 0, "of 960 turns": 960, "of 4960 turns": 4960}
TURNS, WARM_UP_TURNS = 40, 25


async def measure(folder: Path) -> None:
    """Print the figures: the threads take turns."""
    async with AsyncExitStack() as stack:
        graph = await open_conversation(stack, folder, TOPICS)
        for number in range(WARM_UP_TURNS):
            await converse(graph, "warm-up", number)
        for name, turns in BEFORE.items():
            if turns:
                await graph.aupdate_state(thread(name), {"messages": _said(turns)}, as_node="record_turn")
        cpu: dict[str, list[float]] = {name: [] for name in BEFORE}
        for number in range(TURNS):
            for name, took in cpu.items():
                started = time.process_time()
                await converse(graph, name, number)
                took.append((time.process_time() - started) * 1000)
    for name, took in cpu.items():
        last = median(took[-20:])
        ratio = last / median(cpu["new"][-20:])
        print(f"a thread {name}: {last:.1f} ms of CPU, {ratio:.2f} times; its first two turns {took[:2]}")


def _said(turns: int) -> list[Any]:
    return [
        message
        for number in range(turns)
        for message in (HumanMessage(question(number, TOPICS), id=f"q{number}"), AIMessage(answer(), id=f"a{number}"))
    ]


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        asyncio.run(measure(Path(place)))

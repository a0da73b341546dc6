"""A hundred conversations at once in a process of their own, which is measured.

Started by the load test: `python load_turns.py SETTINGS`, JSON. Each line that it reads asks for so many seconds of
load, whose conversations begin within so many seconds, and is answered by a line of what happened; the graph is open
all the time.
"""

from __future__ import annotations

import asyncio
import gc
import json
import mmap
import os
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from load_facts import TENANTS, TURNS_OF_ONE, owners, question
from loop_lag import LoopLag

from groundgraph import Context, load_settings, open_graph
from groundgraph.core.errors import GroundGraphError

# Of what is wrong so many are told.
_TOLD = 5


@dataclass
class Load:
    """What was done and found in one stretch of load."""

    turns: int = 0
    by_model: int = 0
    crossed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    tries: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    lag: LoopLag = field(default_factory=LoopLag)

    def note(self, tenant: str, number: int, result: dict[str, Any]) -> None:
        """Judge a turn."""
        self.turns += 1
        asked = question(tenant, number)
        told = result["provenance"]
        seen = json.dumps([result["answer"], result["citations"], told["results"]])
        if owners(seen) - {tenant}:
            self.crossed.append(f"{tenant} {number}: {seen[:2000]}")
        written = told["style"]["used"] == "conversational"
        self.by_model += written
        # Without the model nothing but evidence is shown, perhaps not what was asked for; a note tells why.
        right = asked.code in result["answer"] and f"ticket {asked.ticket}:" in result["answer"]
        if not (result["outcome"] == "answered" and (right if written else result["notes"])):
            self.wrong.append(f"{tenant} {number}: {result['outcome']} {result['notes']} {result['answer'][:500]}")
        self.tries.update(str(call.get("attempts", "failed")) for call in told["models"])

    def told(self, took: float, cpu: float) -> dict[str, Any]:
        """As plain values."""
        tenth = max(1, len(self.memory) // 10)
        ordered = sorted(self.seconds)
        return {
            "turns": self.turns, "seconds": took, "cpu": cpu, "by_model": self.by_model,
            "crossed": len(self.crossed), "wrong": len(self.wrong),
            "shown": [*self.crossed[:_TOLD], *self.wrong[:_TOLD]], "tries": dict(self.tries),
            "memory": [self.memory[tenth - 1], self.memory[len(self.memory) // 2], max(self.memory[-tenth:])],
            "lag": self.lag.told(), "turn_seconds": [ordered[len(ordered) // 2], ordered[int(0.99 * len(ordered))]],
        }  # fmt: skip


class Conversations:
    """Those of all tenants, which go on from one stretch to the next."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._asked = dict.fromkeys(TENANTS, 0)

    async def load(self, seconds: float, begin_within: float) -> dict[str, Any]:
        """All of them at once for so long: each asks its next question when the last is answered."""
        load, began, cpu = Load(), time.monotonic(), time.process_time()
        watching = [asyncio.create_task(load.lag.sample()), asyncio.create_task(_watch(load.memory))]
        until = began + seconds
        apart = begin_within / len(TENANTS)
        await asyncio.gather(*(self._converse(name, load, n * apart, until) for n, name in enumerate(TENANTS)))
        for task in watching:
            task.cancel()
        return load.told(time.monotonic() - began, time.process_time() - cpu)

    async def _converse(self, tenant: str, load: Load, begins_in: float, until: float) -> None:
        await asyncio.sleep(begins_in)
        while time.monotonic() < until:
            number = self._asked[tenant]
            self._asked[tenant] += 1
            place = {"configurable": {"thread_id": f"{tenant}-{number // TURNS_OF_ONE}"}}
            began = time.monotonic()
            asked, context = {"question": question(tenant, number).text}, Context(scope={"tenant": tenant})
            try:
                result = await self._graph.ainvoke(asked, place, context=context)
            except GroundGraphError as error:
                load.wrong.append(f"{tenant} {number}: {error!r}")
                continue
            load.seconds.append(time.monotonic() - began)
            load.note(tenant, number, result)


async def _watch(memory: list[int]) -> None:
    with suppress(asyncio.CancelledError):
        while True:
            memory.append(int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE)
            await asyncio.sleep(0.2)


async def main(settings: dict[str, Any]) -> None:
    """Open the graph, settle as docs/deployment.md says, and load it for as long as it is told to."""
    async with open_graph(load_settings(settings)) as graph:
        if not os.environ.get("GROUNDGRAPH_LOAD_UNSETTLED"):
            gc.collect()
            gc.freeze()
            gc.set_threshold(*gc.get_threshold()[:2], 100)
        conversations = Conversations(graph)
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await conversations.load(*map(float, line.split()))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))

"""Turns under load, in a process that is told to end; and what another process finds.

Started by the tests of fault 80: `python shutdown_load.py serve FOLDER DURABILITY` answers one turn after the other in
eight workers until a signal ends it: on SIGTERM it begins no new turn and lets those under way finish, as a server
does; SIGINT cancels them; SIGKILL asks nobody. `python shutdown_load.py recover FOLDER` goes on with every turn that
had begun, and prints what came of each as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from langchain_core.messages import AIMessage
from turns import QUESTION, docs, log, thread

from groundgraph import load_settings, open_graph, resume_turn
from groundgraph.core.errors import NothingToResume
from groundgraph.testing import FaultySource, Reply, ScriptedChatModel

WORKERS = 8
ANSWER = "OAuth has four grant types [1]."


def opened(folder: Path, *, slow: bool) -> Any:
    """The graph over the files in `folder`; slow enough that a signal comes in the middle of some turns."""
    chosen = load_settings(
        {
            "intent": {"mode": "static"},
            "checkpointer": {"path": str(folder / "threads.sqlite")},
            "store": {"path": str(folder / "evidence.sqlite")},
        }
    )
    model = ScriptedChatModel(Reply(ANSWER, delay=0.1 if slow else 0))
    return open_graph(chosen, sources=[FaultySource(docs(), delay=0.05 if slow else 0)], chat_model=model)


async def serve(folder: Path, durability: Any) -> None:
    """Answer until a signal comes."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    numbers = count()
    async with opened(folder, slow=True) as graph:

        async def work() -> None:
            while not stop.is_set():
                name = f"t{next(numbers)}"
                async for step in graph.astream({"question": QUESTION}, thread(name), durability=durability):
                    # LangGraph tells of a step before it waits for its checkpoint: now the first one is on disk.
                    if "resolve_intent" in step:
                        log(folder, "begun", name)
                log(folder, "ended", name)

        await asyncio.gather(*(work() for _ in range(WORKERS)))


async def recover(folder: Path) -> dict[str, Any]:
    """What a process that starts afterwards makes of every turn that had begun."""
    found: dict[str, Any] = {}
    async with opened(folder, slow=False) as graph:
        for name in (folder / "begun").read_text("utf-8").split():
            pending = bool((await graph.aget_state(thread(name))).next)
            try:
                answer = (await resume_turn(graph, name))["answer"]
            except NothingToResume:
                answer = None
            messages = (await graph.aget_state(thread(name))).values.get("messages", [])
            records = await graph.store.asearch(("groundgraph", "provenance", name), limit=10)
            found[name] = {
                "pending": pending,
                "answer": answer,
                "answers": sum(isinstance(message, AIMessage) for message in messages),
                "messages": len(messages),
                "records": len([item for item in records if item.namespace[-1] == name]),
            }
    return found


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(Path(sys.argv[2]), sys.argv[3]))
    else:
        print(json.dumps(asyncio.run(recover(Path(sys.argv[2])))))

"""Many turns in a process of their own; prints its memory before and after as JSON.

Started by the test of fault 78: `python many_turns.py FOLDER TURNS`. Memory is the highest that the process ever had,
so a turn that needs much for a moment counts too.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from groundgraph import InMemorySource, KnowledgeBase, load_settings, open_graph
from groundgraph.testing import NgramEmbeddings, Rule, ScriptedChatModel

WARM_UP, PER_THREAD = 200, 10
SUBJECTS = ["pump", "valve", "boiler", "fan", "belt", "motor", "sensor", "filter"]


class Forgetful(ScriptedChatModel):
    """A scripted model that does not remember what it was asked: that would be the test's own growth."""

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        self._calls.clear()
        return await super()._agenerate(*args, **kwargs)


def peak() -> int:
    """The highest resident memory so far, in kilobytes on Linux and bytes on macOS: only ratios are told."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def settings(folder: Path) -> Any:
    """A knowledge base with vectors, a source in memory, and everything kept in SQLite files."""
    return load_settings(
        {
            "knowledge_base": {"file": str(folder / "kb.sqlite")},
            "checkpointer": {"path": str(folder / "threads.sqlite")},
            "store": {"path": str(folder / "evidence.sqlite")},
            "intent": {"mode": "extract"},
            # The model asks for the same whatever the question is.
            "retrieval": {"answerable_threshold": None},
        }
    )


async def ask(graph: Any, number: int) -> None:
    """The turn `number`; a thread has ten of them."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    place = {"configurable": {"thread_id": f"t{number // PER_THREAD}"}}
    result = await graph.ainvoke({"question": f"How often is {subject} {number % 97} serviced?"}, place)
    assert result["outcome"] == "answered", result


async def run(folder: Path, turns: int) -> dict[str, int]:
    """The memory after the warm-up and at the end."""
    texts = [
        f"The {subject} {n} is serviced every {n} days. {'Use grease. ' * 30}"
        for subject in SUBJECTS
        for n in range(97)
    ]
    rules = [Rule("Write search queries", "service interval", role="system"), Rule("", "Every few days [1].")]
    chosen, embeddings = settings(folder), NgramEmbeddings()
    with KnowledgeBase.open(chosen, embeddings=embeddings) as base:
        base.add_documents([{"name": f"d{n}", "text": text} for n, text in enumerate(texts[:200])])
    memory = InMemorySource(texts, name="plant")
    async with open_graph(chosen, sources=[memory], chat_model=Forgetful(rules=rules), embeddings=embeddings) as graph:
        for number in range(WARM_UP):
            await ask(graph, number)
        before = peak()
        for number in range(WARM_UP, WARM_UP + turns):
            await ask(graph, number)
        return {"before": before, "after": peak()}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(Path(sys.argv[1]), int(sys.argv[2])))))

"""Asks a folder of documents: `python run.py "When is pump 17 serviced?"`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from groundgraph import Settings, TurnOutput, ingest_graph, load_settings, open_graph

HERE = Path(__file__).parent


async def answer(question: str, settings: Settings, **models: Any) -> TurnOutput:
    """What the documents say; one that did not change is not taken in again."""
    await ingest_graph(settings, **models).ainvoke({})
    async with open_graph(settings, **models) as graph:
        return await graph.ainvoke({"question": question}, {"configurable": {"thread_id": "ask"}})


if __name__ == "__main__":
    turn = asyncio.run(answer(" ".join(sys.argv[1:]), load_settings(HERE / "groundgraph.yaml")))
    print(turn["answer"])
    for citation in turn["citations"]:
        print(f"[{citation['label']}] {citation['source_id']}: {citation['quote']!r}")
    for note in turn["notes"]:
        print(f"({note})", file=sys.stderr)

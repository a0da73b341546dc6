"""Reads a pitch deck page by page and says what to change: `python run.py deck.pdf`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from groundgraph import Settings, TurnOutput, ingest_graph, load_settings, turn_graph
from groundgraph.ingest.load_document import load_document

HERE = Path(__file__).parent


async def advise(deck: Path, settings: Settings, **models: Any) -> list[TurnOutput]:
    """What came of the turn of each page; the outcome is `insufficient` where no practice is near enough."""
    report = (await ingest_graph(settings, **models).ainvoke({}))["report"]
    for failure in report.get("failed", []):
        print(f"Left out: {failure['document']}: {failure['reason']}", file=sys.stderr)
    document = load_document(deck, deck.name)
    pages = [document.text[page.start : page.end].strip() for page in document.parts]
    graph = turn_graph(settings, **models)
    try:
        return [await graph.ainvoke({"question": page}) for page in pages]
    finally:
        await graph.resources.close()


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "deck.pdf"
    turns = asyncio.run(advise(path, load_settings(HERE / "groundgraph.yaml")))
    for number, turn in enumerate(turns, 1):
        advice = turn["answer"] if turn["outcome"] == "answered" else "No practice fits this page."
        print(f"Page {number}\n{advice}\n")

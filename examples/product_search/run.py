"""Finds products by what someone has in mind: `python run.py "my coffee should still be hot at noon"`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from groundgraph import Evidence, Settings, ingest_graph, load_settings, retrieval_graph, retrieve_context

HERE = Path(__file__).parent


async def search(wish: str, settings: Settings, **models: Any) -> list[Evidence]:
    """The products that fit `wish`, the best first; a product that did not change is not taken in again."""
    report = (await ingest_graph(settings, **models).ainvoke({}))["report"]
    for failure in report.get("failed", []):
        print(f"Left out: {failure['document']}: {failure['reason']}", file=sys.stderr)
    graph = retrieval_graph(settings, **models)
    try:
        return (await retrieve_context(graph, wish)).evidence
    finally:
        await graph.resources.close()


if __name__ == "__main__":
    found = asyncio.run(search(" ".join(sys.argv[1:]), load_settings(HERE / "groundgraph.yaml")))
    for product in found:
        about = product["metadata"]
        print(f"{product['relevance']:.2f}  {about['title']} ({about['category']}, {about['price']:.2f})")
    if not found:
        print("Nothing fits.")

"""Takes in a list of questions and answers with chains of one's own: `python run.py "Where are the seals?"`."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundgraph import Settings, ingest_graph, load_settings, register_chain, retrieval_graph, retrieve_context
from groundgraph.core.document import Chunk, Document

HERE = Path(__file__).parent


def question_and_answer(document: Document) -> list[Chunk]:
    """One chunk for each question with its answer."""
    pairs = re.finditer(r"^Q: .*\n(?:.+\n?)*", document.text, re.MULTILINE)
    spans = [(pair.start(), pair.start() + len(pair.group().rstrip())) for pair in pairs]
    return [Chunk(document, n, start, end, (), document.text[start:end]) for n, (start, end) in enumerate(spans)]


def question(chunk: Chunk, _qualifying_text: str) -> list[str]:
    """A pair is found by its question alone."""
    return [chunk.text.removeprefix("Q: ").split("\n")[0]]


async def find(asked: str, settings: Settings) -> Sequence[Mapping[str, Any]]:
    await ingest_graph(settings).ainvoke({})
    return (await retrieve_context(retrieval_graph(settings), asked)).evidence


if __name__ == "__main__":
    register_chain("chunker", "question_and_answer", question_and_answer)
    register_chain("matching_text", "question", question)
    for found in asyncio.run(find(" ".join(sys.argv[1:]), load_settings(HERE / "groundgraph.yaml"))):
        print(f"{found['relevance']:.2f}  {found['text']}")

"""Asking questions of files, and cutting what an answer cites out of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

from groundgraph import load_settings, turn_graph
from groundgraph.core.document import Document
from groundgraph.graph.ingest import ingest_documents
from groundgraph.ingest.load_document import load_document


@asynccontextmanager
async def graph_over(base: Path, folder: Path, names: Iterable[str]) -> AsyncIterator[Any]:
    """A graph without a model over the files called `names` in `folder`, kept in `base`."""
    documents: list[Document] = [load_document(folder / name, name) for name in names]
    await ingest_documents(base, documents)
    graph = turn_graph(load_settings({"knowledge_base": {"file": str(base)}, "retrieval": {"score_threshold": 0.0}}))
    try:
        yield graph
    finally:
        await graph.resources.close()


async def asked(folder: Path, name: str, question: str) -> dict[str, Any]:
    """The output of one question over one file."""
    async with graph_over(folder / "base.sqlite", folder, [name]) as graph:
        output: dict[str, Any] = await graph.ainvoke({"messages": [HumanMessage(question)]})
        return output


def sliced(folder: Path, citation: Mapping[str, Any]) -> str | None:
    """What stands at the offsets of `citation` in its file, of a PDF on its page; None without offsets."""
    location, start, end = citation["location"], citation["start"], citation["end"]
    if start is None:
        return None
    path = folder / location["file"]
    if citation["encoding"] is None:
        return _pages(path)[location["page"] - 1][start:end]
    with open(path, encoding=citation["encoding"], newline="") as file:
        return file.read()[start:end]


@cache
def _pages(path: Path) -> Sequence[str]:
    document = load_document(path, path.name)
    return [document.text[part.start : part.end] for part in document.parts]

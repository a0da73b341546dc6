"""groundgraph: turns with and without a model, a long thread, threads at once, searches of its base, ingest."""

from __future__ import annotations

import asyncio
import csv
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from benchmarks.large_base import large_base
from benchmarks.long_conversation import converse, open_conversation
from benchmarks.peers.workers import made_up
from benchmarks.peers.workers.worker import serve
from benchmarks.prepared_source import PreparedSource
from benchmarks.setting import asked, turn_settings
from groundgraph import RetrievalIntent, ingest_graph, load_settings, turn_graph
from groundgraph.graph.ingest import run_ingest
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.testing import ScriptedChatModel

_QUESTIONS = 100


def _sources(count: int) -> list[PreparedSource]:
    return [PreparedSource(f"{made_up.SOURCES[number % 3]}{number}", made_up.TOPICS) for number in range(count)]


def turns(sources: int) -> Callable[[int], Any]:
    graph: Any = turn_graph(turn_settings(), sources=_sources(sources))
    return lambda number: graph.ainvoke(asked(made_up.asked(number)))


def turns_with_a_model(sources: int) -> Callable[[int], Any]:
    settings = turn_settings(synthesis={"style": "conversational"})
    graph: Any = turn_graph(settings, sources=_sources(sources), chat_model=ScriptedChatModel(made_up.REPLY))
    return lambda number: graph.ainvoke(asked(made_up.asked(number)))


def at_once(threads: int) -> Callable[[int], Any]:
    """So many turns at once; the cost is that of all of them."""
    one = turns(3)

    async def all_of_them(number: int) -> None:
        await asyncio.gather(*(one(number * threads + thread) for thread in range(threads)))

    return all_of_them


def thread(_: int) -> Callable[[int], Any]:
    """One thread, turn after turn, under the SQLite saver, with 20 pieces of evidence of 2 kB in each."""
    stack, opened = AsyncExitStack(), list[Any]()

    async def turn(number: int) -> None:
        if not opened:
            opened.append(await open_conversation(stack, Path(tempfile.mkdtemp()), range(20)))
        await converse(opened[0], "one", number)

    return turn


def words(size: int) -> Callable[[int], Any]:
    folder = Path(tempfile.mkdtemp())
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["content"], *([text] for text in made_up.texts(size))])
    _ingest(folder / "base.sqlite", folder / "texts.csv")
    source = KnowledgeBaseSource(folder / "base.sqlite")
    return lambda number: source.query(RetrievalIntent([made_up.asked(number, made_up.topics_of(size))]), top_k=10)


def vectors(size: int) -> Callable[[int], Any]:
    path = Path(tempfile.mkdtemp()) / "base.sqlite"
    questions = min(_QUESTIONS, size // 20)
    made = _in_a_loop(lambda: large_base(path, size, questions))
    source = KnowledgeBaseSource(path, embedder=made.embedder, vector_weight=1.0)
    return lambda number: source.query(RetrievalIntent([made.questions[number % len(made.questions)]]), top_k=10)


def ingest(files: int) -> Callable[[int], Any]:
    folder = made_up.markdown_folder(files)
    return lambda number: _ingest(Path(tempfile.mkdtemp()) / "base.sqlite", folder)


def _ingest(base: Path, given: Path) -> None:
    settings = load_settings({"knowledge_base": {"file": str(base)}})
    report = _in_a_loop(lambda: run_ingest(ingest_graph(settings), {"paths": [str(given)]}))
    if report.failed:
        raise RuntimeError(f"the benchmark's own files failed: {report.failed[0]}")


def _in_a_loop(work: Callable[[], Any]) -> Any:
    """The result of `work` in a loop of its own, beside the one that runs."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


serve(
    {
        "turn": turns,
        "turn with a model": turns_with_a_model,
        "at once": at_once,
        "thread": thread,
        "words": words,
        "vectors": vectors,
        "ingest": ingest,
    }
)

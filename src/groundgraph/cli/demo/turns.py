"""The questions of the demo, and the turns that answer them."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundgraph.cli.demo.documents import needed_packages
from groundgraph.core.errors import SourceUnavailable
from groundgraph.graph.configured_models import configured_embedder
from groundgraph.graph.turn import turn_graph
from groundgraph.settings.load_settings import load_settings
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.testing import FaultySource

if TYPE_CHECKING:
    from groundgraph.core.embedder import Embedder
    from groundgraph.graph.state import TurnOutput
    from groundgraph.sources.sql import SqlSource


# The table of the demo: one row for each package that groundgraph needs.

TABLE = "distributions"


def package_table() -> SqlSource:
    """Name, version, licence, summary, number and size of files, and requirements of the installed packages."""
    from groundgraph.sources.sql import SqlSource

    return SqlSource.from_records(
        [_row(package) for package in needed_packages()],
        name=TABLE,
        table=TABLE,
        description="The installed packages that groundgraph needs.",
    )


def _row(package: Distribution) -> dict[str, Any]:
    metadata = package.metadata
    files = package.files or []
    return {
        "name": str(metadata["Name"]),
        "version": package.version,
        "licence": _licence(package),
        "summary": str(metadata["Summary"] or ""),
        "files": len(files),
        "kilobytes": round(sum(file.size or 0 for file in files) / 1000),
        "requirements": sum("extra ==" not in requirement for requirement in package.requires or []),
    }


def _licence(package: Distribution) -> str:
    metadata = package.metadata
    named = metadata["License-Expression"] or metadata["License"]
    if named and "\n" not in named and len(named) < 40:
        return str(named)
    kinds = [kind for kind in metadata.get_all("Classifier") or [] if kind.startswith("License ::")]
    return kinds[0].rpartition(" :: ")[2] if kinds else "not stated"


PACKAGES = "packages"
GROUNDGRAPH = "groundgraph"
SOURCE_LIMIT = 1.0

# Only the quotes: the list of all results, which the built-in template adds, is long for a demo.
_TEMPLATE = (
    "{% for quote in quotes %}{{ quote.text }} [{{ quote.label }}]{{ '' if loop.last else '\\n\\n' }}{% endfor %}"
)


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        text: what is asked.
        shows: what a reader should notice, in one sentence.
        outcome: how the turn ends.
        cites: sources that the answer cites, when no model writes it.
        refuses: sources whose connection is refused during the turn.
        hangs: sources that do not answer in time.
        searches: the sources that are searched; those of documents when empty.
        follows: whether it is asked after the question before it, in one conversation.
    """

    text: str
    shows: str
    outcome: str
    cites: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    hangs: tuple[str, ...] = ()
    searches: tuple[str, ...] = (PACKAGES, GROUNDGRAPH)
    follows: bool = False


QUESTIONS = (
    Question(
        "Is it safe to show user input on a web page?",
        "An answer in the words of a source: the quote stands there, character by character.",
        "answered",
        cites=(PACKAGES,),
    ),
    Question(
        "How does aiosqlite keep from blocking the event loop, and where do blocking calls of a chain run?",
        "An answer that rests on two sources.",
        "answered",
        cites=(PACKAGES, GROUNDGRAPH),
    ),
    Question(
        "How many distributions have the licence BSD-3-Clause?",
        "A table: the rows are counted under a checked condition, not guessed at.",
        "answered",
        cites=(TABLE,),
        searches=(TABLE,),
    ),
    Question(
        "Which package renders rich text and progress bars in the terminal?",
        "A row of the same table, found by its words.",
        "answered",
        cites=(TABLE,),
        searches=(TABLE,),
    ),
    Question(
        "And what is its version?",
        "A follow-up: it is searched for together with the question before it, without a model.",
        "answered",
        cites=(TABLE,),
        searches=(TABLE,),
        follows=True,
    ),
    Question(
        "Какая погода завтра в Новосибирске?",
        "A question in Russian that nothing covers (the weather in Novosibirsk): no answer is made up.",
        "insufficient",
    ),
    Question(
        "Can untrusted templates be rendered safely in a sandbox?",
        "One source is down: the other answers, and the reader is told.",
        "answered",
        cites=(PACKAGES,),
        refuses=(GROUNDGRAPH,),
    ),
    Question(
        "Is it safe to show user input on a web page?",
        "The first question again, while every source is down: an outage does not look like ignorance.",
        "unavailable",
        refuses=(GROUNDGRAPH,),
        hangs=(PACKAGES,),
    ),
)


@dataclass(frozen=True)
class DemoTurn:
    """A question with the output of its turn."""

    question: str
    shows: str
    output: TurnOutput
    seconds: float


# Names the folder of an embedding model, by which the demo searches too.
MODEL_FOLDER = "GROUNDGRAPH_MODEL_FOLDER"


def demo_embedder() -> Embedder | None:
    """The embedding model in the folder that the environment names; None when it names none.

    Raises:
        ConfigurationError: the folder holds no model, or the extra `local` is not installed.
    """
    folder = os.environ.get(MODEL_FOLDER)
    if not folder:
        return None

    section = {"provider": "fastembed", "model": Path(folder).name, "folder": str(Path(folder).absolute())}
    return configured_embedder(load_settings({"embeddings": section, "knowledge_base": None, "sources": []}))


def demo_settings(chosen: Settings | None) -> Settings:
    """The settings of the demo, with the models of `chosen`; without it, no model."""
    llm = chosen.llm if chosen else None
    query_llm = chosen.query_llm if chosen else None
    return load_settings(
        {
            "llm": llm.given if llm else None,
            "query_llm": query_llm.given if query_llm else None,
            "intent": {"domain_context": "Python packages and the library groundgraph"},
            "retrieval": {"top_k": 4, "score_threshold": 0.5},
            "synthesis": {"style": "conversational" if llm else "structured", "template": _TEMPLATE},
            "knowledge_base": None,
            "sources": [],
            "deadlines": {"source": SOURCE_LIMIT},
        }
    )


@asynccontextmanager
async def opened_sources(
    files: Mapping[str, Path], embedder: Embedder | None = None
) -> AsyncIterator[dict[str, GroundedSource]]:
    """A knowledge base per file and the table, by name; closed on leaving. The packages are searched by meaning too
    where there is an embedding model."""
    sources: dict[str, GroundedSource] = {
        name: KnowledgeBaseSource(path, name=name, embedder=embedder if name == PACKAGES else None)
        for name, path in files.items()
    }
    sources[TABLE] = package_table()
    try:
        yield sources
    finally:
        for source in sources.values():
            await source.close()


async def take_turn(
    settings: Settings, question: Question, sources: Mapping[str, GroundedSource], before: DemoTurn | None = None
) -> DemoTurn:
    """Ask `question`, after the turn `before` when it follows that, while the sources that it names are down."""
    graph = turn_graph(settings, sources=[_with_fault(sources[name], question) for name in question.searches])
    earlier = [("user", before.question), ("ai", before.output["answer"])] if before and question.follows else []
    started = time.perf_counter()
    output = await graph.ainvoke({"messages": [*earlier, ("user", question.text)]})
    return DemoTurn(question.text, question.shows, output, time.perf_counter() - started)


def _with_fault(source: GroundedSource, question: Question) -> GroundedSource:
    if source.name in question.refuses:
        return FaultySource(source, error=SourceUnavailable("connection refused"))
    if source.name in question.hangs:
        return FaultySource(source, delay=30 * SOURCE_LIMIT)
    return source

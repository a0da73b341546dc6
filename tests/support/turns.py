"""Turns for tests: a graph over two small sources, what is asked of it, and what one source finds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from groundgraph import Context, InMemorySource, SourceSchema, load_settings, turn_graph
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.graph.parts import GraphParts
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource
from groundgraph.testing import ScriptedChatModel
from groundgraph.testing.models import ScriptedCall

QUESTION = "Which grant types does OAuth have?"
# The message itself is what is searched for, so a scripted model has to write the answer only.
STATIC = {"intent": {"mode": "static"}}
# Without a model: nothing of what is found is written anew.
QUOTING = {**STATIC, "synthesis": {"style": "structured"}}


def log(folder: Path, name: str, line: str) -> None:
    """Append a line to a file of the folder, at once: the process may be dead in a moment."""
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


def docs(**options: object) -> InMemorySource:
    """A source with one record about OAuth and one about pumps, filterable by category."""
    schema = SourceSchema("docs", {"category": {"enum": ["security", "operations"]}})
    return InMemorySource(
        [
            {
                "id": "oauth",
                "content": "OAuth has four grant types. The authorization code grant is used by web apps.",
                "title": "OAuth",
                "section": "OAuth > Grants",
                "category": "security",
            },
            {"id": "pump", "content": "Pump 17 is serviced every 90 days.", "category": "operations"},
        ],
        name="docs",
        schema=schema,
        **options,  # type: ignore[arg-type]
    )


def notes() -> InMemorySource:
    """A second source, without a schema."""
    return InMemorySource(["Grant types of OAuth 2.0 include client credentials."], name="notes")


def asking(question: str = QUESTION, **more: object) -> dict[str, Any]:
    """The input of a turn."""
    return {"messages": [("user", question)], **more}


def thread(name: str = "t") -> dict[str, Any]:
    """The configuration of a run on a thread."""
    return {"configurable": {"thread_id": name}}


def settings_in(folder: Path, **sections: Any) -> Settings:
    """Settings, without a model, whose files lie in `folder`."""
    return load_settings({**QUOTING, **sections}).model_copy(update={"base_dir": folder})


def build(
    reply: Any = None,
    *,
    graph: Callable[..., Any] = turn_graph,
    base: Mapping[str, Any] = STATIC,
    memory: bool = False,
    **given: Any,
) -> Any:
    """A graph over `docs` and `notes`, if nothing else is to be searched.

    Args:
        reply: a chat model, or the replies of a scripted one; None for no model.
        graph: `turn_graph`, `retrieval_graph` or another of their kind.
        base: settings.
        memory: whether a checkpointer and a store are there where none is given.
        given: parts of the graph (`sources`, `checkpointer`, `store` …), and sections of settings in place of those of
            `base`: of a name that both have, a mapping is a section.
    """
    parts = {name: part for name, part in given.items() if name in PARTS and not isinstance(part, Mapping)}
    settings = load_settings({**base, **{name: section for name, section in given.items() if name not in parts}})
    if not settings.sources and settings.knowledge_base is None:
        parts.setdefault("sources", [docs(), notes()])
    if memory:
        parts = {"checkpointer": InMemorySaver(), "store": InMemoryStore(), **parts}
    if reply is not None:
        parts["chat_model"] = reply if hasattr(reply, "ainvoke") else ScriptedChatModel(reply)
    return graph(settings, **parts)


# Those of the sources, models and stores that a graph is given.
PARTS = set(GraphParts.__annotations__)


async def ask(
    graph: Any, question: str = QUESTION, on: str | None = None, *, context: Context | None = None, **more: object
) -> dict[str, Any]:
    """What a turn gives; `on` is the thread that it belongs to, `more` stands beside the message in its input."""
    config = None if on is None else thread(on)
    output: dict[str, Any] = await graph.ainvoke(asking(question, **more), config, context=context)
    return output


async def ask_once(graph: Any, question: str = QUESTION, **how: Any) -> dict[str, Any]:
    """`ask`, and the sources of the graph are closed behind it."""
    try:
        return await ask(graph, question, **how)
    finally:
        await graph.resources.close()


async def found(
    source: GroundedSource,
    *questions: str,
    top_k: int = 5,
    score_threshold: float = 0.0,
    raw: Mapping[str, Any] | None = None,
    **filters: Any,
) -> list[SourceResult]:
    """What a source gives for questions and conditions on its own fields; `raw` is the `raw_data` of the intent."""
    intent = RetrievalIntent(list(questions), {source.name: filters} if filters else {}, raw_data=dict(raw or {}))
    return await source.query(intent, top_k=top_k, score_threshold=score_threshold)


def ids(results: Iterable[SourceResult]) -> list[str]:
    return [result.source_id for result in results]


def asked_by(graph: Any) -> list[ScriptedCall]:
    """What the scripted model of a graph was asked."""
    made: list[ScriptedCall] = graph.resources.chat_model.calls
    return made

"""Plays the scenarios: the records of their turns, and every prompt that a model was sent."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from golden import project
from golden.canonical import as_document, canonical
from golden.scenarios import SCENARIOS, Asked, Scenario
from golden.searches import Task
from golden.vectors import FixedVectors
from golden.workshop import Workshop

_OUTPUT = ("answer", "outcome", "notes", "citations", "support", "context", "evidence")


def turns() -> dict[str, Task]:
    """The recordings by name: `turns/SCENARIO`, with the pictures of the graphs and the prompts."""
    return {f"turns/{name}": partial(_played, name) for name in SCENARIOS}


async def _played(name: str, workshop: Workshop) -> Mapping[str, str]:
    del workshop
    scenario = SCENARIOS[name]
    with _folder(name, scenario.knowledge):
        main, extractor = _model(scenario.replies), _in_order(scenario.extractor)
        settings = project.load_settings(dict(scenario.settings))
        vectors = FixedVectors() if scenario.vectors else None
        ingested = 0
        if any(file.startswith("docs/") for file in scenario.knowledge):
            filling = project.ingest_graph(settings, chat_model=main, embeddings=vectors)
            await filling.ainvoke({"paths": ["docs"]})
            ingested = len(main.calls) if main else 0
        graph = _graph(scenario, settings, main, extractor, vectors)
        try:
            played = [await _turn(graph, asked, number, scenario) for number, asked in enumerate(scenario.turns, 1)]
        finally:
            await project.close(graph)
        calls = main.calls if main else []
        # An ingest asks for several documents and chunks at once, in any order.
        prompts = [*sorted(map(_prompt, calls[:ingested])), *map(_prompt, calls[ingested:])]
        prompts += map(_prompt, extractor.calls if extractor else [])
        picture = graph.get_graph().draw_mermaid()
    shown = "".join(f"=== {number}\n{text}" for number, text in enumerate(prompts, 1))
    return {".json": as_document(played), ".prompts.txt": shown, ".mmd": picture}


@contextmanager
def _folder(name: str, files: Mapping[str, str]) -> Iterator[None]:
    """A folder of its own below the working directory, with these files."""
    before = Path.cwd()
    folder = before / f"turns_{name}"
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, "utf-8")
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _graph(scenario: Scenario, settings: Any, main: Any, extractor: Any, vectors: Any) -> Any:
    made = project.retrieval_graph if scenario.retrieval_only else project.turn_graph
    return made(
        settings,
        sources=scenario.sources(),
        chat_model=main,
        extractor=extractor,
        embeddings=vectors,
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )


def _model(replies: Any) -> Any:
    """A model with these rules; whatever is no rule is its default reply."""
    if replies is None:
        return None
    rules = [one for one in replies if isinstance(one, project.Rule)]
    default = next(one for one in replies if not isinstance(one, project.Rule))
    return project.ScriptedChatModel(rules=rules, default=default)


def _in_order(replies: Any) -> Any:
    return None if replies is None else project.ScriptedChatModel(list(replies))


async def _turn(graph: Any, asked: Asked | str, number: int, scenario: Scenario) -> dict[str, Any]:
    """What a turn gives and leaves behind."""
    turn = Asked(asked) if isinstance(asked, str) else asked
    # The id of a turn is made from that of its message.
    message = HumanMessage(turn.text, id=f"message-{number}")
    given: Any = {"messages": [message], "metadata": dict(turn.metadata)}
    if turn.decision:
        given = Command(resume=dict(turn.decision))
    thread = {"configurable": {"thread_id": "golden"}}
    context = project.Context(**turn.context) if turn.context else None
    output = await graph.ainvoke(given, thread, context=context)
    told: dict[str, Any] = {"asked": turn.text or turn.decision}
    if "__interrupt__" in output:
        return {**told, "waits": [one.value for one in output["__interrupt__"]]}
    record = output["provenance"]
    # What the record says as well is told once.
    beside = {name: output[name] for name in _OUTPUT if name in output and output[name] != record.get(name)}
    told |= {"record": record, "output": beside}
    if scenario.retrieval_only:
        return told
    stored = await project.load_provenance(graph, "golden")
    return told if stored == record else {**told, "stored": stored}


def _prompt(call: Any) -> str:
    """One call of a model as text: its messages, then what was bound to it."""
    texts = []
    for message in call.messages:
        name = f" ({message.name})" if message.name else ""
        content = message.content if isinstance(message.content, str) else json.dumps(canonical(message.content))
        texts.append(f"--- {message.type}{name}\n{content}\n")
    bound = {name: value for name, value in call.kwargs.items() if value is not None}
    if bound:
        texts.append(f"--- with\n{as_document(bound)}")
    return "".join(texts)

"""What every kind of source finds: on the public sets by id, on the small records with all that they give."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from golden import project, stores
from golden.canonical import as_lines
from golden.public_sets import PublicSet, public_set
from golden.records import FILTERS, QUESTIONS, Records, incidents
from golden.stores import Store
from golden.topics import TOPICS
from golden.vectors import FixedVectors
from golden.workshop import Workshop

TOP_K = 10
# Gives the texts of its files by their endings.
Task = Callable[[Workshop], Coroutine[Any, Any, Mapping[str, str]]]

# Kind of source, public set, and whether there are vectors.
_PUBLIC: list[tuple[str, Store, str, bool]] = [
    ("memory", stores.memory, "clapnq", False),
    ("memory", stores.memory, "xquad_ru", False),
    ("knowledge_base", stores.knowledge_base, "clapnq", False),
    ("knowledge_base", stores.knowledge_base, "mtrag_pool", False),
    ("knowledge_base", stores.knowledge_base, "xquad_ru", False),
    ("knowledge_base", stores.knowledge_base, "clapnq", True),
    ("knowledge_base", stores.knowledge_base, "mtrag_pool", True),
    ("knowledge_base", stores.knowledge_base, "xquad_en", True),
    ("sqlite", stores.sqlite, "clapnq", False),
    ("sqlite", stores.sqlite, "xquad_ru", False),
    ("postgres", stores.postgres, "clapnq", False),
    ("postgres", stores.postgres, "clapnq", True),
    ("postgres_own_index", stores.postgres_own_index, "clapnq", False),
    ("weaviate", stores.collection, "clapnq", False),
    ("weaviate", stores.collection, "clapnq", True),
    ("base_in_weaviate", stores.base_in_weaviate, "clapnq", False),
    ("base_in_weaviate", stores.base_in_weaviate, "clapnq", True),
    ("base_in_weaviate", stores.base_in_weaviate, "xquad_ru", False),
    ("cascade", stores.cascade, "xquad_ru", False),
    ("cascade", stores.cascade, "clapnq", True),
    ("langchain", stores.langchain, "clapnq", True),
]
# The same stores over the incidents; the cascade has no fields but its own.
_SMALL: list[tuple[str, Store, bool]] = [
    ("memory", stores.memory, False),
    ("knowledge_base", stores.knowledge_base, False),
    ("knowledge_base", stores.knowledge_base, True),
    ("sqlite", stores.sqlite, False),
    ("postgres", stores.postgres, False),
    ("postgres", stores.postgres, True),
    ("postgres_own_index", stores.postgres_own_index, False),
    ("weaviate", stores.collection, False),
    ("weaviate", stores.collection, True),
    ("base_in_weaviate", stores.base_in_weaviate, False),
    ("base_in_weaviate", stores.base_in_weaviate, True),
    ("langchain", stores.langchain, True),
]


def searches() -> dict[str, Task]:
    """The recordings by name: `found/KIND-SET` and `fixtures/KIND`."""
    tasks: dict[str, Task] = {
        _name(f"found/{kind}-{of}", vectors): partial(_on_public_set, store, of, vectors)
        for kind, store, of, vectors in _PUBLIC
    }
    tasks["found/sqlite-wtq"] = partial(_on_public_set, stores.table_of_wtq, "wtq", False)
    tasks |= {f"found/topics-{name}": partial(_by_topics, name) for name in TOPICS}
    tasks |= {_name(f"fixtures/{kind}", vectors): partial(_small, store, vectors) for kind, store, vectors in _SMALL}
    return tasks


def _name(name: str, vectors: bool) -> str:
    return f"{name}-vectors" if vectors else name


@cache
def _read(workshop: Workshop, name: str) -> PublicSet:
    return public_set(workshop, name)


async def _on_public_set(store: Store, name: str, vectors: bool, workshop: Workshop) -> Mapping[str, str]:
    given = _read(workshop, name)
    rows = [{"id": key, "body": text} for key, text in given.passages.items()]
    async with store(workshop, Records(name, rows, {}, given.vectors if vectors else None)) as source:
        return {".jsonl": await _asked(source, given.questions)}


async def _by_topics(name: str, workshop: Workshop) -> Mapping[str, str]:
    given = _read(workshop, "rfc6749_qa")
    async with TOPICS[name](workshop) as source:
        return {".jsonl": await _asked(source, given.questions)}


async def _asked(source: Any, questions: Mapping[str, str]) -> str:
    rows = []
    for key, text in questions.items():
        found = await project.found_by(source, project.RetrievalIntent([text]), TOP_K, 0.0)
        rows.append({"question": key, "found": [[one.source_id, one.relevance, one.score] for one in found]})
    return as_lines(rows)


async def _small(store: Store, vectors: bool, workshop: Workshop) -> Mapping[str, str]:
    """Every question with every filter; with a threshold, two texts at once and a small `top_k` without one."""
    async with store(workshop, incidents(FixedVectors() if vectors else None)) as source:
        rows = [
            await filtered(source, project.RetrievalIntent([text], {source.name: filters} if filters else {}), TOP_K)
            for text in QUESTIONS
            for filters in FILTERS
        ]
        plain = [project.RetrievalIntent([text]) for text in QUESTIONS]
        rows += [await filtered(source, intent, TOP_K, 0.5) for intent in plain]
        rows += [await filtered(source, replace(plain[0], text_queries=QUESTIONS[:3]), 2)]
    return {".jsonl": as_lines(rows)}


async def filtered(source: Any, intent: Any, top_k: int, threshold: float = 0.0) -> dict[str, Any]:
    """Everything that a source gives for `intent`, or what it refuses it with."""
    asked = {"texts": intent.text_queries, "filters": intent.filters, "categories": intent.categories,
             "raw_data": intent.raw_data, "top_k": top_k, "threshold": threshold}  # fmt: skip
    asked = {name: value for name, value in asked.items() if value}
    try:
        found = await project.found_by(source, intent, top_k, threshold)
    except Exception as error:
        return {"question": asked, "refused": f"{type(error).__name__}: {error}"}
    shown = [[one.source_id, one.relevance, one.score, one.content, one.metadata] for one in found]
    return {"question": asked, "found": shown}

"""What only some kinds of source can do, on small records: relations, computing, categories, neighbours, tenants."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from typing import Any

from golden import project, stores
from golden.canonical import as_lines
from golden.records import QUESTIONS, Records, incidents
from golden.searches import TOP_K, Task, filtered
from golden.stores import Store
from golden.vectors import FixedVectors
from golden.workshop import Workshop

_Intents = Sequence[Mapping[str, Any]]


def special() -> dict[str, Task]:
    """The recordings by name: `fixtures/WHAT`."""
    grouped = partial(stores.collection, per_document=1, neighbours=1, mapping=_MAPPING)
    return {
        "fixtures/sqlite-relations": partial(_recorded, _plant, None, _PLANT),
        "fixtures/cascade": partial(_recorded, _sales, None, _SALES),
        "fixtures/cascade-vectors": partial(_recorded, _sales, FixedVectors(), _SALES),
        "fixtures/weaviate-documents": partial(_recorded, grouped, FixedVectors(), _plain),
        "fixtures/weaviate-tenants": partial(
            _recorded, partial(stores.collection, tenant_from="hall"), None, _of_tenants
        ),
    }


async def _recorded(store: Store, vectors: FixedVectors | None, asked: Any, workshop: Workshop) -> Mapping[str, str]:
    async with store(workshop, _manuals(vectors)) as source:
        intents: _Intents = asked(source.name) if callable(asked) else asked
        return {".jsonl": as_lines([await filtered(source, project.RetrievalIntent(**one), TOP_K) for one in intents])}


_MAPPING = {"text": "body", "id": "key", "document": "hall", "order": "position", "title": "severity"}


def _manuals(vectors: FixedVectors | None) -> Records:
    """The incidents as passages of documents: a hall is a document, with places in it."""
    plain = incidents()
    halls = [row["hall"] for row in plain.rows]
    rows = [{**row, "position": halls[:number].count(row["hall"])} for number, row in enumerate(plain.rows)]
    return Records("manuals", rows, {**plain.fields, "position": {"type": "integer"}}, vectors)


def _plain(name: str) -> _Intents:
    del name
    return [{"text_queries": [text]} for text in QUESTIONS]


def _of_tenants(name: str) -> _Intents:
    halls = ("north", "south", "west")
    return [{"text_queries": [text], "filters": {name: {"hall": hall}}} for text in QUESTIONS for hall in halls]


@asynccontextmanager
async def _plant(workshop: Workshop, records: Records) -> AsyncIterator[Any]:
    """Two tables of which one refers to the other."""
    del workshop
    file = records.file("plant", "sqlite")
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE pumps (id INTEGER PRIMARY KEY, hall TEXT, maker TEXT)")
        database.execute("CREATE TABLE incidents (id INTEGER PRIMARY KEY, pump_id INTEGER, severity TEXT, cost REAL, "
                         "day DATE, summary TEXT)")  # fmt: skip
        database.executemany("INSERT INTO pumps VALUES (?, ?, ?)", [(17, "north", "Grundig"), (18, "south", "Wilo")])
        rows = [(1, 17, "critical", 120.5, "2024-01-15", "Oil leaked at night."),
                (2, 18, "minor", 15.0, "2024-02-02", "The seal was dry."),
                (3, 17, "critical", 980.0, "2025-03-31", "The coolant filter was clogged."),
                (4, None, "minor", None, "2025-04-01", "A lamp was replaced.")]  # fmt: skip
        database.executemany("INSERT INTO incidents VALUES (?, ?, ?, ?, ?, ?)", rows)
    entry = {"type": "sql", "name": "sql", "url": f"sqlite:///{file}", "tables": ["incidents", "pumps"],
             "relations": ["incidents.pump_id = pumps.id"], "index": ":memory:"}  # fmt: skip
    async with stores.configured({"sources": [entry]}, "sql", None) as source:
        yield source


_PLANT: _Intents = [
    {"text_queries": ["oil"]},
    {"text_queries": ["incidents of a pump by Grundig"]},
    {"text_queries": ["what was replaced or clogged"], "filters": {"sql": {"pumps.hall": "north"}}},
    {"text_queries": ["seal"], "filters": {"sql": {"pumps.maker": {"not": "Wilo"}}}},
    {"text_queries": ["How many incidents have the severity critical?"]},
    {"text_queries": ["How many pumps are there?"]},
    {"text_queries": ["What is the total cost of critical incidents?"]},
]


@asynccontextmanager
async def _sales(workshop: Workshop, records: Records) -> AsyncIterator[Any]:
    """A cascade over categories with keywords, priorities and a section that nobody may see."""
    from golden.scenarios import SALES

    del workshop
    folder = records.file("sales", "d")
    for name, text in SALES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    entry = {"type": "cascade", "name": "cascade", "path": str(folder), "use_embeddings": records.vectors is not None,
             "vectors": f"{folder}.sqlite"}  # fmt: skip
    async with stores.configured({"sources": [entry]}, "cascade", records.vectors) as source:
        yield source


_SALES: _Intents = [
    {"text_queries": ["What is the monthly rate?"]},
    {"text_queries": ["price"]},
    {"text_queries": ["cash desk offline", "begin"]},
    {"text_queries": ["margin"]},
    {"text_queries": ["cash desk"], "filters": {"cascade": {"category": ["pricing", "faq"]}}},
    {"text_queries": ["cash desk"], "filters": {"cascade": {"priority": {"gte": 5}}}},
    {"text_queries": ["cash desk"], "categories": ["features", "unknown"]},
    {"text_queries": ["cash desk"], "categories": ["unknown"]},
    {"text_queries": [], "categories": ["pricing"]},
]

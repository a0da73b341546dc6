"""The same rows and the same guide in everything that can be searched, for the kits of `groundgraph.testing`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from filled_base import fill as fill_base
from filled_base import prepared
from plant_database import fill
from portable_dialect import NAME
from topic_bases import WordVectors
from weaviate_bases import place_on
from weaviate_collections import address, embedder, make

from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.in_memory import InMemorySource
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.sources.sql import SqlSource
from groundgraph.sources.weaviate import WeaviateSource
from groundgraph.sources.weaviate_base import WeaviateBaseSource, WeaviateStore

FIELDS: dict[str, dict[str, Any]] = {
    "word": {"type": "string"}, "whole": {"type": "integer"}, "part": {"type": "number"}, "day": {"type": "date"},
    "moment": {"type": "datetime"}, "yes": {"type": "boolean"}, "tags": {"type": "array"},
}  # fmt: skip
_VALUES: list[tuple[Any, ...]] = [
    ("pumps", 3, 0.5, "2024-02-29", "2024-02-29T23:30:00", True, ["a", "b"]),
    ("Pumps", -3, 2.5, "2024-03-01", "2024-03-01T00:30:00", False, ["b"]),
    ("pumps ", 4, -1.5, "2024-02-28", "2024-02-29T12:00:00", True, ["A", "a b"]),
    ("насосы", 0, 0.25, "2023-12-31", "2023-12-31T23:59:59", None, []),
    ("100%_x*", 3, 7.0, None, None, False, ["%"]),
    (None, None, None, "2024-02-29", "2024-03-01T00:00:00", None, None),
    ("a'b\\c", 12, 100.125, "2025-01-01", "2025-01-01T08:15:30", True, ["b", "c"]),
]
# Every row is found by this, and rows differ in how well.
EVERYTHING = "pump serviced"
_BODIES = [f"A pump {'is serviced ' * (number % 3)}in hall {number}." for number in range(len(_VALUES))]
ROWS = [dict(zip(FIELDS, values, strict=True)) for values in _VALUES]

Made = Callable[[pytest.FixtureRequest, Path], Awaitable[GroundedSource]]


def _present(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


async def _memory(_request: pytest.FixtureRequest, _folder: Path) -> GroundedSource:
    records = [{"id": str(n), "content": body, **_present(ROWS[n])} for n, body in enumerate(_BODIES)]
    return InMemorySource(records, name="rows", schema=SourceSchema("rows", FIELDS))


_COLUMNS = {"string": "TEXT", "integer": "INTEGER", "number": "REAL", "array": "JSON"}


def _file(folder: Path, extra: str = "", text: str = "TEXT") -> Path:
    columns = {**_COLUMNS, "string": text}
    declared = ", ".join(f"{name} {columns.get(spec['type'], spec['type'])}" for name, spec in FIELDS.items())
    script = f"CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT, {declared}); {extra}"
    stored = [
        (
            n,
            body,
            *(
                {
                    **ROWS[n],
                    "tags": json.dumps(ROWS[n]["tags"]),
                    "moment": (ROWS[n]["moment"] or "").replace("T", " ") or None,
                }
            ).values(),
        )
        for n, body in enumerate(_BODIES)
    ]
    return fill(folder / "rows.db", script, t=stored)


async def _sqlite(_request: pytest.FixtureRequest, folder: Path) -> GroundedSource:
    return SqlSource(_file(folder), name="rows", table="t", content_field="body", index=":memory:")


async def _own_text_index(_request: pytest.FixtureRequest, folder: Path) -> GroundedSource:
    index = "CREATE VIRTUAL TABLE found USING fts5 (body, content='t', content_rowid='id');"
    path = _file(folder, index)
    from plant_database import change

    change(path, "INSERT INTO found (found) VALUES ('rebuild')")
    return SqlSource(path, name="rows", table="t", content_field="body", fts="found")


async def _portable(_request: pytest.FixtureRequest, folder: Path) -> GroundedSource:
    # It folds letters, which a condition does not.
    path = _file(folder, text="TEXT COLLATE NOCASE")
    return SqlSource(f"{NAME}:///{path}", name="rows", table="t", content_field="body", index=":memory:")


def _postgres(index: str) -> Made:
    async def made(request: pytest.FixtureRequest, _folder: Path) -> GroundedSource:
        server = request.getfixturevalue("postgres")
        kinds = {**_COLUMNS, "number": "double precision", "datetime": "timestamp", "array": "text[]"}
        declared = ", ".join(f"{name} {kinds.get(spec['type'], spec['type'])}" for name, spec in FIELDS.items())
        script = f"CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT, {declared}); {index}"
        url = server.database("contracts", script)
        server.fill("contracts", t=[(n, body, *ROWS[n].values()) for n, body in enumerate(_BODIES)])
        return SqlSource(url, name="rows", table="t", content_field="body", index=":memory:")

    return made


async def _weaviate(request: pytest.FixtureRequest, _folder: Path) -> GroundedSource:
    from weaviate.classes.config import DataType, Property, Tokenization

    kinds: dict[str, Any] = {
        "string": DataType.TEXT, "integer": DataType.INT, "number": DataType.NUMBER, "date": DataType.DATE,
        "datetime": DataType.DATE, "boolean": DataType.BOOL, "array": DataType.TEXT_ARRAY,
    }  # fmt: skip
    texts = ("string", "array")
    own = [Property(name="body", data_type=DataType.TEXT)] + [
        Property(
            name=name, data_type=kinds[spec["type"]], tokenization=Tokenization.FIELD if spec["type"] in texts else None
        )
        for name, spec in {"slug": {"type": "string"}, **FIELDS}.items()
    ]
    objects = [{"slug": str(n), "body": body, **_as_properties(_present(ROWS[n]))} for n, body in enumerate(_BODIES)]
    server = request.getfixturevalue("weaviate_server")
    await make(server, "Contracts", objects=objects, own_properties=own)
    mapping = {"text": "body", "id": "slug"}
    return WeaviateSource(
        "Contracts", name="rows", address=address(server), mapping=mapping, fields=FIELDS, embedder=embedder()
    )


def _as_properties(row: dict[str, Any]) -> dict[str, Any]:
    """As properties of Weaviate, whose index drops white space around a text: only what differs otherwise."""
    times = {"day": "T00:00:00Z", "moment": "Z"}
    stripped = {"word": row["word"].strip()} if "word" in row else {}
    return {name: value + times[name] if name in times else value for name, value in {**row, **stripped}.items()}


def _documents() -> list[Document]:
    return [Document(f"d{n}", body, metadata=_present(ROWS[n])) for n, body in enumerate(_BODIES)]


def _embedded(embed: bool) -> Made:
    async def made(_request: pytest.FixtureRequest, folder: Path) -> GroundedSource:
        model = embedder() if embed else None
        await fill_base(folder / "kb.sqlite", _documents(), embedder=model)
        return KnowledgeBaseSource(folder / "kb.sqlite", name="rows", fields=FIELDS, embedder=model)

    return made


def _base_in_weaviate(embed: bool) -> Made:
    async def made(request: pytest.FixtureRequest, _folder: Path) -> GroundedSource:
        model, place = embedder() if embed else None, place_on(request.getfixturevalue("weaviate_server"))
        await _write(WeaviateStore(place, fields=FIELDS), _documents(), model)
        return WeaviateBaseSource(place, name="rows", fields=FIELDS, embedder=model)

    return made


async def _write(store: WeaviateStore, documents: list[Document], model: Embedder | None) -> None:
    await store.open(BaseIdentity(model.name if model else ""))
    assert await store.write([await prepared(one, embedder=model) for one in documents]) == {}
    await store.close()


_POSTGRES_INDEX = "CREATE INDEX ON t USING gin (to_tsvector('english', body));"
SOURCES: dict[str, Made] = {
    "memory": _memory,
    "table of SQLite": _sqlite,
    "FTS5 table of the user": _own_text_index,
    "any dialect": _portable,
    "embedded base": _embedded(False),
    "embedded base with vectors": _embedded(True),
}
LIVE_SOURCES: dict[str, Made] = {
    "PostgreSQL": _postgres(""),
    "PostgreSQL with its own index": _postgres(_POSTGRES_INDEX),
    "collection of Weaviate": _weaviate,
    "base in Weaviate": _base_in_weaviate(False),
    "base in Weaviate with vectors": _base_in_weaviate(True),
}


# A guide of two documents, some of whose passages are for the staff alone.

_PARTS = [
    (("Install",), "install intro", "all"),
    (("Install", "Linux"), "linux install apt", "all"),
    (("Install", "Linux", "Servers"), "linux server notes", "staff"),
    (("Safety",), "safety intro", "all"),
    (("Safety", "Fire"), "fire smoke", "staff"),
]
_WORDS = ["linux", "smoke", "safety"]
TOPIC_FIELDS: dict[str, dict[str, Any]] = {"audience": {"type": "string"}}


def _guide() -> list[tuple[Any, ...]]:
    """Backwards, so that no order but that of the columns makes it right."""
    rows = [
        (n + 10 * m, name, n, " > ".join(path), text, audience)
        for m, name in enumerate(("a", "b"))
        for n, (path, text, audience) in enumerate(_PARTS)
    ]
    return rows[::-1]


_TOPIC_TABLE = (
    "CREATE TABLE parts (id INTEGER PRIMARY KEY, doc TEXT, position INTEGER, path TEXT, body TEXT, audience TEXT);"
)


def _topics_of(url: Any) -> GroundedSource:
    columns = {"document": "doc", "order": "position", "headings": "path"}
    return SqlSource(url, name="docs", table="parts", content_field="body", topic_columns=columns, index=":memory:")


async def _topics_sqlite(_request: pytest.FixtureRequest, folder: Path) -> GroundedSource:
    return _topics_of(fill(folder / "parts.db", _TOPIC_TABLE, parts=_guide()))


async def _topics_portable(_request: pytest.FixtureRequest, folder: Path) -> GroundedSource:
    return _topics_of(f"{NAME}:///{fill(folder / 'parts.db', _TOPIC_TABLE, parts=_guide())}")


async def _topics_postgres(request: pytest.FixtureRequest, _folder: Path) -> GroundedSource:
    server = request.getfixturevalue("postgres")
    url = server.database("topic_contracts", _TOPIC_TABLE)
    server.fill("topic_contracts", parts=_guide())
    return _topics_of(url)


def _topic_model() -> Embedder:
    return Embedder(WordVectors(_WORDS), "words")


def _topic_documents() -> list[Document]:
    """One document for each audience: its metadata is that of all its passages."""
    text = "\n\n".join(f"{'#' * len(path)} {path[-1]}\n\n{body}" for path, body, _ in _PARTS)
    return [Document(f"{audience}.md", text, MARKDOWN, {"audience": audience}) for audience in ("all", "staff")]


async def _topics_embedded(_request: pytest.FixtureRequest, folder: Path) -> GroundedSource:
    await fill_base(folder / "kb.sqlite", _topic_documents(), embedder=_topic_model())
    return KnowledgeBaseSource(folder / "kb.sqlite", name="docs", fields=TOPIC_FIELDS, embedder=_topic_model())


async def _topics_base_in_weaviate(request: pytest.FixtureRequest, _folder: Path) -> GroundedSource:
    place = place_on(request.getfixturevalue("weaviate_server"))
    await _write(WeaviateStore(place, fields=TOPIC_FIELDS), _topic_documents(), _topic_model())
    return WeaviateBaseSource(place, name="docs", fields=TOPIC_FIELDS, embedder=_topic_model())


async def _topics_weaviate(request: pytest.FixtureRequest, _folder: Path) -> GroundedSource:
    from weaviate.classes.config import DataType, Property, Tokenization

    exact: Any = {"data_type": DataType.TEXT, "tokenization": Tokenization.FIELD}
    own = [
        Property(name="body", data_type=DataType.TEXT), Property(name="path", data_type=DataType.TEXT),
        Property(name="position", data_type=DataType.INT),
        *(Property(name=name, **exact) for name in ("slug", "doc", "audience")),
    ]  # fmt: skip
    names = ("slug", "doc", "position", "path", "body", "audience")
    objects = [dict(zip(names, (str(row[0]), *row[1:]), strict=True)) for row in _guide()]
    server = request.getfixturevalue("weaviate_server")
    await make(server, "TopicContracts", objects=objects, own_properties=own, model=WordVectors(_WORDS))
    mapping = {"text": "body", "id": "slug", "headings": "path", "document": "doc", "order": "position"}
    return WeaviateSource(
        "TopicContracts", name="docs", address=address(server), mapping=mapping, fields=TOPIC_FIELDS,
        embedder=_topic_model(),
    )  # fmt: skip


TOPICS: dict[str, Made] = {
    "table of SQLite": _topics_sqlite,
    "any dialect": _topics_portable,
    "embedded base": _topics_embedded,
}
LIVE_TOPICS: dict[str, Made] = {
    "PostgreSQL": _topics_postgres,
    "collection of Weaviate": _topics_weaviate,
    "base in Weaviate": _topics_base_in_weaviate,
}

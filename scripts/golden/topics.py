"""Sources that are searched by topics, over the sections of RFC 6749."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

from golden import project
from golden.stores import configured
from golden.vectors import FixedVectors
from golden.workshop import Workshop

_MATCHES = {"type": "heading_tree", "entry_strategy": "heading_match"}
_BOTH = {"type": "heading_tree"}
_CLUSTERS = {"type": "cluster", "cluster_threshold": 0.5}


def _sections(workshop: Workshop) -> list[dict[str, Any]]:
    lines = (workshop.data("rfc6749_qa") / "sections.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _as_markdown(sections: list[dict[str, Any]]) -> str:
    parts = []
    for one in sections:
        depth = one["breadcrumb"].count(" > ") + 1
        parts.append(f"{'#' * min(depth + 1, 6)} {one['title']}\n\n{one['text']}\n")
    return "# RFC 6749\n\n" + "\n".join(parts)


@asynccontextmanager
async def _in_base(index: dict[str, Any], vectors: bool, workshop: Workshop) -> AsyncIterator[Any]:
    folder, model = Path("rfc6749"), FixedVectors() if vectors else None
    folder.mkdir(exist_ok=True)
    (folder / "rfc6749.md").write_text(_as_markdown(_sections(workshop)), "utf-8")
    base = {"path": str(folder), "file": f"rfc6749_{index['type']}_{vectors}.sqlite", "topic_index": index}
    settings = {"knowledge_base": base}
    await project.ingest_graph(project.load_settings(settings), embeddings=model).ainvoke({"paths": [str(folder)]})
    async with configured(settings, "knowledge_base", model) as source:
        yield source


@asynccontextmanager
async def _in_table(workshop: Workshop) -> AsyncIterator[Any]:
    file = Path("rfc6749_table.sqlite")
    rows = [(number, "rfc6749", one["breadcrumb"], one["text"]) for number, one in enumerate(_sections(workshop))]
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE sections (position INTEGER PRIMARY KEY, doc TEXT, path TEXT, body TEXT)")
        database.executemany("INSERT INTO sections VALUES (?, ?, ?, ?)", rows)
    entry = {"type": "sql", "name": "sql", "url": f"sqlite:///{file}", "table": "sections", "content_field": "body",
             "index": ":memory:", "topic_columns": {"document": "doc", "order": "position", "headings": "path"},
             "topic_index": _MATCHES}  # fmt: skip
    async with configured({"sources": [entry]}, "sql", None) as source:
        yield source


TOPICS: dict[str, Callable[[Workshop], AbstractAsyncContextManager[Any]]] = {
    "headings": partial(_in_base, _MATCHES, False),
    "headings-vectors": partial(_in_base, _BOTH, True),
    "clusters": partial(_in_base, _CLUSTERS, True),
    "sqlite": _in_table,
}

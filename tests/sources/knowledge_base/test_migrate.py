"""Files of older versions (decision 10)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from asking import ask_ids, opened
from filled_base import check_counts, fill, prepared
from plant_database import change, rows_of
from plant_database import fill as fill_database

from groundgraph.core.document import Document
from groundgraph.core.errors import SchemaVersionUnsupported
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.sources.knowledge_base import EmbeddedStore, KnowledgeBaseSource
from groundgraph.sources.knowledge_base.schema import SCHEMA_VERSION

# The tables of version 1, as the release before this one wrote them.
VERSION_1 = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, hash TEXT NOT NULL,
    from_file INTEGER NOT NULL, chunks INTEGER NOT NULL, metadata TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, document_id INTEGER NOT NULL REFERENCES documents (id), position INTEGER NOT NULL,
    start INTEGER NOT NULL, end INTEGER NOT NULL, headings TEXT NOT NULL, heading_levels TEXT NOT NULL,
    stems TEXT NOT NULL, heading_stems TEXT NOT NULL, text TEXT NOT NULL);
CREATE UNIQUE INDEX chunks_of_document ON chunks (document_id, position);
CREATE VIRTUAL TABLE chunk_stems USING fts5 (body, headings, content='', detail=full, tokenize='ascii');
CREATE TABLE terms (term TEXT PRIMARY KEY, df INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state (chunks INTEGER NOT NULL, stems INTEGER NOT NULL, changes INTEGER NOT NULL);
INSERT INTO state VALUES (3, 7, 5);
INSERT INTO documents VALUES (4, 'a.md', 'Fruit', 'h4', 1, 2, '{"title": "Fruit"}', 'red apple yellow pear');
INSERT INTO documents VALUES (9, 'b.md', '', 'h9', 0, 1, '{}', 'blue fig');
INSERT INTO chunks VALUES (7, 4, 0, 0, 9, '["Fruit"]', '[1]', 'red appl', 'fruit', 'red apple');
INSERT INTO chunks VALUES (8, 4, 1, 10, 21, '["Fruit"]', '[1]', 'pear', 'fruit', 'yellow pear');
INSERT INTO chunks VALUES (9, 9, 0, 0, 8, '[]', '[]', 'blue fig', '', 'blue fig');
INSERT INTO chunk_stems (rowid, body, headings) SELECT id, stems, heading_stems FROM chunks;
INSERT INTO terms VALUES ('red', 1), ('appl', 1), ('fruit', 2), ('pear', 1), ('blue', 1), ('fig', 1);
PRAGMA journal_mode = WAL;
PRAGMA user_version = 1;
"""


@pytest.fixture
def old(tmp_path) -> Path:
    return fill_database(tmp_path / "kb.sqlite", VERSION_1)


async def test_opening_an_older_file_for_writing_migrates_it_and_nothing_is_lost(old):
    store = opened(EmbeddedStore(old))
    await store.open(BaseIdentity())
    assert [(row.name, row.hash, row.chunks, row.from_file) for row in await store.documents()] == [
        ("a.md", "h4", 2, True),
        ("b.md", "h9", 1, False),
    ]
    assert await store.document("b.md") == Document("b.md", "blue fig")
    check_counts(old)
    source = opened(KnowledgeBaseSource(old))
    assert await ask_ids(source, "fruit apple") == ["a.md#0", "a.md#1"]
    # Replacing and removing need what the index was told in version 1.
    await store.write([await prepared(Document("a.md", "green kiwi"))])
    assert await store.remove(["b.md"]) == 1
    check_counts(old)
    assert await ask_ids(source, "kiwi") == ["a.md#0"]
    assert await ask_ids(source, "fruit fig pear") == []


async def test_a_reader_migrates_an_older_file_too(old):
    source = opened(KnowledgeBaseSource(old))
    assert await ask_ids(source, "blue figs") == ["b.md#0"]
    assert rows_of(old, "PRAGMA user_version") == [(SCHEMA_VERSION,)]
    assert rows_of(old, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_an_older_file_that_cannot_be_written_is_refused_with_a_way_out(old):
    change(old, "PRAGMA journal_mode = DELETE")
    old.chmod(0o400)
    old.parent.chmod(0o500)
    try:
        source = opened(KnowledgeBaseSource(old))
        with pytest.raises(SchemaVersionUnsupported, match=r"schema version 1 .*writable"):
            await ask_ids(source, "fig")
    finally:
        old.parent.chmod(0o700)


async def test_a_migration_that_fails_leaves_the_old_file_as_it_was(old, monkeypatch):
    monkeypatch.setattr(
        "groundgraph.sources.knowledge_base.schema._AFTER", ["INSERT INTO documents (nothing) VALUES (1)"]
    )
    source = opened(KnowledgeBaseSource(old))
    with pytest.raises(SchemaVersionUnsupported, match="schema version 1"):
        await ask_ids(source, "fig")
    assert rows_of(old, "PRAGMA user_version") == [(1,)]
    assert rows_of(old, "SELECT name, stems FROM documents JOIN chunks USING (id)") == [("b.md", "blue fig")]


async def test_a_file_that_a_newer_groundgraph_migrates_meanwhile_is_refused_by_an_open_reader(tmp_path):
    await fill(tmp_path / "kb.sqlite", [Document("a", "apple")])
    source = opened(KnowledgeBaseSource(tmp_path / "kb.sqlite"))
    assert await ask_ids(source, "apple") == ["a#0"]
    change(tmp_path / "kb.sqlite", "PRAGMA user_version = 99")
    with pytest.raises(SchemaVersionUnsupported, match="version 99"):
        await ask_ids(source, "apple")


async def test_row_numbers_are_never_used_again(tmp_path):
    path = tmp_path / "kb.sqlite"
    store = opened(EmbeddedStore(path))
    await store.open(BaseIdentity())
    rows = set()
    for text in ("one", "two", "three"):
        await store.write([await prepared(Document("d", text))])
        rows |= set(rows_of(path, "SELECT max(documents.id), max(chunk_id), max(texts.id) FROM documents, texts"))
        await store.remove(["d"])
    assert rows == {(1, 1, 1), (2, 2, 2), (3, 3, 3)}

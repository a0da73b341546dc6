"""Bringing the file of an older groundgraph to the present schema, within the caller's transaction."""

from __future__ import annotations

import sqlite3

from groundgraph.sources.knowledge_base.tables import CONTENT_TABLES, create

_BEFORE = (
    "DROP INDEX chunks_of_document",
    "ALTER TABLE documents RENAME TO documents_1",
    "ALTER TABLE chunks RENAME TO chunks_1",
)
# In version 1 a chunk had one matching text, its own, under its own row number in the index.
_AFTER = (
    "INSERT INTO documents (id, name, title, hash, content_hash, kind, from_file, chunks, written_at, media_type, "
    "body_start, metadata, chunk_fields, parts, marked_headings, text) "
    "SELECT id, name, title, hash, '', 'documents', from_file, chunks, '', "
    "'text/plain', 0, metadata, '[]', '[]', '[]', text FROM documents_1 ORDER BY id",
    "INSERT INTO chunks (id, document_id, position, start, end, origin, derived, headings, heading_levels, metadata, "
    "qualifying_text, text) SELECT id, document_id, position, start, end, 0, 0, headings, heading_levels, '{}', '', "
    "text FROM chunks_1 ORDER BY id",
    "INSERT INTO texts (id, document_id, chunk_id, ends_with_chunk, stems, heading_stems, text) "
    "SELECT id, document_id, id, 1, stems, heading_stems, '' FROM chunks_1 ORDER BY id",
    "DROP TABLE chunks_1",
    "DROP TABLE documents_1",
    "ALTER TABLE chunk_stems RENAME TO text_stems",
    "ALTER TABLE state RENAME TO state_1",
    "CREATE TABLE state "
    "(chunks INTEGER NOT NULL, texts INTEGER NOT NULL, stems INTEGER NOT NULL, changes INTEGER NOT NULL)",
    "INSERT INTO state SELECT chunks, chunks, stems, changes + 1 FROM state_1",
    "DROP TABLE state_1",
)


def to_version_2(connection: sqlite3.Connection) -> None:
    """From version 1: matching texts get a table of their own, documents and chunks more columns.

    What version 1 did not keep (media type, where the body starts) is unknown; the next ingest of a document writes
    it, since its hash then differs.
    """
    for statement in _BEFORE:
        connection.execute(statement)
    create(connection, CONTENT_TABLES)
    for statement in _AFTER:
        connection.execute(statement)

"""The tables of a knowledge base's file.

One file holds the documents with their texts, the chunks, the matching texts of each chunk, a full-text index
over the stems of these texts, for every stem the number of texts that hold it, and the vectors. The index is
contentless, so it stores no text twice, and it keeps `detail=full`: with less its ranking is wrong without an error.
Its tokenizer only divides at spaces, since stems are made by `groundgraph.core.text`, which also folds what FTS5
does not. Row numbers are never used again, so that what was read earlier is never taken for something else.
"""

from __future__ import annotations

import sqlite3

# `text` stands last in the tables: SQLite then reads the other columns without reading the text. A matching text that
# ends with the text of its chunk is kept as what stands before it. The vectors of a document are those of its matching
# texts in order, 16-bit numbers.
CONTENT_TABLES = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    hash TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    from_file INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    written_at TEXT NOT NULL,
    media_type TEXT NOT NULL,
    body_start INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    chunk_fields TEXT NOT NULL,
    parts TEXT NOT NULL,
    marked_headings TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    position INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    derived INTEGER NOT NULL,
    headings TEXT NOT NULL,
    heading_levels TEXT NOT NULL,
    metadata TEXT NOT NULL,
    qualifying_text TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE UNIQUE INDEX chunks_of_document ON chunks (document_id, position);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    chunk_id INTEGER NOT NULL REFERENCES chunks (id),
    ends_with_chunk INTEGER NOT NULL,
    stems TEXT NOT NULL,
    heading_stems TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX texts_of_document ON texts (document_id, chunk_id);
CREATE INDEX texts_of_chunk ON texts (chunk_id);
CREATE TABLE vectors (document_id INTEGER PRIMARY KEY REFERENCES documents (id), vectors BLOB NOT NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
INDEX_TABLES = """
CREATE VIRTUAL TABLE text_stems USING fts5 (body, headings, content='', detail=full, tokenize='ascii');
CREATE TABLE terms (term TEXT PRIMARY KEY, df INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state (chunks INTEGER NOT NULL, texts INTEGER NOT NULL, stems INTEGER NOT NULL, changes INTEGER NOT NULL);
INSERT INTO state VALUES (0, 0, 0, 0);
"""


def create(connection: sqlite3.Connection, tables: str) -> None:
    """Create `tables` within the transaction that is open; `executescript` would end it."""
    for statement in tables.split(";\n"):
        if statement.strip():
            connection.execute(statement)

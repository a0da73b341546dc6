"""The file of a knowledge base and its writer (K1)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from filled_base import check_counts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plant_database import rows_of

from groundgraph.core.document import MARKDOWN, Chunk, Document
from groundgraph.core.knowledge_store import PreparedChunk, PreparedDocument
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.sources.knowledge_base import KnowledgeBaseWriter
from groundgraph.sources.knowledge_base.document_rows import DocumentRows, document_rows
from groundgraph.sources.knowledge_base.schema import SCHEMA_VERSION

pytestmark = pytest.mark.covers("K1")


def write(writer: KnowledgeBaseWriter, *documents: Document) -> dict[str, str]:
    cut = HeadingChunker(80)
    return writer.write([rows(document, cut(document)) for document in documents])


def rows(document: Document, chunks: Iterable[Chunk]) -> DocumentRows:
    prepared = [PreparedChunk(chunk, (chunk.text,)) for chunk in chunks]
    return document_rows(PreparedDocument(document, prepared, f"hash of {document.text}"))


TEXTS = st.lists(
    st.sampled_from(["# One\n", "two three. ", "\n\n", "été ёж ", "καλή ", "καλη ", "край ", "краи ", "# ", "four "]),
    max_size=20,
).map("".join)


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from("abc"), st.none() | TEXTS), max_size=8))
def test_index_and_counts_stay_true_whatever_is_written_and_removed(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("kb") / "kb.sqlite"
    writer = KnowledgeBaseWriter(path)
    for name, text in steps:
        if text is None:
            writer.remove([name, "unknown"])
        else:
            assert write(writer, Document(name, text, MARKDOWN, {"title": "Title"})) == {}
    writer.tidy()
    check_counts(path)
    writer.close()
    writer.close()


def test_a_document_that_cannot_be_stored_keeps_its_old_chunks_and_the_counts(tmp_path):
    writer = KnowledgeBaseWriter(tmp_path / "kb.sqlite")
    write(writer, Document("a", "old apples"), Document("b", "bananas"))
    failed = write(writer, Document("a", "new \ud800 words"), Document("b", "blueberries"))
    assert list(failed) == ["a"]
    writer.close()
    check_counts(tmp_path / "kb.sqlite")
    stored = rows_of(tmp_path / "kb.sqlite", "SELECT name, text FROM documents ORDER BY name")
    assert stored == [("a", "old apples"), ("b", "blueberries")]


def test_a_transaction_that_fails_leaves_everything_as_it_was(tmp_path):
    writer = KnowledgeBaseWriter(tmp_path / "kb.sqlite")
    write(writer, Document("a", "apples"))
    with pytest.raises(AttributeError):
        writer.write([rows(Document("a", "new"), []), None])  # type: ignore[list-item]
    writer.close()
    check_counts(tmp_path / "kb.sqlite")


def test_a_new_base_is_made_with_its_folder_version_and_write_ahead_log(tmp_path):
    path = tmp_path / "new" / "folder" / "kb.sqlite"
    KnowledgeBaseWriter(path).close()
    assert rows_of(path, "PRAGMA user_version") == [(SCHEMA_VERSION,)]
    assert rows_of(path, "PRAGMA journal_mode") == [("wal",)]
    assert rows_of(path, "SELECT chunks FROM state") == [(0,)]

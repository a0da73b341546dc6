"""The file of a knowledge base and its writer (K1)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundgraph.chains.chunk_by_headings import HeadingChunker
from groundgraph.core.document import MARKDOWN, Document
from groundgraph.sources.knowledge_base import KnowledgeBaseWriter
from groundgraph.sources.knowledge_base.schema import SCHEMA_VERSION
from groundgraph.sources.knowledge_base.writer import document_hash, prepare


def write(writer: KnowledgeBaseWriter, *documents: Document) -> dict[str, str]:
    cut = HeadingChunker(80)
    return writer.write([prepare(d, cut(d), document_hash(d, cut.signature), from_file=True) for d in documents])


def check_counts(path: Path) -> None:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT stems, heading_stems FROM chunks").fetchall()
    stems = [[*body.split(), *headings.split()] for body, headings in rows]
    df = Counter(stem for chunk in stems for stem in set(chunk))
    assert dict(connection.execute("SELECT term, df FROM terms")) == dict(df)
    assert connection.execute("SELECT chunks, stems FROM state").fetchone() == (
        len(rows),
        sum(map(len, stems)),
    )
    indexed = "SELECT count(*) FROM chunk_stems WHERE chunk_stems MATCH ?"
    for stem, count in df.items():
        assert connection.execute(indexed, (f'"{stem}"',)).fetchone() == (count,)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


TEXTS = st.lists(
    st.sampled_from(["# One\n", "two three. ", "\n\n", "été ёж ", "καλή ", "καλη ", "край ", "краи ", "# ", "four "]),
    max_size=20,
).map("".join)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from("abc"), st.none() | TEXTS), max_size=8))
def test_k1_index_and_counts_stay_true_whatever_is_written_and_removed(tmp_path_factory, steps):
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


def test_k1_a_document_that_cannot_be_stored_keeps_its_old_chunks_and_the_counts(tmp_path):
    writer = KnowledgeBaseWriter(tmp_path / "kb.sqlite")
    write(writer, Document("a", "old apples"), Document("b", "bananas"))
    failed = write(writer, Document("a", "new \ud800 words"), Document("b", "blueberries"))
    assert list(failed) == ["a"]
    assert writer.stored("b") != writer.stored("a") is not None
    writer.close()
    check_counts(tmp_path / "kb.sqlite")
    connection = sqlite3.connect(tmp_path / "kb.sqlite")
    assert connection.execute("SELECT name, text FROM documents ORDER BY name").fetchall() == [
        ("a", "old apples"),
        ("b", "blueberries"),
    ]
    connection.close()


def test_k1_a_transaction_that_fails_leaves_everything_as_it_was(tmp_path):
    writer = KnowledgeBaseWriter(tmp_path / "kb.sqlite")
    write(writer, Document("a", "apples"))
    with pytest.raises(AttributeError):
        writer.write([prepare(Document("a", "new"), [], "h", from_file=False), None])  # type: ignore[list-item]
    writer.close()
    check_counts(tmp_path / "kb.sqlite")


def test_k1_a_new_base_is_made_with_its_folder_version_and_write_ahead_log(tmp_path):
    path = tmp_path / "new" / "folder" / "kb.sqlite"
    KnowledgeBaseWriter(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("SELECT chunks FROM state").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize("change", ["text", "metadata", "media_type", "body_start", "signature"])
def test_k1_the_hash_changes_with_everything_that_the_chunks_depend_on(change):
    old = {"text": "abc", "media_type": "text/plain", "metadata": {"a": 1}, "body_start": 0}
    new = {**old, **{"text": "abd", "metadata": {"a": 2}, "media_type": MARKDOWN, "body_start": 1}}
    fields = {**old, change: new[change]} if change != "signature" else old
    signature = "other" if change == "signature" else "headings"
    assert document_hash(Document("d", **old), "headings") != document_hash(Document("d", **fields), signature)
    assert document_hash(Document("d", **old), "headings") == document_hash(Document("d", **old), "headings")

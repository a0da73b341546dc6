"""The knowledge-base source (R1, R2, R5)."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from asking import ask, ask_ids, opened
from filled_base import fill
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plant_database import change, watched_threads

from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.errors import (
    ConfigurationError,
    SchemaVersionUnsupported,
    SourceUnavailable,
    StorageLocked,
)
from groundgraph.sources.contract import SourceOptions, source_types
from groundgraph.sources.knowledge_base import KnowledgeBaseSource

pytestmark = pytest.mark.covers("R5")

GUIDE = """# OAuth Guide

Welcome.

## Tokens

### Refresh

A refresh token is long lived.

## Errors

The server answers with a code.
"""


@asynccontextmanager
async def base(tmp_path: Path, *documents: Document, chunker=None, **options):
    await fill(tmp_path / "kb.sqlite", documents, chunker=chunker)
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite", **options)
    try:
        yield source
    finally:
        await source.close()


def guide(**metadata) -> Document:
    return Document("docs/guide.md", GUIDE, MARKDOWN, {"title": "OAuth Guide", **metadata})


async def test_a_result_names_its_document_section_and_exact_place(tmp_path):
    async with base(tmp_path, guide(category="auth"), name="kb") as source:
        [result] = await ask(source, "refresh tokens", top_k=1)
    assert (result.source_name, result.source_type, result.source_id) == (
        "kb",
        "knowledge_base",
        "docs/guide.md#1",
    )
    assert GUIDE[result.metadata["start"] : result.metadata["end"]] == result.content
    assert {key: result.metadata[key] for key in result.metadata if key not in ("start", "end")} == {
        **{"document": "docs/guide.md", "title": "OAuth Guide", "category": "auth", "position": 1},
        **{"section": "OAuth Guide > Tokens > Refresh", "headings": ["OAuth Guide", "Tokens", "Refresh"]},
        "heading_levels": [1, 2, 3],
    }
    assert result.score > 0


async def test_relevance_is_the_share_of_the_question_found_in_text_headings_or_title(tmp_path):
    async with base(tmp_path, guide()) as source:
        by_question = {
            question: (await ask(source, question))[0].relevance
            for question in (
                "long lived refresh token",
                "oauth errors",
                "errors zebra",
                "errors zebra giraffe okapi",
            )
        }
        assert await ask(source, "zebra") == []
    assert by_question["long lived refresh token"] == by_question["oauth errors"] == pytest.approx(1.0)
    assert 0.1 < by_question["errors zebra giraffe okapi"] < by_question["errors zebra"] < 0.5


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(alphabet=st.one_of(st.characters(), st.sampled_from('"*()^:-+{}AND OR NOT NEAR'))))
async def test_any_unicode_string_is_a_legal_question(tmp_path_factory, question):
    async with base(tmp_path_factory.mktemp("kb"), guide()) as source:
        assert isinstance(await ask(source, question, f"token {question}"), list)


async def test_words_of_any_script_are_found(tmp_path):
    texts = [
        "Зелёный чай остывает",
        "東京都の天気",
        "ԱԲԳ այբուբեն",
        "हिन्दी पाठ",
        "ＦＵＬＬ width Ⅷ",
        "naïve café",
        "ᦰᦱᦲ",
    ]
    async with base(tmp_path, *(Document(f"d{n}", text) for n, text in enumerate(texts))) as source:
        questions = ["зеленые чаи", "東京", "այբուբեն", "हिन्दी", "full viii", "NAIVE cafes", "ᦰᦱᦲ"]
        for number, question in enumerate(questions):
            assert await ask_ids(source, question) == [f"d{number}#0"], question


async def test_a_word_of_the_title_counts_more_than_one_of_the_text(tmp_path):
    titled = Document("a", "some words here", metadata={"title": "Refresh"})
    async with base(tmp_path, Document("b", "some refresh words here"), titled) as source:
        assert await ask_ids(source, "refresh") == ["a#0", "b#0"]


async def test_words_that_stand_together_come_first(tmp_path):
    apart = "token one two three four five six seven eight nine ten refresh"
    together = "one two three four five refresh token six seven eight nine ten"
    async with base(tmp_path, Document("a", apart), Document("b", together)) as source:
        assert await ask_ids(source, "refresh token") == ["b#0", "a#0"]


@pytest.mark.covers("R2")
async def test_a_filter_that_keeps_one_percent_still_fills_top_k(tmp_path):
    documents = [
        Document(f"d{n}", "apple " * 5 if n % 100 else "apple and many other words", metadata={"year": n % 100})
        for n in range(1000)
    ]
    async with base(tmp_path, *documents, fields={"year": {"type": "integer"}}) as source:
        found = await ask(source, "apple", top_k=10, year=0)
        assert {result.metadata["year"] for result in found} == {0}
        assert len(found) == 10
        assert len(await ask(source, "apple", top_k=50, year={"gte": 98})) == 20
        assert await ask(source, "apple", year=1234) == []


@pytest.mark.covers("F21")
@pytest.mark.parametrize("others", [0, 3], ids=["names what it leaves out", "lists what it keeps"])
async def test_a_filter_sees_what_was_ingested_after_it_was_first_used(tmp_path, others):
    left_out = [Document(f"y{n}", "apple", metadata={"kind": "y"}) for n in range(others)]
    async with base(tmp_path, Document("a", "apple", metadata={"kind": "x"}), *left_out, fields={"kind": {}}) as source:
        assert len(await ask(source, "apple", kind="x")) == 1
        await fill(tmp_path / "kb.sqlite", [Document("b", "apple", metadata={"kind": "x"})])
        assert len(await ask(source, "apple", kind="x")) == 2


@pytest.mark.parametrize("state", ["missing", "empty", "garbage"])
async def test_a_base_that_was_never_ingested_or_is_damaged_says_so_and_names_the_command(tmp_path, state):
    path = tmp_path / "kb.sqlite"
    if state != "missing":
        path.write_bytes(b"" if state == "empty" else b"no database at all" * 100)
    source = opened(KnowledgeBaseSource(path))
    with pytest.raises(SourceUnavailable, match=r"kb\.sqlite.*groundgraph ingest PATH"):
        await ask(source, "token")
    with pytest.raises(SourceUnavailable):
        await source.metadata_fields()


@pytest.mark.covers("F11")
async def test_a_damaged_chunk_is_told_without_its_text(tmp_path):
    async with base(tmp_path, Document("a", "apple of somebody else")) as source:
        damaged = "CAST(X'6170706c65206f6620736f6d65626f647920656c7365ff' AS TEXT)"
        change(tmp_path / "kb.sqlite", f"UPDATE chunks SET text = {damaged}")
        with pytest.raises(SourceUnavailable, match="Could not decode") as caught:
            await ask(source, "apple")
    assert "somebody" not in str(caught.value)


async def test_a_file_of_a_newer_version_is_refused_by_source_and_ingest(tmp_path):
    change(tmp_path / "kb.sqlite", "PRAGMA user_version = 99")
    source = opened(KnowledgeBaseSource(tmp_path / "kb.sqlite"))
    with pytest.raises(SchemaVersionUnsupported, match="version 99"):
        await ask(source, "token")
    with pytest.raises(SchemaVersionUnsupported, match="Upgrade groundgraph"):
        await fill(tmp_path / "kb.sqlite", [guide()])


async def test_a_base_that_was_deleted_and_made_anew_is_noticed(tmp_path):
    async with base(tmp_path, Document("a", "apple")) as source:
        assert len(await ask(source, "apple")) == 1
        for file in filter(Path.is_file, tmp_path.iterdir()):
            file.unlink()
        with pytest.raises(SourceUnavailable):
            await ask(source, "apple")
        await fill(tmp_path / "kb.sqlite", [Document("b", "banana")])
        assert await ask_ids(source, "banana") == ["b#0"]
        assert await ask(source, "apple") == []


@pytest.mark.covers("fault 45")
async def test_readers_go_on_while_a_writer_holds_the_base_and_fail_typed_when_shut_out(tmp_path):
    async with base(tmp_path, guide(), lock_timeout=0.2) as source:
        other = sqlite3.connect(tmp_path / "kb.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM chunks")
        assert len(await ask(source, "token")) > 0
        other.execute("ROLLBACK")
        other.close()
    # Only with exclusive locking does a writer keep readers out.
    other = sqlite3.connect(tmp_path / "kb.sqlite", isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    other.execute("UPDATE state SET changes = changes")
    source = opened(KnowledgeBaseSource(tmp_path / "kb.sqlite", lock_timeout=0.2))
    with pytest.raises(StorageLocked, match="locked by another process"):
        await ask(source, "token")
    other.execute("COMMIT")
    other.close()
    assert len(await ask(source, "token")) > 0


async def test_no_sqlite_call_runs_on_the_event_loop(tmp_path, monkeypatch):
    seen = watched_threads(monkeypatch)
    async with base(tmp_path, guide(), fields={"kind": {}}) as source:
        await ask(source, "token", kind="x")
        await source.metadata_fields()
    assert len(seen) > 20
    assert threading.main_thread() not in seen


async def test_a_closed_source_says_so_and_closing_twice_is_harmless(tmp_path):
    async with base(tmp_path, guide()) as source:
        await ask(source, "token")
        await source.close()
        with pytest.raises(SourceUnavailable, match="closed"):
            await ask(source, "token")


@pytest.mark.covers("R2")
def test_a_field_cannot_be_called_as_one_that_every_chunk_has(tmp_path):
    with pytest.raises(ConfigurationError, match=r"knowledge_base\.fields\.title"):
        KnowledgeBaseSource(tmp_path / "kb.sqlite", fields={"title": {"type": "string"}})


def options(**given) -> SourceOptions:
    return SourceOptions("docs", given, Path("/base"), "sources[0]")


@pytest.mark.covers("R11")
@pytest.mark.parametrize("kind", ["knowledge_base", "vector_kb"])
def test_both_type_names_build_the_source_without_opening_anything(kind):
    source = source_types.get(kind)(
        options(path="kb.sqlite", fields=[{"name": "year", "type": "integer"}], description="Docs.")
    )
    assert (source.name, source.source_type) == ("docs", "knowledge_base")
    schema = source.get_schema()
    assert schema.fields["year"] == {"type": "integer"}
    assert schema.description == "Docs."


@pytest.mark.covers("R11")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pth": "x"}, r"sources\[0\]\.pth: .*Did you mean 'path'"),
        ({"fields": ["year"]}, r"sources\[0\]\.fields: must list"),
        ({"fields": {"year": {"type": "int"}}}, "field type 'int'"),
    ],
)
def test_a_bad_option_is_a_configuration_error_with_its_key(given, message):
    with pytest.raises(ConfigurationError, match=message):
        source_types.get("knowledge_base")(options(**given))

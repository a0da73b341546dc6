"""The knowledge-base source (R1, R2, R5)."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from filled_base import fill
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.errors import (
    ConfigurationError,
    FilterInvalid,
    SchemaVersionUnsupported,
    SourceUnavailable,
    StorageLocked,
)
from groundgraph.core.intent import RetrievalIntent
from groundgraph.ingest.chunkers import WholeTextChunker
from groundgraph.sources.contract import SourceOptions, source_types
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.sources.knowledge_base.searcher import question_of, statement
from groundgraph.sources.knowledge_base.vectors import AllowedChunks

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


async def ask(source, *questions, top_k=5, score_threshold=0.0, **filters):
    intent = RetrievalIntent(list(questions), {source.name: filters} if filters else {})
    return await source.query(intent, top_k=top_k, score_threshold=score_threshold)


@pytest.mark.covers("R5")
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


@pytest.mark.covers("R5")
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


@pytest.mark.covers("R10")
async def test_top_k_and_score_threshold_are_honoured(tmp_path):
    documents = [Document(f"d{n}", "apple " + "pear " * (n % 2)) for n in range(20)]
    async with base(tmp_path, *documents) as source:
        assert len(await ask(source, "apple pear", top_k=7)) == 7
        assert await ask(source, "apple pear", top_k=0) == []
        kept = await ask(source, "apple pear", top_k=20, score_threshold=0.9)
        assert sorted(result.source_id for result in kept) == sorted(f"d{n}#0" for n in range(1, 20, 2))
        assert len(await ask(source, "apple pear", top_k=20, score_threshold=0.0)) == 20


@pytest.mark.covers("R5")
@pytest.mark.parametrize("question", ["", "   ", "?!", "\x00", "\ud800", "🙂"])
async def test_a_question_without_words_finds_nothing(tmp_path, question):
    async with base(tmp_path, guide()) as source:
        assert await ask(source, question) == []


@pytest.mark.covers("R5")
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(alphabet=st.one_of(st.characters(), st.sampled_from('"*()^:-+{}AND OR NOT NEAR'))))
async def test_any_unicode_string_is_a_legal_question(tmp_path_factory, question):
    async with base(tmp_path_factory.mktemp("kb"), guide()) as source:
        assert isinstance(await ask(source, question, f"token {question}"), list)


@pytest.mark.covers("R5")
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
            assert [result.source_id for result in await ask(source, question)] == [f"d{number}#0"], question


@pytest.mark.covers("R5")
async def test_several_questions_take_turns_and_what_two_find_comes_once(tmp_path):
    documents = [Document("a", "apple apple"), Document("b", "apple pie"), Document("c", "banana pie")]
    async with base(tmp_path, *documents) as source:
        found = await ask(source, "apple", "banana", "pie")
        assert [result.source_id for result in found] == ["a#0", "c#0", "b#0"]


@pytest.mark.covers("R5")
async def test_what_several_questions_find_keeps_its_best_relevance(tmp_path):
    async with base(tmp_path, Document("a", "apple pie"), Document("b", "banana")) as source:
        for questions in (("apple zebra", "apple pie"), ("apple pie", "apple zebra")):
            [result] = await ask(source, *questions)
            assert result.relevance == pytest.approx(1.0)


@pytest.mark.covers("R5")
async def test_a_word_of_the_title_counts_more_than_one_of_the_text(tmp_path):
    titled = Document("a", "some words here", metadata={"title": "Refresh"})
    async with base(tmp_path, Document("b", "some refresh words here"), titled) as source:
        assert [result.source_id for result in await ask(source, "refresh")] == ["a#0", "b#0"]


@pytest.mark.covers("R5")
async def test_words_that_stand_together_come_first(tmp_path):
    apart = "token one two three four five six seven eight nine ten refresh"
    together = "one two three four five refresh token six seven eight nine ten"
    async with base(tmp_path, Document("a", apart), Document("b", together)) as source:
        assert [result.source_id for result in await ask(source, "refresh token")] == ["b#0", "a#0"]


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


@pytest.mark.covers("R2")
async def test_an_undeclared_filter_is_refused(tmp_path):
    async with base(tmp_path, guide(), fields={"category": {}}) as source:
        assert set(source.get_schema().fields) == {"document", "category"}
        with pytest.raises(FilterInvalid, match="Did you mean 'category'"):
            await ask(source, "token", categry="auth")
    with pytest.raises(ConfigurationError, match=r"knowledge_base\.fields\.title"):
        KnowledgeBaseSource(tmp_path / "kb.sqlite", fields={"title": {"type": "string"}})


@pytest.mark.covers("R12")
async def test_metadata_fields_are_those_that_results_carry(tmp_path):
    async with base(tmp_path, guide(category="auth"), Document("b", "text", metadata={"year": 1})) as source:
        [result] = await ask(source, "refresh", top_k=1)
        assert await source.metadata_fields() == {*result.metadata, "year"}


@pytest.mark.covers("R5")
async def test_a_filter_sees_what_was_ingested_after_it_was_first_used(tmp_path):
    async with base(tmp_path, Document("a", "apple", metadata={"kind": "x"}), fields={"kind": {}}) as source:
        assert len(await ask(source, "apple", kind="x")) == 1
        await fill(tmp_path / "kb.sqlite", [Document("b", "apple", metadata={"kind": "x"})])
        assert len(await ask(source, "apple", kind="x")) == 2


@pytest.mark.covers("F21")
async def test_a_filter_that_lists_what_it_keeps_sees_a_later_ingest(tmp_path):
    others = [Document(f"y{n}", "apple", metadata={"kind": "y"}) for n in range(3)]
    async with base(tmp_path, Document("a", "apple", metadata={"kind": "x"}), *others, fields={"kind": {}}) as source:
        assert len(await ask(source, "apple", kind="x")) == 1
        await fill(tmp_path / "kb.sqlite", [Document("b", "apple", metadata={"kind": "x"})])
        assert len(await ask(source, "apple", kind="x")) == 2


@pytest.mark.covers("R5")
@pytest.mark.parametrize("state", ["missing", "empty", "garbage"])
async def test_a_base_that_was_never_ingested_or_is_damaged_says_so_and_names_the_command(tmp_path, state):
    path = tmp_path / "kb.sqlite"
    if state != "missing":
        path.write_bytes(b"" if state == "empty" else b"no database at all" * 100)
    source = KnowledgeBaseSource(path)
    with pytest.raises(SourceUnavailable, match=r"kb\.sqlite.*groundgraph ingest PATH"):
        await ask(source, "token")
    with pytest.raises(SourceUnavailable):
        await source.metadata_fields()
    await source.close()


@pytest.mark.covers("F11")
async def test_a_damaged_chunk_is_told_without_its_text(tmp_path):
    async with base(tmp_path, Document("a", "apple of somebody else")) as source:
        connection = sqlite3.connect(tmp_path / "kb.sqlite")
        for table, column in (("chunks", "text"), ("chunks", "stems"), ("chunks", "matching_text")):
            columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            if column in columns:
                damaged = "CAST(X'6170706c65206f6620736f6d65626f647920656c7365ff' AS TEXT)"
                connection.execute(f"UPDATE {table} SET {column} = {damaged}")
        connection.commit()
        connection.close()
        with pytest.raises(SourceUnavailable, match="Could not decode") as caught:
            await ask(source, "apple")
    assert "somebody" not in str(caught.value)


@pytest.mark.covers("R5")
async def test_a_file_of_a_newer_version_is_refused_by_source_and_ingest(tmp_path):
    connection = sqlite3.connect(tmp_path / "kb.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite")
    with pytest.raises(SchemaVersionUnsupported, match="version 99"):
        await ask(source, "token")
    with pytest.raises(SchemaVersionUnsupported, match="Upgrade groundgraph"):
        await fill(tmp_path / "kb.sqlite", [guide()])
    await source.close()


@pytest.mark.covers("R5")
async def test_a_base_that_was_deleted_and_made_anew_is_noticed(tmp_path):
    async with base(tmp_path, Document("a", "apple")) as source:
        assert len(await ask(source, "apple")) == 1
        for file in tmp_path.iterdir():
            file.unlink()
        with pytest.raises(SourceUnavailable):
            await ask(source, "apple")
        await fill(tmp_path / "kb.sqlite", [Document("b", "banana")])
        assert [result.source_id for result in await ask(source, "banana")] == ["b#0"]
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
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite", lock_timeout=0.2)
    with pytest.raises(StorageLocked, match="locked by another process"):
        await ask(source, "token")
    other.execute("COMMIT")
    other.close()
    assert len(await ask(source, "token")) > 0
    await source.close()


@pytest.mark.covers("R5")
async def test_no_sqlite_call_runs_on_the_event_loop(tmp_path, monkeypatch):
    # SQLite is real here; the wrapper only notes which thread opens and closes.
    seen: list[bool] = []
    connect = sqlite3.connect

    class Watched(sqlite3.Connection):
        def execute(self, *args):
            seen.append(threading.current_thread() is threading.main_thread())
            return super().execute(*args)

        def close(self):
            seen.append(threading.current_thread() is threading.main_thread())
            super().close()

    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: connect(*args, factory=Watched, **more))
    async with base(tmp_path, guide(), fields={"kind": {}}) as source:
        await ask(source, "token", kind="x")
        await source.metadata_fields()
    assert len(seen) > 20
    assert not any(seen)


@pytest.mark.covers("fault 76")
async def test_searches_at_once_do_not_mix(tmp_path):
    documents = [Document(f"d{n}", f"word{n} common", metadata={"n": n}) for n in range(50)]
    async with base(tmp_path, *documents, fields={"n": {"type": "integer"}}) as source:
        found = await asyncio.gather(*(ask(source, f"word{n} common", top_k=1, n=n) for n in range(50)))
        assert [[result.source_id for result in results] for results in found] == [[f"d{n}#0"] for n in range(50)]


@pytest.mark.covers("R5")
async def test_a_closed_source_says_so_and_closing_twice_is_harmless(tmp_path):
    async with base(tmp_path, guide()) as source:
        await ask(source, "token")
        await source.close()
        with pytest.raises(SourceUnavailable, match="closed"):
            await ask(source, "token")


@pytest.mark.covers("L6")
async def test_rare_seeds_keep_the_best_chunks_and_common_ones_fill_up(tmp_path, monkeypatch):
    documents = [Document(f"d{n}", f"common words here {'rare' if n < 3 else ''}") for n in range(300)]
    async with base(tmp_path, *documents) as source:
        everything = [result.source_id for result in await ask(source, "rare common words", top_k=200)]
        monkeypatch.setattr("groundgraph.search.rank.RANKED_TEXTS", 10)
        monkeypatch.setattr("groundgraph.search.rank.MIN_SEEDS", 1)
        assert [result.source_id for result in await ask(source, "rare common words", top_k=3)] == everything[:3]
        assert [result.source_id for result in await ask(source, "rare common words", top_k=200)] == everything
        only_rare = await ask(source, "rare common words", top_k=200, score_threshold=0.9)
        assert [result.source_id for result in only_rare] == everything[:3]


@pytest.mark.covers("L6")
async def test_the_text_index_is_searched_once_also_with_seeds_and_filters(tmp_path):
    await fill(tmp_path / "kb.sqlite", [Document(f"d{n}", "apple pear fig") for n in range(50)])
    connection = sqlite3.connect(tmp_path / "kb.sqlite")
    question = question_of(connection, "apple pear fig")
    selecting, values = statement(question, ["appl"], AllowedChunks("[1, 2]", "[]", 2), 10)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {selecting}", values)]
    connection.close()
    index = [line for line in plan if "SCAN text_stems" in line]
    assert len(index) == 2, "once for the question, once for the seeds"
    assert not any("=M" in line or ":=" in line for line in index), plan


@pytest.mark.covers("R5")
async def test_a_whole_base_of_one_chunk_each_finds_passages_by_title_and_text(tmp_path):
    passages = [
        Document("p1", "Forecasting Seasonality is regular."),
        Document("p2", "Cats Their coat is blue."),
    ]
    async with base(tmp_path, *passages, chunker=WholeTextChunker()) as source:
        assert [result.source_id for result in await ask(source, "forecast")] == ["p1#0"]


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
    assert schema is not None
    assert schema.fields["year"] == {"type": "integer"}
    assert schema.description == "Docs."


@pytest.mark.covers("R11")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pth": "x"}, r"sources\[0\]\.pth: .*Did you mean 'path'"),
        ({"fields": ["year"]}, r"sources\[0\]\.fields: must map"),
        ({"fields": {"year": {"type": "int"}}}, "field type 'int'"),
    ],
)
def test_a_bad_option_is_a_configuration_error_with_its_key(given, message):
    with pytest.raises(ConfigurationError, match=message):
        source_types.get("knowledge_base")(options(**given))

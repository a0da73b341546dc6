"""The embedded store: the writing side of a knowledge base (K1, K4, K10, decision 10)."""

from __future__ import annotations

import asyncio
import sqlite3
import threading

import pytest
from filled_base import fill, prepared

from groundgraph.core.document import MARKDOWN, Chunk, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import EmbeddingModelChanged, SourceUnavailable
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.sources.knowledge_base import EmbeddedStore, KnowledgeBaseSource
from groundgraph.testing import NgramEmbeddings

SMALL = Embedder(NgramEmbeddings(16), "ngram-16")
LARGE = Embedder(NgramEmbeddings(24), "ngram-24")


@pytest.fixture
async def store(tmp_path):
    store = EmbeddedStore(tmp_path / "kb.sqlite")
    yield store
    await store.close()


@pytest.mark.covers("K10")
async def test_a_matching_text_that_ends_with_its_chunk_is_not_stored_twice(tmp_path, store):
    await store.open(BaseIdentity())
    document = Document("d", "The whole chunk.", metadata={"title": "Guide"})

    def texts(chunk: Chunk) -> list[str]:
        return [chunk.text, f"Guide\n{chunk.text}", "What is it?"]

    assert await store.write([await prepared(document, texts=texts)]) == {}
    connection = sqlite3.connect(tmp_path / "kb.sqlite")
    rows = connection.execute("SELECT ends_with_chunk, text, stems FROM texts ORDER BY id").fetchall()
    connection.close()
    # The heading path counts as headings, and not as body too.
    assert rows == [(1, "", "whole chunk"), (1, "Guide\n", "whole chunk"), (0, "What is it?", "")]


@pytest.mark.covers("K1")
async def test_reading_without_a_base_says_so_and_removing_from_none_makes_none(tmp_path, store):
    with pytest.raises(SourceUnavailable, match="groundgraph ingest PATH"):
        await store.documents()
    assert await store.remove(["x"]) == 0
    assert not (tmp_path / "kb.sqlite").exists()


@pytest.mark.covers("K1")
async def test_no_call_of_the_store_runs_on_the_event_loop(store, monkeypatch):
    seen: list[bool] = []
    connect = sqlite3.connect

    class Watched(sqlite3.Connection):
        def execute(self, *args):
            seen.append(threading.current_thread() is threading.main_thread())
            return super().execute(*args)

    monkeypatch.setattr(sqlite3, "connect", lambda *args, **more: connect(*args, factory=Watched, **more))
    await store.open(BaseIdentity())
    await store.write([await prepared(Document("d", "text"))])
    await store.documents()
    await store.remove(["d"])
    assert len(seen) > 20
    assert not any(seen)


@pytest.mark.covers("fault 40")
async def test_vectors_of_another_model_or_size_are_refused_and_both_are_named(tmp_path, store):
    await store.open(BaseIdentity("ngram-16", 16))
    await store.write([await prepared(Document("d", "text"), embedder=SMALL)])
    for wanted in (BaseIdentity("ngram-24", 24), BaseIdentity("ngram-16", 24)):
        with pytest.raises(EmbeddingModelChanged) as refused:
            await EmbeddedStore(tmp_path / "kb.sqlite").open(wanted)
        assert "'ngram-16' (16 numbers)" in str(refused.value)
        assert f"'{wanted.embedding_model}' (24 numbers)" in str(refused.value)
        assert "groundgraph ingest --rebuild" in str(refused.value)
    with pytest.raises(EmbeddingModelChanged, match=r"now is 'ngram-16' \(24 numbers\)"):
        await store.write([await prepared(Document("e", "text"), embedder=LARGE)])
    with pytest.raises(EmbeddingModelChanged, match="no embedding model"):
        await store.write([await prepared(Document("e", "text"))])
    assert [row.name for row in await store.documents()] == ["d"]


@pytest.mark.covers("fault 40")
async def test_a_size_that_was_not_known_when_the_base_was_opened_holds_from_the_first_vectors_on(store):
    await store.open(BaseIdentity("ngram-16"))
    await store.write([await prepared(Document("d", "text"), embedder=SMALL)])
    await store.open(BaseIdentity("ngram-16"))
    with pytest.raises(EmbeddingModelChanged, match=r"\(16 numbers\)"):
        await store.open(BaseIdentity("ngram-16", 24))


async def test_a_base_without_vectors_takes_a_model_and_remembers_its_chains(tmp_path, store):
    await fill(tmp_path / "kb.sqlite", [Document("d", "text")])
    await store.open(BaseIdentity("ngram-16", 16, {"documents": "content"}))
    await store.write([await prepared(Document("e", "more"), embedder=SMALL)])
    await store.open(BaseIdentity(chains={"web_pages": "identity"}))
    connection = sqlite3.connect(tmp_path / "kb.sqlite")
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    connection.close()
    assert (meta["embedding_model"], meta["dimension"]) == ("ngram-16", "16")
    assert meta["chains"] == '{"documents": "content", "web_pages": "identity"}'


async def test_opening_again_and_removing_nothing_writes_nothing(tmp_path, store):
    identity = BaseIdentity("ngram-16", 16, {"documents": "content"})
    await store.open(identity)
    await store.write([await prepared(Document("d", "text"), embedder=SMALL)])
    await store.close()

    def pages() -> tuple[bytes, int]:
        connection = sqlite3.connect(tmp_path / "kb.sqlite")
        changes = connection.execute("SELECT changes FROM state").fetchone()[0]
        connection.close()
        return (tmp_path / "kb.sqlite").read_bytes(), changes

    before = pages()
    again = EmbeddedStore(tmp_path / "kb.sqlite")
    await again.open(identity)
    assert await again.stored(["d"])
    assert await again.remove(["nowhere"]) == 0
    assert await again.write([]) == {}
    await again.close()
    assert pages() == before


@pytest.mark.covers("fault 40")
async def test_rebuilding_lets_another_model_in_and_everything_stays_found_by_its_words(tmp_path, store):
    await fill(tmp_path / "kb.sqlite", [Document("d", "apples"), Document("e", "pears")], embedder=SMALL)
    await store.open(BaseIdentity("ngram-24", 24), rebuild=True)
    assert {row.hash for row in await store.documents()} == {""}
    await store.write([await prepared(Document("d", "apples"), embedder=LARGE)])
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite", embedder=LARGE)
    for question, expected in (("apples", "d#0"), ("pears", "e#0")):
        assert (await source.query(RetrievalIntent([question])))[0].source_id == expected
    await source.close()


@pytest.mark.parametrize("embedder", [None, SMALL])
async def test_a_reader_always_finds_one_version_while_a_document_is_replaced(tmp_path, embedder):
    path = tmp_path / "kb.sqlite"

    def version(number: int) -> Document:
        # So long that writing it takes a while: a moment between two versions would be seen.
        return Document("d", "\n\n".join([f"apple version{number}", *(f"filler word{n} " * 40 for n in range(150))]))

    others = [Document(f"other{n}", f"banana pear {n}") for n in range(20)]
    await fill(path, [version(0), *others], embedder=embedder)
    source = KnowledgeBaseSource(path, embedder=embedder)
    store = EmbeddedStore(path)
    seen: list[list[str]] = []
    done = asyncio.Event()

    async def read() -> None:
        while not done.is_set():
            found = await source.query(RetrievalIntent(["apple"]), top_k=3)
            seen.append([result.content.split()[1] for result in found if "apple" in result.content])
            await asyncio.sleep(0.001)

    async def replace() -> None:
        for number in range(1, 9):
            assert await store.write([await prepared(version(number), embedder=embedder)]) == {}
            reads = len(seen)
            while len(seen) < reads + 3:
                await asyncio.sleep(0.001)
        done.set()

    await asyncio.gather(read(), read(), replace())
    await source.close()
    await store.close()
    assert all(len(found) == 1 for found in seen), seen
    numbers = [int(found[0].removeprefix("version")) for found in seen]
    assert set(numbers) >= set(range(1, 9))


@pytest.mark.covers("F16", "fault 97")
@pytest.mark.parametrize(
    ("statement", "incomplete", "altered"),
    [
        ("DELETE FROM chunks WHERE document_id = 2 AND position = 1", ["d1"], []),
        ("DELETE FROM texts WHERE document_id = 2", ["d1"], []),
        (
            "INSERT INTO text_stems (text_stems, rowid, body, headings) "
            "SELECT 'delete', id, stems, heading_stems FROM texts WHERE document_id = 2",
            ["d1"],
            [],
        ),
        ("UPDATE chunks SET text = 'poisoned' WHERE document_id = 2 AND position = 0", [], ["d1"]),
        ("UPDATE documents SET text = replace(text, 'two', 'too') WHERE id = 2", [], ["d1"]),
        # What is both is named once.
        ("UPDATE documents SET text = replace(text, 'two', 'too'), chunks = 9 WHERE id = 2", ["d1"], []),
    ],
)  # fmt: skip
async def test_verify_names_and_takes_out_what_lost_chunks_or_was_overwritten(
    store, tmp_path, statement, incomplete, altered
):
    two = "# One\n\nText one.\n\n# Two\n\nText two."
    batch = [await prepared(Document(f"d{n}", two, MARKDOWN), embedder=SMALL) for n in range(3)]
    await store.open(BaseIdentity("ngram-16"))
    assert await store.write(batch) == {}
    assert (await store.verify()).taken_out == []
    connection = sqlite3.connect(tmp_path / "kb.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()
    found = await store.verify()
    assert (found.documents, found.incomplete, found.altered) == (3, incomplete, altered)
    assert sorted(await store.stored(["d0", "d1", "d2"])) == ["d0", "d2"]
    assert await store.write(batch) == {}
    assert (await store.verify()).taken_out == []


@pytest.mark.covers("F16", "fault 97")
async def test_verify_leaves_what_a_model_wrote_which_stands_in_no_text(store):
    def written(document: Document) -> list[Chunk]:
        return [Chunk(document, 0, 0, len(document.text), (), "What a model made of it.", derived=True)]

    await store.open(BaseIdentity())
    assert await store.write([await prepared(Document("d", "Text."), chunker=written)]) == {}
    found = await store.verify()
    assert (found.chunks, found.taken_out) == (1, [])

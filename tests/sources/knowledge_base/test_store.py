"""The embedded store: the writing side of a knowledge base (K1, K4, K10, decision 10)."""

from __future__ import annotations

import threading

import pytest
from asking import ask, opened
from filled_base import fill, prepared
from plant_database import change, rows_of, watched_threads

from groundgraph.core.document import MARKDOWN, Chunk, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import EmbeddingModelChanged, SourceUnavailable
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.sources.knowledge_base import EmbeddedStore, KnowledgeBaseSource
from groundgraph.testing import NgramEmbeddings

SMALL = Embedder(NgramEmbeddings(16), "ngram-16")
LARGE = Embedder(NgramEmbeddings(24), "ngram-24")


@pytest.fixture
async def store(tmp_path):
    return opened(EmbeddedStore(tmp_path / "kb.sqlite"))


@pytest.mark.covers("K10")
async def test_a_matching_text_that_ends_with_its_chunk_is_not_stored_twice(tmp_path, store):
    await store.open(BaseIdentity())
    document = Document("d", "The whole chunk.", metadata={"title": "Guide"})

    def texts(chunk: Chunk) -> list[str]:
        return [chunk.text, f"Guide\n{chunk.text}", "What is it?"]

    assert await store.write([await prepared(document, texts=texts)]) == {}
    rows = rows_of(tmp_path / "kb.sqlite", "SELECT ends_with_chunk, text, stems FROM texts ORDER BY id")
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
    seen = watched_threads(monkeypatch)
    await store.open(BaseIdentity())
    await store.write([await prepared(Document("d", "text"))])
    await store.documents()
    await store.remove(["d"])
    assert len(seen) > 20
    assert threading.main_thread() not in seen


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
    meta = dict(rows_of(tmp_path / "kb.sqlite", "SELECT name, value FROM meta"))
    assert (meta["embedding_model"], meta["dimension"]) == ("ngram-16", "16")
    assert meta["chains"] == '{"documents": "content", "web_pages": "identity"}'


async def test_opening_again_and_removing_nothing_writes_nothing(tmp_path, store):
    identity = BaseIdentity("ngram-16", 16, {"documents": "content"})
    await store.open(identity)
    await store.write([await prepared(Document("d", "text"), embedder=SMALL)])
    await store.close()

    def pages():
        return rows_of(tmp_path / "kb.sqlite", "SELECT changes FROM state"), (tmp_path / "kb.sqlite").read_bytes()

    before = pages()
    again = opened(EmbeddedStore(tmp_path / "kb.sqlite"))
    await again.open(identity)
    assert await again.stored(["d"])
    assert await again.remove(["nowhere"]) == 0
    assert await again.write([]) == {}
    assert pages() == before


@pytest.mark.covers("fault 40")
async def test_rebuilding_lets_another_model_in_and_everything_stays_found_by_its_words(tmp_path, store):
    await fill(tmp_path / "kb.sqlite", [Document("d", "apples"), Document("e", "pears")], embedder=SMALL)
    await store.open(BaseIdentity("ngram-24", 24), rebuild=True)
    assert {row.hash for row in await store.documents()} == {""}
    await store.write([await prepared(Document("d", "apples"), embedder=LARGE)])
    source = opened(KnowledgeBaseSource(tmp_path / "kb.sqlite", embedder=LARGE))
    for question, expected in (("apples", "d#0"), ("pears", "e#0")):
        assert (await ask(source, question))[0].source_id == expected


@pytest.mark.covers("F16", "fault 97")
@pytest.mark.parametrize(
    ("statement", "incomplete", "altered"),
    [
        ("DELETE FROM chunks WHERE document_id = 2 AND position = 1", ["d1"], []),
        ("DELETE FROM texts WHERE document_id = 2", ["d1"], []),
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
    change(tmp_path / "kb.sqlite", statement)
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

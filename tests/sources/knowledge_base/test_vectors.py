"""The vectors of a base in memory (R5, K10, L12)."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from asking import ask, opened
from filled_base import fill
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plant_database import change, rows_of

from groundgraph.core.document import Chunk, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument
from groundgraph.sources.knowledge_base import EmbeddedStore, KnowledgeBaseSource, vectors
from groundgraph.sources.knowledge_base.allowed_chunks import AllowedChunks
from groundgraph.sources.knowledge_base.document_rows import document_rows
from groundgraph.sources.knowledge_base.schema import Revision, open_for_reading, reading
from groundgraph.sources.knowledge_base.store import KnowledgeBaseWriter
from groundgraph.sources.knowledge_base.vectors import OutdatedSnapshot, VectorCache, Vectors
from groundgraph.testing import NgramEmbeddings

SIZE = 6


def unit(rng: np.random.Generator, rows: int) -> np.ndarray:
    made = rng.normal(size=(rows, SIZE)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def document(name: str, texts_of_chunks: list[int], rng: np.random.Generator) -> PreparedDocument:
    """A document with as many matching texts in its chunks as `texts_of_chunks` says."""
    whole = Document(name, "words " * len(texts_of_chunks))
    chunks = [
        PreparedChunk(Chunk(whole, n, 0, 5, (), "words"), ("words",) * texts, "", unit(rng, texts))
        for n, texts in enumerate(texts_of_chunks)
    ]
    return PreparedDocument(whole, chunks, "h")


def best_cosines(path: Path, query: np.ndarray) -> dict[int, float]:
    """What is near, worked out from the file row by row."""
    found: dict[int, float] = {}
    for number, blob in rows_of(path, "SELECT document_id, vectors FROM vectors"):
        rows = np.frombuffer(blob, dtype=np.float16).reshape(-1, SIZE).astype(np.float32)
        texts = rows_of(path, f"SELECT chunk_id FROM texts WHERE document_id = {number} ORDER BY id")
        assert len(texts) == len(rows)
        for (chunk,), row in zip(texts, rows, strict=True):
            found[chunk] = max(found.get(chunk, -2.0), float(row @ query))
    return found


def read(path: Path, cache: VectorCache, **how) -> Vectors:
    connection = open_for_reading(path)
    try:
        with reading(connection, path) as revision:
            return cache.at(connection, revision, SIZE, **how)
    finally:
        connection.close()


STEPS = st.lists(
    st.lists(st.tuples(st.sampled_from("abcde"), st.none() | st.lists(st.integers(1, 4), max_size=5)), max_size=4),
    min_size=1,
    max_size=6,
)


@pytest.mark.covers("K10")
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, seed=st.integers(0, 9), block=st.sampled_from([3, 8, 8192]))
def test_memory_holds_what_the_file_holds_whatever_is_written_and_removed(tmp_path_factory, steps, seed, block):
    path = tmp_path_factory.mktemp("kb") / "kb.sqlite"
    rng = np.random.default_rng(seed)
    writer, cache = KnowledgeBaseWriter(path), VectorCache()
    writer.settle(BaseIdentity("m", SIZE))
    query = unit(rng, 1)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "BLOCK_ROWS", block)
        for step in steps:
            writer.remove([name for name, shape in step if shape is None])
            writer.write([document_rows(document(name, shape, rng)) for name, shape in step if shape is not None])
            expected = best_cosines(path, query)
            nearness = read(path, cache).nearness(query, None)
            assert nearness.nearest(1000) == pytest.approx(expected, abs=1e-5)
            assert nearness.of([*expected, 10_000]) == pytest.approx(expected, abs=1e-5)
            assert nearness.average == pytest.approx(np.mean(list(expected.values())) if expected else 0.0, abs=1e-5)
            three = sorted(expected.values(), reverse=True)[:3]
            assert sorted(nearness.nearest(3).values(), reverse=True) == pytest.approx(three, abs=1e-5)
    writer.close()


def filled(path: Path, names: str = "abc") -> KnowledgeBaseWriter:
    writer, rng = KnowledgeBaseWriter(path), np.random.default_rng(1)
    writer.settle(BaseIdentity("m", SIZE))
    writer.write([document_rows(document(name, [1, 2], rng)) for name in names])
    return writer


@pytest.mark.covers("L12")
def test_only_new_documents_are_read_and_an_older_state_stays_as_it_was(tmp_path):
    path, cache, rng = tmp_path / "kb.sqlite", VectorCache(), np.random.default_rng(2)
    writer = filled(path, "abcdefgh")
    query = unit(rng, 1)[0]
    old = read(path, cache)
    before = old.nearness(query, None).nearest(100)
    assert read(path, cache) is old
    writer.write([document_rows(document("z", [1], rng))])
    writer.remove(["a"])
    new = read(path, cache)
    assert new.blocks[0] is old.blocks[0], "the vectors that were there are not read again"
    assert new.nearness(query, None).nearest(100) == pytest.approx(best_cosines(path, query), abs=1e-5)
    assert old.nearness(query, None).nearest(100) == before
    writer.close()


@pytest.mark.covers("L12")
def test_the_place_of_what_was_removed_is_given_back(tmp_path):
    path, cache = tmp_path / "kb.sqlite", VectorCache()
    writer = filled(path, "abcd")
    assert read(path, cache).rows == 12
    writer.remove(["a"])
    assert read(path, cache).rows == 12
    writer.remove(["b"])
    assert read(path, cache).rows == 6
    writer.close()


@pytest.mark.covers("R5")
def test_a_reader_behind_the_memory_begins_again_and_a_restored_file_is_read_anew(tmp_path):
    path, cache = tmp_path / "kb.sqlite", VectorCache()
    writer = filled(path)
    writer.tidy()
    writer.close()
    shutil.copy(path, tmp_path / "copy.sqlite")
    writer = KnowledgeBaseWriter(path)
    connection = open_for_reading(path)
    with reading(connection, path) as revision:
        writer.remove(["a"])
        assert len(read(path, cache).chunks[read(path, cache).there]) == 4
        with pytest.raises(OutdatedSnapshot):
            cache.at(connection, revision, SIZE)
    connection.close()
    writer.close()
    with pytest.raises(OutdatedSnapshot):
        read(tmp_path / "copy.sqlite", cache)
    assert read(tmp_path / "copy.sqlite", cache, from_scratch=True).there.sum() == 6


@pytest.mark.covers("R5")
async def test_a_source_over_a_restored_file_finds_what_that_holds(tmp_path):
    path, kept = tmp_path / "kb.sqlite", tmp_path / "kept.sqlite"
    embedder = Embedder(NgramEmbeddings(16), "m")
    await fill(path, [Document("a", "apple tree")], embedder=embedder)
    change(path, f"VACUUM INTO '{kept}'")
    source = opened(KnowledgeBaseSource(path, embedder=embedder))
    await fill(path, [Document("b", "banana tree")], embedder=embedder)
    await fill(path, [Document("a", "avocado")], embedder=embedder)
    assert (await ask(source, "apple", score_threshold=0.3)) == []
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    shutil.copy(kept, path)
    found = await ask(source, "apple", score_threshold=0.3)
    assert [result.source_id for result in found] == ["a#0"]


@pytest.mark.covers("K11")
def test_a_filter_leaves_out_documents_and_single_chunks(tmp_path):
    path, cache = tmp_path / "kb.sqlite", VectorCache()
    filled(path).close()
    loaded, query = read(path, cache), unit(np.random.default_rng(3), 1)[0]
    expected = best_cosines(path, query)
    nearness = loaded.nearness(query, AllowedChunks("[1]", "[4]", 5))
    assert nearness.nearest(100) == pytest.approx({chunk: expected[chunk] for chunk in (1, 2, 4)}, abs=1e-5)
    assert nearness.average == pytest.approx(np.mean([expected[chunk] for chunk in (1, 2, 4)]), abs=1e-5)
    others = loaded.nearness(query, AllowedChunks("[1]", "[4]", 4, listed=False))
    assert others.nearest(100) == pytest.approx({chunk: expected[chunk] for chunk in (3, 5, 6)}, abs=1e-5)
    assert loaded.nearness(query, AllowedChunks("[]", "[]", 0)).nearest(100) == {}


@pytest.mark.covers("R5")
def test_vectors_that_do_not_fit_the_matching_texts_are_reported(tmp_path):
    path = tmp_path / "kb.sqlite"
    filled(path).close()
    change(path, f"UPDATE vectors SET vectors = zeroblob({2 * SIZE}) WHERE document_id = 2")
    with pytest.raises(SourceUnavailable, match="damaged"):
        read(path, VectorCache())


@pytest.mark.covers("R5")
def test_another_base_is_read_from_the_beginning(tmp_path):
    cache = VectorCache()
    for number, names in enumerate(("abc", "ab")):
        filled(tmp_path / f"{number}.sqlite", names).close()
    assert read(tmp_path / "0.sqlite", cache).rows == 9
    assert read(tmp_path / "1.sqlite", cache).rows == 6
    assert Vectors(Revision("x", 1), SIZE).nearness(np.ones(SIZE, dtype=np.float32), None).nearest(5) == {}


@pytest.mark.covers("L12")
async def test_sixteen_bits_lose_less_than_a_thousandth_of_a_cosine(tmp_path):
    rng = np.random.default_rng(5)
    exact = unit(rng, 200)
    whole = Document("d", "x")
    chunks = [PreparedChunk(Chunk(whole, n, 0, 1, (), "x"), ("x",), "", exact[n : n + 1]) for n in range(200)]
    store = opened(EmbeddedStore(tmp_path / "kb.sqlite"))
    await store.open(BaseIdentity("m", SIZE))
    await store.write([PreparedDocument(whole, chunks, "h")])
    query = unit(rng, 1)[0]
    near = read(tmp_path / "kb.sqlite", VectorCache()).nearness(query, None)
    assert np.abs(near.cosines - exact @ query).max() < 0.001

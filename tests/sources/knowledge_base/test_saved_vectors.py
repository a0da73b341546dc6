"""The files that the vectors of a large base are mapped from: derived from SQLite, whatever happens to either."""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from asking import ask, opened
from filled_base import fill
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from killed_writers import SIZE, few_are, version
from near_texts import look_by_vectors
from plant_database import change, rows_of

from examples import examples
from groundgraph.core.document import Chunk, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.knowledge_store import BaseIdentity, PreparedChunk, PreparedDocument
from groundgraph.sources.knowledge_base import KnowledgeBaseSource, KnowledgeBaseWriter, vectors
from groundgraph.sources.knowledge_base.allowed_chunks import AllowedChunks
from groundgraph.sources.knowledge_base.document_rows import document_rows
from groundgraph.sources.knowledge_base.searcher import Searcher
from groundgraph.testing import NgramEmbeddings

pytestmark = pytest.mark.covers("R5")

FEW = 4


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    few_are(FEW, monkeypatch.setattr)


@pytest.fixture
def base(tmp_path) -> Path:
    """A base of eight documents whose vectors are in files."""
    path = tmp_path / "kb.sqlite"
    with closing(opened_writer(path)) as writer:
        writer.write([version(name, 0) for name in range(8)])
        writer.tidy()
    return path


def opened_writer(path: Path) -> KnowledgeBaseWriter:
    writer = KnowledgeBaseWriter(path, lock_timeout=60)
    writer.settle(BaseIdentity("m", SIZE))
    return writer


def folder_of(path: Path) -> Path:
    return Path(f"{path}-vectors")


def folders(path: Path) -> list[str]:
    return sorted(folder.name for folder in folder_of(path).iterdir())


def is_right(path: Path, searcher: Searcher | None = None) -> bool:
    """Whether a search finds each chunk as near as its text says; returns whether files were mapped for it."""
    if searcher is not None:
        return look_by_vectors(searcher)
    with closing(Searcher(path, 60, "docs")) as own:
        return look_by_vectors(own)


def put(folder: Path, name: str, change_: Callable[[bytes], bytes]) -> None:
    for file in folder.glob(f"*/{name}.npy"):
        held = file.read_bytes()
        # Another file in its place: what an open reader has mapped stays as it was.
        file.unlink()
        file.write_bytes(change_(held))


def cut(folder: Path, name: str) -> None:
    put(folder, name, lambda held: held[: len(held) // 2])


def array_of(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


DAMAGES = {
    "missing": shutil.rmtree,
    "empty": lambda folder: [file.unlink() for file in folder.glob("*/*")],
    "rows cut": lambda folder: cut(folder, "rows"),
    "signs cut": lambda folder: cut(folder, "signs"),
    "chunks cut": lambda folder: cut(folder, "chunks"),
    "rows of another size": lambda folder: put(folder, "rows", lambda _: array_of(np.zeros((8, 3), np.float32))),
    "fewer chunks": lambda folder: put(folder, "chunks", lambda _: array_of(np.arange(3))),
}


@pytest.mark.covers("fault 97")
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_written_again_by_readers_and_by_writers(base, damage):
    with closing(Searcher(base, 60, "docs")) as known:
        assert is_right(base, known)
        DAMAGES[damage](folder_of(base))
        assert is_right(base)
        assert is_right(base, known)
        DAMAGES[damage](folder_of(base))
        with closing(opened_writer(base)) as writer:
            writer.write([version(9, 1)])
            writer.tidy()
            assert len(folders(base)) == 1
        assert is_right(base)
        assert is_right(base, known)


def test_a_small_base_has_no_files_and_one_that_shrinks_loses_them(base):
    with closing(opened_writer(base)) as writer:
        writer.remove([f"d{name}" for name in range(5)])
    assert folders(base) == []
    assert not is_right(base)


def test_little_that_is_new_is_read_from_sqlite_and_much_has_the_files_written_anew(tmp_path):
    path = tmp_path / "kb.sqlite"
    with closing(opened_writer(path)) as writer, closing(Searcher(path, 60, "docs")) as searcher:
        writer.write([version(name, 0) for name in range(30)])
        writer.tidy()
        before = folders(path)
        assert is_right(path, searcher)
        writer.write([version(0, 1), version(40, 1)])
        writer.tidy()
        assert is_right(path, searcher)
        assert folders(path) == before
        writer.write([version(name, 2) for name in range(50, 60)])
        writer.tidy()
        assert len(folders(path)) == 1
        assert folders(path) != before
        assert is_right(path, searcher)


def test_what_was_removed_is_in_no_file(base):
    [(number,)] = rows_of(base, "SELECT id FROM documents WHERE name = 'd3'")
    [(gone,)] = rows_of(base, f"SELECT vectors FROM vectors WHERE document_id = {number}")
    kept = np.frombuffer(gone, np.float16).astype(np.float32).tobytes()
    assert any(kept in file.read_bytes() for file in folder_of(base).glob("*/rows.npy"))
    with closing(opened_writer(base)) as writer:
        writer.remove(["d3"])
    assert len(folders(base)) == 1
    assert not any(kept in file.read_bytes() for file in folder_of(base).glob("*/*"))
    assert number not in np.load(next(folder_of(base).glob("*/documents.npy")))
    assert is_right(base)


def test_a_base_that_was_put_back_does_not_believe_the_files_of_its_later_state(base, tmp_path):
    kept = tmp_path / "kept.sqlite"
    change(base, f"VACUUM INTO '{kept}'")
    with closing(opened_writer(base)) as writer:
        writer.write([version(name, 1) for name in range(20)])
        writer.tidy()
    for ending in ("", "-wal", "-shm"):
        Path(f"{base}{ending}").unlink(missing_ok=True)
    shutil.copy(kept, base)
    with closing(opened_writer(base)) as writer:
        writer.write([version(name, 2) for name in range(3, 6)])
        assert is_right(base)
        for _ in range(4):
            writer.write([version(9, 3)])
        assert is_right(base)
        writer.tidy()
    assert len(folders(base)) == 1
    assert is_right(base)


def test_a_copy_of_the_file_alone_and_a_base_from_before_write_their_own(base, tmp_path):
    copy = tmp_path / "copy.sqlite"
    change(base, f"VACUUM INTO '{copy}'")
    assert is_right(copy)
    assert folders(copy) != folders(base)
    change(copy, "DELETE FROM meta WHERE name = 'vectors_folder'")
    shutil.rmtree(folder_of(copy))
    assert is_right(copy)


@pytest.mark.covers("fault 48")
def test_what_a_killed_writer_left_is_deleted_and_nothing_else(base):
    (folder_of(base) / ("0" * 32)).mkdir()
    (folder_of(base) / ("0" * 32) / "rows.npy").write_text("half")
    (folder_of(base) / "mine").write_text("a note")
    with closing(opened_writer(base)) as writer:
        writer.tidy()
    assert len(folders(base)) == 2
    assert (folder_of(base) / "mine").read_text() == "a note"
    assert is_right(base)


@pytest.mark.covers("fault 90")
def test_on_a_full_disk_a_writer_says_so_and_a_reader_has_all_in_memory(base, monkeypatch, caplog):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with closing(opened_writer(base)) as writer:
        with pytest.raises(SourceUnavailable, match="Make room on the disk, or the folder writable"):
            writer.remove(["d3"])
        assert len(folders(base)) == 1, "what was begun is taken away"
        assert is_right(base)
        shutil.rmtree(folder_of(base))
        assert not is_right(base)
        assert caplog.text.count("they are read into memory") == 1
        monkeypatch.undo()
        few_are(FEW, monkeypatch.setattr)
        writer.remove(["d3"])
    assert is_right(base)


@pytest.mark.covers("fault 90")
def test_a_folder_that_nobody_may_write_has_its_vectors_in_memory(base, caplog):
    shutil.rmtree(folder_of(base))
    folder_of(base).write_text("no folder")
    with closing(Searcher(base, 60, "docs")) as searcher:
        assert not is_right(base, searcher)
        assert not is_right(base, searcher)
        assert caplog.text.count("they are read into memory") == 1


@pytest.mark.covers("K10")
async def test_another_embedding_model_leaves_no_file_of_the_old_one(tmp_path):
    path = tmp_path / "kb.sqlite"
    texts = [Document(word, f"{word} tree") for word in ("apple", "pear", "fig", "plum", "quince", "medlar")]
    old = Embedder(NgramEmbeddings(16), "old")
    await fill(path, texts, embedder=old)
    assert len(await ask(opened(KnowledgeBaseSource(path, embedder=old)), "apple", top_k=6)) == 6
    before = folders(path)
    with closing(KnowledgeBaseWriter(path)) as writer:
        writer.settle(BaseIdentity("new", 8), rebuild=True)
        writer.tidy()
    assert before
    assert folders(path) == []
    new = Embedder(NgramEmbeddings(8), "new")
    await fill(path, texts, embedder=new)
    found = await ask(opened(KnowledgeBaseSource(path, embedder=new)), "apple tree", top_k=6)
    assert found[0].source_id == "apple#0"
    assert folders(path) != before


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(st.integers(0, 20), min_size=1, max_size=8)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 20), min_size=1, max_size=3)),
        st.tuples(st.sampled_from(["tidy", "lose", "ask"]), st.just([])),
    ),
    max_size=12,
)


@pytest.mark.guard
@settings(
    deadline=None, max_examples=examples(25, quick=10), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS)
def test_an_open_reader_finds_what_the_base_holds_whatever_happens(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("kb") / "kb.sqlite"
    with closing(opened_writer(path)) as writer, closing(Searcher(path, 60, "docs")) as searcher:
        writer.write([version(30, 0)])
        for number, (step, names) in enumerate(steps):
            if step == "write":
                writer.write([version(name, number) for name in set(names)])
            elif step == "remove":
                writer.remove([f"d{name}" for name in names])
            elif step == "tidy":
                writer.tidy()
            elif step == "lose":
                shutil.rmtree(folder_of(path), ignore_errors=True)
            else:
                is_right(path, searcher)
        is_right(path, searcher)
        is_right(path)


def clustered(rng: np.random.Generator, rows: int, size: int) -> np.ndarray:
    made = rng.normal(size=(20, size))[rng.integers(20, size=rows)] + rng.normal(size=(rows, size))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.covers("K10", "K11")
@pytest.mark.parametrize("size", [64, 100])
@pytest.mark.parametrize("texts", [1, 2])
def test_the_nearest_by_signs_are_the_nearest_and_their_cosines_exact(tmp_path, monkeypatch, size, texts):
    monkeypatch.setattr(vectors, "COMPARED", 800)
    monkeypatch.setattr(vectors, "BLOCK_ROWS", 700)
    path, rng = tmp_path / "kb.sqlite", np.random.default_rng(size)
    held = clustered(rng, 3000 * texts, size).astype(np.float16).astype(np.float32)
    documents = []
    for first in range(0, 3000, 10):
        whole = Document(f"d{first}", "x" * 10)
        chunks = [
            PreparedChunk(Chunk(whole, n, n, n + 1, (), "x"), ("x",) * texts, "",
                          held[(first + n) * texts : (first + n + 1) * texts])
            for n in range(10)
        ]  # fmt: skip
        documents.append(document_rows(PreparedDocument(whole, chunks, "h")))
    with closing(KnowledgeBaseWriter(path)) as writer:
        writer.settle(BaseIdentity("m", size))
        writer.write(documents[:201])
        writer.tidy()
        writer.write(documents[201:])
    found, wanted = 0, 0
    with closing(Searcher(path, 60, "docs")) as searcher:
        for query in clustered(rng, 30, size):
            exact = (held @ query).reshape(-1, texts).max(axis=1)

            def look(_: object, __: object, loaded: vectors.Vectors, query=query, exact=exact) -> None:
                nonlocal found, wanted
                assert loaded.saved is not None
                assert len(loaded.blocks) > 0
                few = [*range(20), 499]
                for allowed, kept in (
                    (None, np.arange(3000)),
                    (AllowedChunks("[1, 2]", "[500]", 21 * texts), np.array(few)),
                    (AllowedChunks("[1, 2]", "[500]", 2979 * texts, listed=False), np.setdiff1d(np.arange(3000), few)),
                ):
                    near = loaded.nearness(query, allowed)
                    nearest = near.nearest(10)
                    assert nearest == pytest.approx({chunk: exact[chunk - 1] for chunk in nearest}, abs=1e-5)
                    assert list(nearest.values()) == sorted(nearest.values(), reverse=True)
                    assert {chunk - 1 for chunk in nearest} <= set(kept.tolist())
                    best = kept[np.argsort(-exact[kept])[:10]] + 1
                    found, wanted = found + len(set(best.tolist()) & nearest.keys()), wanted + 10
                    told = near.of(range(1, 3001))
                    assert sorted(told) == (kept + 1).tolist()
                    assert np.allclose([told[n + 1] for n in kept.tolist()], exact[kept], rtol=0, atol=1e-5)
                    assert near.average == pytest.approx(exact[kept].mean(), abs=0.02)

            searcher.read_vectors("m", look)
    assert found / wanted > 0.95

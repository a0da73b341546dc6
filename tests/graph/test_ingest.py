"""Taking documents in (K1)."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from filled_base import check_counts, folder_of
from held_file import held_file
from langchain_core.embeddings import Embeddings

from groundgraph.core.document import DOCUMENTS, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import StorageLocked
from groundgraph.core.intent import RetrievalIntent
from groundgraph.graph.ingest import counting, ingest_documents, ingest_graph, run_ingest
from groundgraph.ingest.builtin_chains import ingest_chains
from groundgraph.ingest.chunkers import HeadingChunker, WholeTextChunker
from groundgraph.settings.load_settings import load_settings
from groundgraph.settings.settings import Settings
from groundgraph.sources.knowledge_base import KnowledgeBaseSource

pytestmark = pytest.mark.covers("K1")


async def ingest_paths(path, paths, *, base_dir, on_progress=None, **given):
    """An ingest as a configuration in `base_dir` describes it."""
    settings = load_settings({"knowledge_base": {"file": str(path)}}).model_copy(update={"base_dir": base_dir})
    graph = ingest_graph(settings)
    listener = counting(on_progress) if on_progress else None
    return await run_ingest(graph, {"paths": paths, **given}, on_event=listener)


def cut_by(chunker):
    return replace(ingest_chains(Settings(), DOCUMENTS), chunker=chunker)


async def found(path: Path, question: str) -> list[str]:
    source = KnowledgeBaseSource(path)
    try:
        return [result.source_id for result in await source.query(RetrievalIntent([question]))]
    finally:
        await source.close()


def tables(path: Path) -> list[list[tuple]]:
    connection = sqlite3.connect(path)
    try:
        return [
            connection.execute(statement).fetchall()
            for statement in (
                "SELECT name, hash, chunks, text FROM documents ORDER BY name",
                "SELECT name, position, start, end, chunks.text FROM chunks "
                "JOIN documents ON documents.id = document_id ORDER BY name, position",
                "SELECT * FROM terms ORDER BY term",
                "SELECT chunks, stems FROM state",
            )
        ]
    finally:
        connection.close()


async def test_a_folder_is_taken_in_and_found_and_the_report_has_exactly_its_keys(tmp_path):
    folder_of(tmp_path, a="# Alpha\n\nApples.\n\n# Beta\n\nBananas.", b="# Gamma\n\nGrapes.")
    (tmp_path / "docs" / "c.pages").write_bytes(b"?")
    (tmp_path / "docs" / "d.png").write_bytes(b"")
    calls: list[tuple] = []
    report = await ingest_paths(
        tmp_path / "kb.sqlite", ["docs"], base_dir=tmp_path, on_progress=lambda *call: calls.append(call)
    )
    [failed] = report.failed
    assert failed["document"] == "docs/c.pages"
    assert report.to_dict() == {
        **{"documents": 2, "chunks": 3, "written": 2, "unchanged": 0, "deleted": 0},
        **{"failed": [failed], "warnings": [], "skipped": [], "seconds": round(report.seconds, 3)},
    }
    assert calls == [(1, 3, "docs/c.pages"), (2, 3, "docs/a.md"), (3, 3, "docs/b.md")]
    assert report.ignored == {".png": 1}
    assert await found(tmp_path / "kb.sqlite", "bananas") == ["docs/a.md#1"]


@pytest.mark.covers("fault 50")
async def test_ingesting_again_writes_nothing(tmp_path):
    folder_of(tmp_path, a="# Alpha\n\nApples.", b="Bananas.")
    kb = tmp_path / "kb.sqlite"
    first = await ingest_paths(kb, ["docs"], base_dir=tmp_path)
    connection = sqlite3.connect(kb)
    before = connection.execute("SELECT changes FROM state").fetchone(), tables(kb)
    again = await ingest_paths(kb, ["docs"], base_dir=tmp_path)
    assert (again.written, again.unchanged, again.documents, again.chunks) == (0, 2, 2, first.chunks)
    assert (connection.execute("SELECT changes FROM state").fetchone(), tables(kb)) == before
    connection.close()


@pytest.mark.covers("fault 54")
async def test_changed_and_deleted_documents_leave_no_stale_chunks(tmp_path):
    folder = folder_of(tmp_path, a="# Alpha\n\nApples.\n\n# Beta\n\nBananas.", b="Cherries.", c="Dates.")
    kb = tmp_path / "kb.sqlite"
    await ingest_paths(kb, ["docs"], base_dir=tmp_path)
    folder_of(tmp_path, a="# Alpha\n\nOnly elderberries.")
    (folder / "b.md").unlink()
    report = await ingest_paths(kb, ["docs"], base_dir=tmp_path)
    assert (report.written, report.unchanged, report.deleted) == (1, 1, 1)
    for gone in ("apples", "bananas", "cherries"):
        assert await found(kb, gone) == []
    assert await found(kb, "elderberries") == ["docs/a.md#0"]
    await ingest_paths(tmp_path / "fresh.sqlite", ["docs"], base_dir=tmp_path)
    assert tables(kb) == tables(tmp_path / "fresh.sqlite")


async def test_only_files_of_the_given_folder_are_taken_out(tmp_path):
    folder_of(tmp_path, a="Apples.")
    kb = tmp_path / "kb.sqlite"
    await ingest_documents(kb, [Document("docs/api.md", "From Python.")])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.md").write_text("Xylophones.")
    await ingest_paths(kb, ["docs", "other"], base_dir=tmp_path)
    (tmp_path / "other" / "x.md").unlink()
    (tmp_path / "docs" / "a.md").unlink()
    report = await ingest_paths(kb, ["docs"], base_dir=tmp_path)
    assert report.deleted == 1
    assert await found(kb, "xylophones") == ["other/x.md#0"]
    assert await found(kb, "Python") == ["docs/api.md#0"]


async def test_a_file_that_became_empty_or_unreadable(tmp_path):
    folder_of(tmp_path, a="Apples.", b="Bananas.")
    kb = tmp_path / "kb.sqlite"
    await ingest_paths(kb, ["docs"], base_dir=tmp_path)
    folder_of(tmp_path, a=" \n", b=bytes(range(128, 256)) * 9)
    report = await ingest_paths(kb, ["docs"], base_dir=tmp_path)
    assert [entry["reason"] for entry in report.failed] == ["it holds no text", "it is not UTF-8 text"]
    assert await found(kb, "apples") == []
    assert await found(kb, "bananas") == ["docs/b.md#0"]
    assert report.deleted == 1


class BrokenChunker(HeadingChunker):
    def __call__(self, document):
        if document.name == "d500":
            raise RuntimeError("cannot cut this")
        return super().__call__(document)


@pytest.mark.covers("fault 48")
@pytest.mark.parametrize("bad", ["chunker", "surrogate"])
async def test_one_bad_document_is_reported_and_the_rest_is_kept(tmp_path, bad):
    texts = {f"d{n}": f"Document number{n}." for n in range(1000)}
    if bad == "surrogate":
        texts["d500"] = "half a pair \ud800"
    documents = (Document(name, text) for name, text in texts.items())
    chains = cut_by(BrokenChunker() if bad == "chunker" else HeadingChunker())
    report = await ingest_documents(tmp_path / "kb.sqlite", documents, chains=chains)
    assert (report.documents, report.written) == (999, 999)
    [failed] = report.failed
    assert failed["document"] == "d500"
    assert tables(tmp_path / "kb.sqlite")[3][0][0] == 999


@pytest.mark.covers("fault 49")
async def test_an_ingest_cut_short_goes_on_and_ends_with_the_same_base(tmp_path):
    documents = [Document(f"d{n}", f"Document number{n}.") for n in range(700)]
    kb = tmp_path / "kb.sqlite"

    def stop(done, total, name):
        if done == 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await ingest_documents(kb, documents, on_progress=stop)
    report = await ingest_documents(kb, documents)
    assert report.unchanged >= 256
    assert report.written == 700 - report.unchanged
    await ingest_documents(tmp_path / "fresh.sqlite", documents)
    assert tables(kb) == tables(tmp_path / "fresh.sqlite")


async def test_an_ingest_that_is_cancelled_keeps_what_it_wrote(tmp_path):
    documents = [Document(f"d{n}", f"Document number{n}.") for n in range(3000)]
    begun = asyncio.Event()
    kb = tmp_path / "kb.sqlite"
    task = asyncio.create_task(ingest_documents(kb, documents, on_progress=lambda *_: begun.set()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    report = await ingest_documents(kb, documents)
    assert 0 < report.unchanged < 3000
    assert report.documents == 3000


async def test_an_ingest_cancelled_at_once_leaves_nothing_open(tmp_path):
    task = asyncio.create_task(ingest_documents(tmp_path / "kb.sqlite", [Document("d", "text")]))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await ingest_documents(tmp_path / "kb.sqlite", [Document("d", "text")])).documents == 1


async def test_a_changed_chunk_size_or_chunker_cuts_an_unchanged_document_again(tmp_path):
    kb = tmp_path / "kb.sqlite"
    document = Document("d", "One sentence here. " * 50)
    assert (await ingest_documents(kb, [document])).chunks == 2
    assert (await ingest_documents(kb, [document], chains=cut_by(HeadingChunker(200)))).written == 1
    report = await ingest_documents(kb, [document], chains=cut_by(WholeTextChunker()))
    assert (report.written, report.chunks, tables(kb)[3][0][0]) == (1, 1, 1)


@pytest.mark.covers("fault 45")
async def test_a_base_locked_too_long_is_a_typed_error_without_damage(tmp_path):
    kb = tmp_path / "kb.sqlite"
    await ingest_documents(kb, [Document("d", "Old apples.")])
    started = time.monotonic()
    with held_file(kb):
        with pytest.raises(StorageLocked, match=r"kb\.sqlite.*more than 0\.2 s"):
            await ingest_documents(kb, [Document("d", "New bananas.")], lock_timeout=0.2)
        assert time.monotonic() - started < 60
        assert await found(kb, "apples") == ["d#0"]
    check_counts(kb)
    assert (await ingest_documents(kb, [Document("d", "New bananas.")])).written == 1
    assert await found(kb, "apples") == []


async def test_repairs_are_reported_beside_the_failures(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"A longer text with a NUL \0 in it.")
    report = await ingest_paths(tmp_path / "kb.sqlite", ["a.txt"], base_dir=tmp_path)
    assert report.failed == []
    assert report.warnings == [{"document": "a.txt", "reason": "1 NUL characters were replaced"}]


@pytest.mark.covers("fault 54")
async def test_documents_that_are_gone_are_missed_by_whichever_way_the_folder_is_reached(tmp_path):
    folder_of(tmp_path / "real", a="Apples.", b="Bananas.")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    kb = tmp_path / "kb.sqlite"
    first = await ingest_paths(kb, [tmp_path / "link" / "docs"], base_dir=tmp_path / "real")
    (tmp_path / "real" / "docs" / "b.md").unlink()
    second = await ingest_paths(kb, [tmp_path / "real" / "docs"], base_dir=tmp_path / "link")
    assert (first.written, second.written, second.unchanged, second.deleted) == (2, 0, 1, 1)


class Faulty(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        raise KeyError("vector")

    embed_documents = embed_query


async def test_an_embedding_model_with_an_error_in_its_own_code_is_logged_with_one_traceback(tmp_path, caplog):
    documents = [Document(str(n), f"Text {n}.") for n in range(600)]
    report = await ingest_documents(tmp_path / "kb.sqlite", documents, embedder=Embedder(Faulty(), "faulty"))
    assert len(report.failed) == 600
    assert caplog.text.count("Traceback") == 1
    assert "failed by the same error in its own code: KeyError" in caplog.text


async def test_a_document_in_whose_place_a_later_batch_puts_another_counts_once(tmp_path):
    path, apart = tmp_path / "kb.sqlite", [Document(str(n), f"Text {n}.") for n in range(300)]
    again = Document("0", "A longer text. " * 200)

    def counts(report):
        return report.documents, report.written, report.unchanged, report.chunks

    first = counts(await ingest_documents(path, [*apart, again]))
    assert first[:3] == (300, 300, 0)
    with closing(sqlite3.connect(path)) as base:
        assert [first[3]] == [*base.execute("SELECT chunks FROM state").fetchone()]
    # What is written over and then written again as it was is written; what was there both times is not.
    assert counts(await ingest_documents(path, [*apart, again])) == (300, 1, 299, first[3])
    assert counts(await ingest_documents(path, [again, *apart[1:], again])) == (300, 0, 300, first[3])
    dry = {"documents": [*apart, apart[0]], "dry_run": True}
    foretold = await ingest_paths(path, [], base_dir=tmp_path, **dry)
    assert (foretold.documents, foretold.written, foretold.changed) == (300, 1, ["0"])

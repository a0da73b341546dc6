"""Queries through the retrieval graph, and the knowledge base that is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundgraph import load_settings
from groundgraph.core.errors import IngestError
from groundgraph.evals import corpus_base as module
from groundgraph.evals.corpus_base import corpus_base
from groundgraph.evals.dataset import Corpus, DatasetFiles, Query, load_dataset
from groundgraph.evals.run_queries import GIVE_UP_AFTER, EvaluationFailed, evaluation_settings, run_queries
from groundgraph.ingest.ingest_report import IngestReport


def corpus(folder: Path, name: str, rows: list[dict[str, str]]) -> Corpus:
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    return load_dataset(DatasetFiles(folder, (f"{name}={name}.jsonl",), qrels=None)).corpora[0]


def ask(text: str) -> Query:
    return Query("q", (("user", text),))


async def test_a_document_ranks_by_its_best_chunk_over_all_sources(tmp_path):
    notes = corpus(
        tmp_path,
        "notes",
        [
            {"_id": "n1", "parent": "d1", "text": "zebra zebra zebra"},
            {"_id": "n2", "parent": "d1", "text": "zebra crossing road sign"},
            {"_id": "n3", "parent": "d2", "text": "zebra among many other animals of the wide savannah"},
        ],
    )
    tables = corpus(tmp_path, "tables", [{"_id": "d2", "text": "zebra"}, {"_id": "d3", "text": "lion"}])
    bases = {one.name: await corpus_base(one, tmp_path / "bases") for one in (notes, tables)}
    settings = evaluation_settings(load_settings({}), bases, as_configured=False)
    done: list[tuple[int, int]] = []
    found = await run_queries(settings, [notes, tables], [ask("zebra"), ask("nothing")], lambda *at: done.append(at))
    assert [one.documents for one in found] == [("d1", "d2"), ()]
    assert found[0].answerable > 0.5 > found[1].answerable == 0.0
    assert [len(one.relevances) for one in found] == [2, 0]
    assert found[0].relevances[0] == 1.0
    assert done == [(1, 2), (2, 2)]
    assert found[0].failures == ()


async def test_a_base_is_made_once_per_content(tmp_path):
    first = await corpus_base(corpus(tmp_path, "c", [{"_id": "a", "text": "one"}]), tmp_path / "bases")
    written = first.stat().st_mtime_ns
    assert await corpus_base(corpus(tmp_path, "c", [{"_id": "a", "text": "one"}]), tmp_path / "bases") == first
    assert first.stat().st_mtime_ns == written
    assert await corpus_base(corpus(tmp_path, "c", [{"_id": "a", "text": "two"}]), tmp_path / "bases") != first


async def test_a_failed_ingest_leaves_nothing_behind(tmp_path, monkeypatch):
    async def failing(*_, **__) -> IngestReport:
        return IngestReport(failed=[{"document": "a", "reason": "no reason"}])

    monkeypatch.setattr(module, "ingest_documents", failing)
    with pytest.raises(IngestError, match="passage 'a' cannot be taken in: no reason"):
        await corpus_base(corpus(tmp_path, "c", [{"_id": "a", "text": "one"}]), tmp_path / "bases")
    assert list((tmp_path / "bases").iterdir()) == []


async def test_a_source_that_cannot_be_searched_is_a_failure_and_no_empty_result(tmp_path):
    only = corpus(tmp_path, "c", [{"_id": "a", "text": "one"}])
    settings = evaluation_settings(load_settings({}), {"c": tmp_path / "gone.sqlite"}, as_configured=False)
    with pytest.raises(EvaluationFailed, match=r"nothing was measured\. Query 'q': c: "):
        await run_queries(settings, [only], [ask("one")])
    done: list[tuple[int, int]] = []
    with pytest.raises(EvaluationFailed):
        await run_queries(settings, [only], [ask("one")] * 30, lambda *at: done.append(at))
    assert len(done) == GIVE_UP_AFTER - 1


def test_the_settings_of_an_evaluation():
    configured = load_settings(
        {
            "retrieval": {"top_k": 7, "score_threshold": 0.2, "merge": "relative_score"},
            "intent": {"default_filters": {"kb": {"document": "x"}}},
            "sources": [{"type": "knowledge_base", "name": "kb", "weight": 3, "timeout": 4, "path": "x.sqlite"}],
        }
    )
    measured = evaluation_settings(configured, {"kb": Path("base.sqlite"), "other": Path("o")}, as_configured=False)
    assert (measured.retrieval.top_k, measured.retrieval.score_threshold) == (50, 0.0)
    assert measured.retrieval.merge == "relative_score"
    assert measured.intent.default_filters == {}
    assert [(entry.name, entry.weight, entry.timeout) for entry in measured.sources] == [
        ("kb", 3, 4),
        ("other", 1, None),
    ]
    assert measured.sources[0].options == {"path": str(Path("base.sqlite").absolute())}
    kept = evaluation_settings(configured, {"knowledge_base": Path("base.sqlite")}, as_configured=True)
    assert (kept.retrieval.top_k, kept.retrieval.score_threshold, kept.sources[0].weight) == (7, 0.2, 3)

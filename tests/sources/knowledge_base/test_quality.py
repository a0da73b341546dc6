"""Retrieval quality of the lexical search on the public data sets (R5, L14)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import ir_measures
from ir_measures import nDCG

from groundgraph.chains.chunk_whole_text import WholeTextChunker
from groundgraph.core.document import Document
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.graph.ingest import ingest_documents
from groundgraph.sources.knowledge_base import KnowledgeBaseSource

DEFAULT_THRESHOLD = 0.3


@dataclass(frozen=True)
class Measured:
    """nDCG@10, and the share of relevant passages among the first ten that the default threshold keeps."""

    ndcg: float
    kept: float


def rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def judgements(file: Path) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for line in file.read_text("utf-8").splitlines()[1:]:
        query, document, gain = line.split("\t")
        judged.setdefault(query, {})[document] = int(gain)
    return judged


async def ranked(
    path: Path, folder: Path, corpus: str, queries: str, judged: set[str]
) -> AsyncIterator[tuple[str, list[SourceResult]]]:
    passages = (Document(row["_id"], f"{row['title']} {row['text']}") for row in rows(folder / f"{corpus}.jsonl"))
    await ingest_documents(path, passages, chunker=WholeTextChunker())
    source = KnowledgeBaseSource(path)
    for row in rows(folder / f"{queries}.jsonl"):
        if row["_id"] in judged:
            yield row["_id"], await source.query(RetrievalIntent([row["text"]]), top_k=50)
    await source.close()


async def measured(
    path: Path, folder: Path, corpus: str = "corpus", qrels: str = "qrels", queries: str = "queries"
) -> Measured:
    judged = judgements(folder / f"{qrels}.tsv")
    run: dict[str, dict[str, float]] = {}
    relevant: list[float] = []
    async for query, results in ranked(path, folder, corpus, queries, set(judged)):
        run[query] = {result.metadata["document"]: -float(rank) for rank, result in enumerate(results)}
        relevant += [r.relevance for r in results[:10] if judged[query].get(r.metadata["document"], 0) > 0]
    ndcg = ir_measures.calc_aggregate([nDCG @ 10], judged, run)[nDCG @ 10]
    return Measured(ndcg, sum(relevance >= DEFAULT_THRESHOLD for relevance in relevant) / len(relevant))


async def test_r5_clapnq_passages_reach_their_figure_and_the_default_threshold_keeps_them(tmp_path, data):
    found = await measured(tmp_path / "kb.sqlite", data / "clapnq")
    print(found)
    assert found.ndcg >= 0.950
    assert found.kept >= 0.97


async def test_r5_xquad_en_sentences_reach_their_figure(tmp_path, data):
    found = await measured(tmp_path / "kb.sqlite", data / "xquad_en", "corpus_sentences", "qrels_sentences")
    print(found)
    assert found.ndcg >= 0.840


async def test_r5_the_default_threshold_keeps_the_xquad_en_paragraphs(tmp_path, data):
    found = await measured(tmp_path / "kb.sqlite", data / "xquad_en")
    print(found)
    assert found.kept >= 0.97


async def test_r5_the_default_threshold_keeps_the_mtrag_passages_for_human_rewrites(tmp_path, data):
    found = await measured(tmp_path / "kb.sqlite", data / "mtrag_pool", queries="queries_rewrite")
    print(found)
    assert found.kept >= 0.97


async def test_r5_xquad_ru_sentences_reach_their_figure(tmp_path, data):
    found = await measured(tmp_path / "kb.sqlite", data / "xquad_ru", "corpus_sentences", "qrels_sentences")
    print(found)
    assert found.ndcg >= 0.812


async def test_r5_xquad_ru_paragraphs_reach_their_figure(tmp_path, data):
    found = await measured(tmp_path / "kb.sqlite", data / "xquad_ru")
    print(found)
    assert found.ndcg >= 0.953

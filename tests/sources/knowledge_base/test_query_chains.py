"""The query chains inside the source (K4, K6, K7)."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from asking import ask, ids, opened
from filled_base import fill
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.runnables import RunnableLambda

from groundgraph.core.chain import IDENTITY, QueryChains
from groundgraph.core.document import Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.failure import collect_degradations
from groundgraph.ingest.builtin_chains import KeepEverything, VerbatimQuery
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.testing import NgramEmbeddings

FRUIT = [Document(f"d{n}", f"apple {'pear ' * (n % 4)}number{n}") for n in range(12)]


@asynccontextmanager
async def base(tmp_path: Path, chains: QueryChains = IDENTITY, documents=FRUIT, embedder=None):
    await fill(tmp_path / "kb.sqlite", documents, embedder=embedder)
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite", query_chains=chains, embedder=embedder)
    try:
        yield source
    finally:
        await source.close()


def last_first(query, candidates):
    """Judges the n-th document as n / 12."""
    return [int(result.metadata["document"][1:]) / 12 for result in candidates]


@pytest.mark.covers("K6")
async def test_the_transformer_changes_what_is_searched_and_the_reranker_sees_the_question_itself(tmp_path):
    seen = []

    async def reranker(query, candidates):
        seen.append(query)
        return [0.9] * len(candidates)

    chains = QueryChains(transformer=lambda query: query.replace("orange", "number3"), reranker=reranker)
    async with base(tmp_path, chains) as source:
        assert ids(await ask(source, "orange")) == ["d3#0"]
    assert seen == ["orange"]


@pytest.mark.covers("K6")
async def test_the_reranker_gives_order_and_relevance_and_sees_no_more_than_its_candidates(tmp_path):
    sizes = []

    def reranker(query, candidates):
        sizes.append(len(candidates))
        return last_first(query, candidates)

    async with base(tmp_path, QueryChains(reranker=reranker, candidates_count=8)) as source:
        raw = ids(await ask(source, "apple pear", top_k=8, raw={"chains": "identity"}))
        found = await ask(source, "apple pear", top_k=3)
    by_number = sorted(raw, key=lambda name: -int(name[1:-2]))
    assert ids(found) == by_number[:3]
    assert sizes == [8]
    numbers = [int(result.metadata["document"][1:]) / 12 for result in found]
    assert [result.relevance for result in found] == [result.scores["rerank"] for result in found] == numbers


@pytest.mark.covers("K6")
async def test_the_filter_runs_before_the_cut_and_keep_bounds_it(tmp_path):
    def even(query, matches):
        return [int(match.result.metadata["document"][1:]) % 2 == 0 for match in matches]

    async with base(tmp_path, QueryChains(filter=even, candidates_count=12)) as source:
        found = ids(await ask(source, "apple", top_k=6))
        assert sorted(found) == sorted(f"d{n}#0" for n in range(0, 12, 2))
    async with base(tmp_path, QueryChains(filter=even, keep=2)) as source:
        assert len(await ask(source, "apple", top_k=6)) == 2


@pytest.mark.covers("R10")
async def test_with_a_reranker_the_threshold_is_about_what_that_says(tmp_path):
    async with base(tmp_path, QueryChains(reranker=last_first, candidates_count=12)) as source:
        found = await ask(source, "apple zebra giraffe okapi", top_k=12, score_threshold=0.7)
        assert ids(found) == ["d11#0", "d10#0", "d9#0"]
        assert await ask(source, "apple", top_k=12, score_threshold=0.95) == []


@pytest.mark.covers("fault 39")
@pytest.mark.parametrize(
    ("chains", "part", "reason"),
    [
        (QueryChains(transformer=lambda query: 1 / 0), "transformer", "division by zero"),
        (QueryChains(transformer=lambda query: 5), "transformer", "int instead of a text"),
        (QueryChains(reranker=lambda query, candidates: [1 / 0]), "reranker", "division by zero"),
        (QueryChains(reranker=lambda query, candidates: [0.5]), "reranker", "1 scores for"),
        (QueryChains(reranker=lambda query, candidates: [float("nan")] * len(candidates)), "reranker", "no number"),
        (QueryChains(filter=lambda query, matches: [1 / 0]), "filter", "division by zero"),
        (QueryChains(filter=lambda query, matches: []), "filter", "0 verdicts for"),
    ],
)
async def test_a_chain_that_fails_leaves_the_plain_result_and_is_told(tmp_path, chains, part, reason):
    async with base(tmp_path, chains) as source:
        with collect_degradations() as told:
            found = await ask(source, "apple pear")
        assert found == await ask(source, "apple pear", raw={"chains": "identity"})
    assert [entry["part"] for entry in told] == [part]
    assert reason in told[0]["reason"]


@pytest.mark.covers("fault 39")
async def test_nothing_found_costs_no_reranking(tmp_path):
    def never(query, candidates):
        raise AssertionError("called for nothing")

    async with base(tmp_path, QueryChains(reranker=never, filter=never)) as source:
        with collect_degradations() as told:
            assert await ask(source, "zebra") == []
    assert told == []


@pytest.mark.covers("K6")
async def test_an_empty_transformed_query_leaves_the_query_as_it_was(tmp_path):
    async with base(tmp_path, QueryChains(transformer=lambda query: "  ")) as source:
        assert ids(await ask(source, "number7")) == ["d7#0"]


@pytest.mark.covers("K3")
async def test_a_langchain_runnable_can_be_a_query_transformer(tmp_path):
    chains = QueryChains(transformer=lambda query: RunnableLambda(lambda text: f"{text} number5").ainvoke(query))
    async with base(tmp_path, chains) as source:
        assert ids(await ask(source, "nothing", top_k=1)) == ["d5#0"]


@pytest.mark.covers("K7")
async def test_matches_drops_nothing_and_marks_what_the_filter_would_drop(tmp_path):
    def best(query, matches):
        return [match.rerank_score >= 0.5 for match in matches]

    chains = QueryChains(reranker=last_first, filter=best, candidates_count=12)
    async with base(tmp_path, chains) as source:
        matches = await source.matches("apple", top_k=12)
        assert [match.kept for match in matches] == [True] * 6 + [False] * 6
        assert [match.rerank_score for match in matches] == [n / 12 for n in range(11, -1, -1)]
        assert all(match.match_score == pytest.approx(1.0) for match in matches)
        assert len(await source.matches("apple", top_k=4)) == 4
        plain = await source.matches("apple", top_k=12, chains=IDENTITY)
        assert [(match.rerank_score, match.kept) for match in plain] == [(None, True)] * 12
        assert [match.result for match in plain] == await ask(source, "apple", top_k=12, raw={"chains": "identity"})
        only = await source.matches("apple", top_k=12, filters={"document": "d4"})
        assert ids([match.result for match in only]) == ["d4#0"]


@pytest.mark.covers("K6")
async def test_the_match_score_is_the_cosine_where_there_are_vectors(tmp_path):
    embedder = Embedder(NgramEmbeddings(), "ngram")
    async with base(tmp_path, embedder=embedder) as source:
        [match] = await source.matches("apple number3", top_k=1)
    question, [text] = await embedder.embed_query("apple number3"), await embedder.embed_texts([match.result.content])
    assert match.match_score == pytest.approx(float(question @ text), abs=1e-3)


@pytest.mark.covers("R5")
async def test_several_questions_are_each_judged_by_themselves(tmp_path):
    def asked(query, candidates):
        return [1.0 if query in result.content else 0.1 for result in candidates]

    async with base(tmp_path, QueryChains(reranker=asked)) as source:
        found = await ask(source, "number1", "number2", score_threshold=0.5)
        assert ids(found)[:2] == ["d1#0", "d2#0"]


WORDS = st.lists(st.sampled_from(["apple", "pear", "fig", "the", "plum", "kiwi"]), min_size=1, max_size=8).map(" ".join)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(WORDS, min_size=1, max_size=8), question=WORDS, top_k=st.integers(1, 9), vectors=st.booleans())
async def test_all_identity_chains_return_exactly_what_the_raw_store_returns(
    tmp_path_factory, texts, question, top_k, vectors
):
    embedder = Embedder(NgramEmbeddings(32), "ngram") if vectors else None
    documents = [Document(f"d{n}", text) for n, text in enumerate(texts)]
    tmp_path = tmp_path_factory.mktemp("kb")
    verbatim = QueryChains(transformer=VerbatimQuery(), filter=KeepEverything(), candidates_count=top_k)

    def half(query, candidates):
        return [0.0 for _ in candidates]

    judged = QueryChains(reranker=half, filter=lambda query, matches: [False] * len(matches))
    async with base(tmp_path, documents=documents, embedder=embedder) as raw:
        expected = await ask(raw, question, top_k=top_k)
        for chains in (verbatim, judged):
            source = opened(KnowledgeBaseSource(tmp_path / "kb.sqlite", query_chains=chains, embedder=embedder))
            how = {"raw": {"chains": "identity"}} if chains is judged else {}
            assert await ask(source, question, top_k=top_k, **how) == expected

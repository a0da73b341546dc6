"""The chains that do nothing pass everything through (K4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.chain import IDENTITY, Match
from groundgraph.core.document import Chunk, Document
from groundgraph.core.evidence import SourceResult
from groundgraph.ingest.builtin_chains import (
    ContentAsMatchingText,
    ContentAsQualifyingText,
    CutoffFilter,
    IdentityReranker,
    KeepEverything,
    VerbatimQuery,
    ingest_chains,
    query_chains,
)
from groundgraph.resilience.blocking import call_chain
from groundgraph.settings.load_settings import load_settings

pytestmark = pytest.mark.covers("K4")

TEXTS = st.text(max_size=200)
SCORES = st.floats(0, 1)
EVERYWHERE = {
    "documents": {"chunker": "identity", "matching_text": "identity", "qualifying_text": "identity"},
    "query": {"transformer": "identity", "reranker": "identity", "filter": "identity"},
}

CHAINS = ingest_chains(load_settings({"chains": EVERYWHERE}), "documents")


def result(text: str) -> SourceResult:
    return SourceResult(text, "1", "kb", "knowledge_base")


@given(TEXTS)
async def test_a_whole_text_is_one_chunk_its_own_matching_and_qualifying_text(text):
    chains = CHAINS
    document = Document("d", text)
    chunks = await call_chain(chains.chunker, document)
    assert [chunk.text for chunk in chunks] == ([text.strip()] if text.strip() else [])
    qualifying = await call_chain(chains.qualifying_text, document, chunks)
    assert qualifying == [chunk.text for chunk in chunks]
    for chunk, about in zip(chunks, qualifying, strict=True):
        assert await call_chain(chains.matching_texts, chunk, about) == [chunk.text]
    assert not chains.matching_texts.generated


@given(TEXTS, st.lists(st.tuples(TEXTS, SCORES), max_size=5))
async def test_query_order_and_matches_pass_through(query, found):
    matches = [Match(result(text), score) for text, score in found]
    assert await VerbatimQuery()(query) == query
    assert await IdentityReranker()(query, [match.result for match in matches]) == [1.0] * len(matches)
    assert await KeepEverything()(query, matches) == [True] * len(matches)


def test_identity_query_chains_are_nothing_at_all():
    settings = load_settings({"chains": {"query": {**EVERYWHERE["query"], "candidates_count": 30}}})
    assert query_chains(settings) == IDENTITY


def test_the_signatures_do_not_change_from_run_to_run():
    document = Document("d", "x")
    assert ContentAsMatchingText().signature == ContentAsMatchingText().signature == "identity 1"
    assert ContentAsQualifyingText().signature == "identity 1"
    assert Chunk(document, 0, 0, 1, (), "x").text == "x"


RESULT = SourceResult("text", "1", "kb", "knowledge_base")


@pytest.mark.covers("K6")
@given(st.lists(st.tuples(SCORES, st.none() | SCORES), max_size=8), SCORES, SCORES)
async def test_what_scores_below_a_cutoff_is_dropped_and_nothing_else(scores, match_cutoff, rerank_cutoff):
    matches = [Match(RESULT, match, rerank) for match, rerank in scores]
    kept = await CutoffFilter(match_cutoff, rerank_cutoff)("q", matches)
    assert kept == [
        not (match < match_cutoff or (rerank is not None and rerank < rerank_cutoff)) for match, rerank in scores
    ]


@pytest.mark.covers("K6")
async def test_both_cutoffs_are_a_half_by_default_and_a_half_stays():
    matches = [Match(RESULT, 0.5, 0.5), Match(RESULT, 0.49, 1.0), Match(RESULT, 1.0, 0.49), Match(RESULT, 0.5)]
    assert await CutoffFilter()("q", matches) == [True, False, False, True]

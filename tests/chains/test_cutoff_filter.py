"""The filter of match and rerank scores (K6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.chain import Match
from groundgraph.core.evidence import SourceResult
from groundgraph.ingest.builtin_chains import CutoffFilter

SCORES = st.floats(0, 1)
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

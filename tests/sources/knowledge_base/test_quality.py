"""Retrieval quality on the public data sets, by words and with the stored vectors of a real model (R5, L14)."""

from __future__ import annotations

import pytest

from benchmarks.public_sets.search_ways import Searched, search_set
from benchmarks.public_sets.sets import HYBRID, LAST_TURN, LEXICAL, PUBLIC_SETS, REWRITE, REWRITTEN, PublicSet
from benchmarks.public_sets.table import retrieval_rows, threshold_row
from groundgraph.evals.measures import retrieval_values

SETS = {one.title: one for one in PUBLIC_SETS}
LEAST_KEPT = 0.97
# One in so many questions is asked with its rewrite by a model, each of which must find what the rewrite itself finds.
FEW = 5


@pytest.fixture(scope="module")
def search(data, bases):
    """Searches a set in each way, once for all that is looked at."""
    known: dict[str, Searched] = {}

    async def search(wanted: PublicSet) -> Searched:
        if wanted.title not in known:
            each = FEW if wanted is REWRITTEN else 1
            known[wanted.title] = await search_set(wanted, data, data / "vectors", bases, lambda _: None, each=each)
        return known[wanted.title]

    return search


# Searched in the long tier; the sentences of xquad_en, clapnq and mtrag_pool in the slow one.
LONG = ("xquad_ru paragraphs", "xquad_ru sentences", "xquad_en paragraphs")


@pytest.mark.covers("R5")
@pytest.mark.parametrize(
    ("title", "least", "kept"),
    [
        pytest.param(title, *wanted, marks=pytest.mark.long if title in LONG else pytest.mark.slow)
        for title, *wanted in (
            ("clapnq", {}, (LEXICAL, HYBRID)),
            ("xquad_ru sentences", {}, ()),
            ("xquad_ru paragraphs", {}, ()),
            ("xquad_en sentences", {}, (HYBRID,)),
            ("xquad_en paragraphs", {}, (LEXICAL,)),
            ("mtrag_pool rewrite", {HYBRID: 0.6}, (LEXICAL, HYBRID)),
            ("mtrag_pool last turn", {HYBRID: 0.6}, (HYBRID,)),
        )
    ],
)
async def test_each_way_reaches_its_figure_words_and_vectors_together_fall_behind_neither(search, title, least, kept):
    wanted = SETS[title]
    searched = await search(wanted)
    found = {way: figure.value for way, figure in retrieval_rows(wanted, searched)[0].figures.items()}
    shares = {way: figure.value for way, figure in threshold_row(wanted, searched).figures.items()}
    print(found, shares)
    assert {way: value for way, value in {**wanted.reach, **least}.items() if found.get(way, 1) < value} == {}
    assert found.get(HYBRID, 1) >= max(found.values()) - 0.01
    assert min((shares[way] for way in kept), default=1) >= LEAST_KEPT


@pytest.mark.slow
@pytest.mark.covers("L14")
async def test_a_given_rewrite_gives_the_figure_of_the_rewrite_and_no_model_costs_nothing(search):
    async def figures(wanted: PublicSet) -> dict[str, dict[str, float]]:
        searched = await search(wanted)
        found = {way: {one.query: one.documents for one in answered} for way, answered in searched.found.items()}
        judged = {query: gains for query, gains in searched.dataset.judged.items() if query in found[LEXICAL]}
        return {way: retrieval_values(judged, own)["nDCG@5"] for way, own in found.items()}

    rewritten, rewrite, last_turn = await figures(REWRITTEN), await figures(REWRITE), await figures(LAST_TURN)
    assert set(rewritten) == set(rewrite) >= {LEXICAL, HYBRID}
    for way, values in rewritten.items():
        assert len(values) > 30
        assert values == pytest.approx({query: rewrite[way][query] for query in values}, abs=0.001), way
    assert sum(rewrite[LEXICAL].values()) > sum(last_turn[LEXICAL].values())

"""Retrieval quality on the public data sets, by words and with the stored vectors of a real model (R5, L14)."""

from __future__ import annotations

import pytest

from benchmarks.public_sets.search_ways import search_set
from benchmarks.public_sets.sets import HYBRID, LEXICAL, PUBLIC_SETS
from benchmarks.public_sets.table import retrieval_rows, threshold_row

SETS = {one.title: one for one in PUBLIC_SETS}
LEAST_KEPT = 0.97


@pytest.mark.covers("R5")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "least", "kept"),
    [
        ("clapnq", {}, (LEXICAL, HYBRID)),
        ("xquad_ru sentences", {}, ()),
        ("xquad_ru paragraphs", {}, ()),
        ("xquad_en sentences", {}, (HYBRID,)),
        ("xquad_en paragraphs", {}, (LEXICAL,)),
        ("mtrag_pool rewrite", {HYBRID: 0.6}, (LEXICAL, HYBRID)),
        ("mtrag_pool last turn", {HYBRID: 0.6}, (HYBRID,)),
    ],
)
async def test_each_way_reaches_its_figure_words_and_vectors_together_fall_behind_neither(
    bases, data, title, least, kept
):
    wanted = SETS[title]
    searched = await search_set(wanted, data, data / "vectors", bases, lambda _: None)
    found = {way: figure.value for way, figure in retrieval_rows(wanted, searched)[0].figures.items()}
    shares = {way: figure.value for way, figure in threshold_row(wanted, searched).figures.items()}
    print(found, shares)
    assert {way: value for way, value in {**wanted.reach, **least}.items() if found.get(way, 1) < value} == {}
    assert found.get(HYBRID, 1) >= max(found.values()) - 0.01
    assert min((shares[way] for way in kept), default=1) >= LEAST_KEPT

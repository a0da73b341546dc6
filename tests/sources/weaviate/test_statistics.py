"""What is read from Weaviate's explanation of a score."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace

import pytest

from groundgraph.sources.weaviate.statistics import _best

pytestmark = pytest.mark.covers("R4")

PARTS = ["BM25F_pump_frequency:2", "BM25F_pump_propLength:10"]


@pytest.mark.parametrize("parts", list(permutations(PARTS)))
def test_the_parts_of_an_explanation_are_read_in_any_order(parts: tuple[str, ...]) -> None:
    best = _best(SimpleNamespace(score=0.5, explain_score="".join(f", {part}" for part in parts)))
    assert (best.score, best.frequency, best.length) == (0.5, 2.0, 10.0)


@pytest.mark.parametrize("explanation", [None, "", f", {PARTS[0]}", f", {PARTS[1]}"])
def test_an_explanation_that_lacks_a_part_says_nothing(explanation: str | None) -> None:
    assert _best(SimpleNamespace(score=0.5, explain_score=explanation)) is None

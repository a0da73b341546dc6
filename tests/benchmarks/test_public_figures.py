"""Refusal and cited sentences on the public sets (limits L14)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.public_sets.__main__ import main

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clapnq(data: Path, bases: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, float]]:
    """Per measure the figures on clapnq by words alone."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("clapnq")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        arguments = ["--vectors", str(folder), "--bases", str(bases), "--only", "clapnq", "--json"]
        assert main([str(data), *arguments]) == 0
    rows = json.loads(printed.getvalue())["rows"]
    return {row["measure"]: {name: one["value"] for name, one in row["figures"].items()} for row in rows}


@pytest.mark.covers("L14")
def test_cited_sentences_reach_their_figures(clapnq):
    assert clapnq["cited sentences: precision"]["product"] >= 0.85
    assert clapnq["cited sentences: recall"]["product"] >= 0.86


@pytest.mark.covers("S7")
def test_quotes_hold_more_of_what_answers_than_the_sentences_that_share_most_words(clapnq):
    figures = clapnq["quotes for the question alone: recall"]
    assert figures["product"] > figures["baseline"]


@pytest.mark.covers("L14")
def test_words_alone_tell_answerable_questions_from_others(clapnq):
    assert clapnq["AUC of support.answerable"]["lexical"] >= 0.81


def test_few_questions_with_an_answer_are_refused_by_default(clapnq):
    [refused] = [figures for measure, figures in clapnq.items() if measure.startswith("share of questions refused")]
    assert refused["lexical, answerable"] <= 0.06
    assert refused["lexical, unanswerable"] > 5 * refused["lexical, answerable"]

"""The stages of a cascade and the cascade on the public sets (C1, limits L14)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.public_sets.cascade import CASCADE, StagesFound, main, measure_stages
from benchmarks.public_sets.sets import LEXICAL, PUBLIC_SETS

pytestmark = pytest.mark.covers("L14")

BY_TITLE = {one.title: one for one in PUBLIC_SETS}
NEVER_MORE_BELOW = 0.005


@pytest.mark.slow
@pytest.mark.parametrize("title", ["xquad_ru sentences", "xquad_ru paragraphs"])
async def test_the_cascade_reaches_its_figure_in_russian_and_is_never_below_its_best_stage(
    data: Path, tmp_path: Path, title: str
) -> None:
    found = await measure_stages(BY_TITLE[title], data, tmp_path)
    values = found.values[CASCADE]
    assert len(values) == 595
    assert sum(values.values()) / len(values) >= BY_TITLE[title].reach[LEXICAL]
    assert found.below_best() <= NEVER_MORE_BELOW


@pytest.mark.slow
async def test_with_vectors_the_cascade_is_better_than_its_best_stage(data: Path, tmp_path: Path) -> None:
    found = await measure_stages(BY_TITLE["xquad_en sentences"], data, tmp_path, vectors=data / "vectors")
    assert set(found.values) == {"lemma", "semantic", CASCADE}
    assert found.below_best() < 0


@pytest.mark.slow
@pytest.mark.parametrize("title", ["xquad_ru sentences", "xquad_ru paragraphs"])
async def test_dictionaries_are_no_worse_than_stems(data: Path, tmp_path: Path, title: str) -> None:
    found = await measure_stages(BY_TITLE[title], data, tmp_path, lemmatizer="dictionary")
    values = found.values[CASCADE]
    assert sum(values.values()) / len(values) >= BY_TITLE[title].reach[LEXICAL]


def test_the_report_says_which_stage_is_best_and_how_sure_the_difference_is() -> None:
    found = StagesFound(
        "a set",
        {
            "lemma": {f"q{n}": 0.5 for n in range(20)},
            "semantic": {f"q{n}": 0.4 for n in range(20)},
            CASCADE: {f"q{n}": 0.5 + (0.1 if n % 2 else -0.1) for n in range(20)},
        },
    )
    assert found.best == "lemma"
    assert found.below_best() == pytest.approx(0)
    shown = found.row(0.6).to_dict()
    assert {name: figure["value"] for name, figure in shown["figures"].items()} == {
        "lemma": 0.5,
        "semantic": 0.4,
        CASCADE: 0.5,
    }
    assert shown["reach"] == {CASCADE: 0.6}
    assert "no difference shown" in shown["remarks"][0]


def test_sets_that_are_missing_are_told_by_the_exit_code(tmp_path: Path, capsys) -> None:
    assert main([str(tmp_path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == []

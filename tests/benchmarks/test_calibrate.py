"""The fit of the curve behind `support.answerable`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.public_sets.calibrate import cross_validated_area, fitted, main


def drawn(slopes: list[float], start: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    features = random.uniform(0, 1, (n, len(slopes)))
    chance = 1 / (1 + np.exp(-(features @ slopes + start)))
    return features, random.uniform(0, 1, n) < chance


@pytest.mark.parametrize(("slopes", "start"), [([8.0], -4.0), ([4.0, 9.0], -6.0)])
def test_the_curve_that_made_the_labels_is_found_again(slopes, start):
    curve = fitted(*drawn(slopes, start, 20_000))
    assert curve == pytest.approx([*slopes, start], rel=0.1)


def test_at_even_odds_as_many_questions_are_answerable_as_not():
    features, labels = drawn([8.0], -4.0, 20_000)
    curve = fitted(features, labels)
    chance = 1 / (1 + np.exp(-(features @ curve[:-1] + curve[-1])))
    near = abs(chance - 0.5) < 0.1
    assert labels[near].mean() == pytest.approx(0.5, abs=0.05)


def test_features_that_say_nothing_have_a_cross_validated_area_of_chance():
    random = np.random.default_rng(3)
    labels = random.uniform(0, 1, 4000) < 0.5
    assert cross_validated_area(random.uniform(0, 1, (4000, 3)), labels) == pytest.approx(0.5, abs=0.1)


def test_the_command_prints_the_constants(tmp_path: Path, capsys):
    passages = [{"_id": str(n), "text": f"Token number{n} expires after {n} hours of use{n}."} for n in range(12)]
    asked = [{"_id": f"a{n}", "text": f"token number{n} use{n}", "label": "ANSWERABLE"} for n in range(12)]
    asked += [{"_id": f"u{n}", "text": f"token penguin{n} sea{n}", "label": "UNANSWERABLE"} for n in range(12)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in passages))
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    assert main([str(tmp_path), "--bases", str(tmp_path / "bases")]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("words: words ")
    assert "AUC 1.000; of the fitted curve, cross-validated 1.000" in printed
    assert main([str(tmp_path / "gone")]) == 2
    assert "there is no folder" in capsys.readouterr().err

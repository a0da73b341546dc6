"""The fit of the curve behind `support.answerable`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.public_sets.calibrate import fitted, main


def drawn(slopes: list[float], start: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    features = random.uniform(0, 1, (n, len(slopes)))
    chance = 1 / (1 + np.exp(-(features @ slopes + start)))
    return features, random.uniform(0, 1, n) < chance


@pytest.mark.parametrize(("slopes", "start"), [([8.0], -4.0), ([4.0, 9.0], -6.0)])
def test_the_curve_that_made_the_labels_is_found_again(slopes, start):
    curve = fitted(*drawn(slopes, start, 20_000), np.ones(20_000))
    assert curve == pytest.approx([*slopes, start], rel=0.1)


def test_at_even_odds_as_many_questions_are_answerable_as_not():
    features, labels = drawn([8.0], -4.0, 20_000)
    curve = fitted(features, labels, np.ones(len(labels)))
    chance = 1 / (1 + np.exp(-(features @ curve[:-1] + curve[-1])))
    near = abs(chance - 0.5) < 0.1
    assert labels[near].mean() == pytest.approx(0.5, abs=0.05)


def test_a_question_counts_by_its_weight():
    features, labels = drawn([8.0], -4.0, 20_000)
    once = fitted(features, labels, np.where(labels, 1.0, 0.0) + np.where(labels, 0.0, 2.0))
    twice = fitted(
        np.concatenate([features, features[~labels]]),
        np.concatenate([labels, labels[~labels]]),
        np.ones(len(labels) + (~labels).sum()),
    )
    assert once == pytest.approx(twice, rel=1e-3)


def test_the_command_tells_how_each_set_fares_by_the_curve_of_the_others(tmp_path: Path, capsys):
    for folder, files in SETS.items():
        (tmp_path / folder).mkdir()
        for corpus, queries, qrels in files:
            passages = [
                {"_id": f"p{n}", "text": f"The {folder} token number{n} expires after {n} hours of use{n}."}
                for n in range(12)
            ]
            asked = [{"_id": f"a{n}", "text": f"{folder} token number{n} use{n}"} for n in range(12)]
            write(tmp_path / folder / corpus, passages)
            write(tmp_path / folder / queries, asked)
            lines = ["query-id\tcorpus-id\tscore", *(f"a{n}\tp{n}\t1" for n in range(12))]
            (tmp_path / folder / qrels).write_text("\n".join(lines) + "\n")
    assert main([str(tmp_path), "--bases", str(tmp_path / "bases")]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("slope of the words, start: ")
    for title in ("clapnq", "xquad_en paragraphs", "xquad_en sentences", "mtrag_pool rewrite"):
        assert f"{title}, passage taken away (12): insufficient 1.000, without a doubt 0.000; AUC 1.000" in printed
    assert "xquad_ru paragraphs, answerable (12): insufficient 0.000, without a doubt 1.000" in printed
    assert main([str(tmp_path / "gone")]) == 2
    assert "there is no folder" in capsys.readouterr().err


SETS = {
    "clapnq": [("corpus.jsonl", "queries.jsonl", "qrels.tsv")],
    "xquad_en": [
        ("corpus.jsonl", "queries.jsonl", "qrels.tsv"),
        ("corpus_sentences.jsonl", "queries.jsonl", "qrels_sentences.tsv"),
    ],
    "mtrag_pool": [("corpus.jsonl", "queries_rewrite.jsonl", "qrels.tsv")],
    "xquad_ru": [("corpus.jsonl", "queries.jsonl", "qrels.tsv")],
}


def write(file: Path, rows: list[dict[str, str]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

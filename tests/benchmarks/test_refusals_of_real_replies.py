"""Answers of real models, none of which cites: which of them say only what their passages lack."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from groundgraph.answers.gated_model import Written
from groundgraph.answers.write_answer import outcome_of


@pytest.mark.covers("S9")
def test_no_answer_to_what_can_be_answered_is_taken_for_a_refusal(data: Any) -> None:
    rows = [json.loads(row) for row in (data / "mtrag_faithfulness" / "answers.jsonl").read_text("utf-8").splitlines()]
    asked, refused, faithful = Counter[str](), Counter[str](), 0
    for row in rows:
        asked[row["answerability"]] += 1
        written = Written(row["answer"], len(row["answer"]))
        if outcome_of(written, "stop", must_cite=True) == "insufficient":
            refused[row["answerability"]] += 1
            faithful += row["answerability"] != "UNANSWERABLE" and row["faithfulness"] >= 3.6
    print(f"taken for a refusal: {dict(refused)} of {dict(asked)}; of faithful answers: {faithful}")
    assert refused["ANSWERABLE"] == faithful == 0
    assert refused["UNANSWERABLE"] >= 7

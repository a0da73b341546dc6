"""Replies of real models, which have no labels, pass the gate; labels as models write them are understood in them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from groundgraph.answers.label_gate import LabelGate

# Each as the form of the label n.
FORMS = [
    "[{n}]",
    "[Source {n}]",
    "[passage {n}]",
    "[^{n}]",
    "[{n}, p. 3]",
    "【{n}†source】",
    "【{n}†L3】",
    "[doc{n}]",
    "({n})",
]
_END = re.compile(r"(?<=[a-z])(?=[.!?](?:\s|$))")


@pytest.fixture(scope="module")
def replies(data: Any) -> list[str]:
    rows = (data / "mtrag_faithfulness" / "answers.jsonl").read_text("utf-8").splitlines()
    return [json.loads(row)["answer"] for row in rows]


def gated(text: str, size: int, allowed: int = 9) -> tuple[str, LabelGate]:
    gate = LabelGate(range(1, allowed + 1), parentheses=True)
    passed = "".join(gate.feed(text[start : start + size]) for start in range(0, len(text), size))
    return passed + gate.feed("", final=True), gate


@pytest.mark.parametrize("size", [3, 10_000])
def test_no_label_is_found_where_none_is_and_nothing_changes(replies: list[str], size: int) -> None:
    assert len(replies) > 200
    changed = []
    for text in replies:
        passed, gate = gated(text, size)
        if passed != text or gate.removed or gate.used:
            changed.append((text, passed, gate.removed, gate.used))
    assert not changed, changed[:2]


@pytest.mark.parametrize("form", FORMS)
def test_planted_labels_are_understood_and_nothing_else_changes(replies: list[str], form: str) -> None:
    planted = understood = 0
    for text in replies:
        ends = [found.start() for found in _END.finditer(text)][:9]
        if not ends:
            continue
        given, expected, last = "", "", 0
        for number, end in enumerate(ends, 1):
            given += text[last:end] + " " + form.format(n=number)
            expected += text[last:end] + f" [{number}]"
            last = end
        planted += 1
        understood += gated(given + text[last:], 5)[0] == expected + text[last:]
    print(f"{form}: {understood} of {planted} replies")
    assert understood >= 0.99 * planted > 200

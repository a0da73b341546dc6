"""Sets of conversations: what may stand in them, and what is measured by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from groundgraph.core.errors import ConfigurationError
from groundgraph.evals.report import compare
from groundgraph.evals.run_conversations import Expected, Heard, load_conversations, outcome_evaluation

TURN: dict[str, Any] = {"ask": "When?", "outcome": "answered"}


def written(folder: Path, *rows: Any) -> Path:
    file = folder / "conversations.jsonl"
    file.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), "utf-8")
    return file


def test_a_line_is_a_conversation_with_what_each_message_must_get(tmp_path: Path) -> None:
    turn = {**TURN, "says": ["90 days"], "lacks": ["91"], "from": "pumps.md", "doubt": False}
    row = {"_id": "a", "tags": ["plain"], "context": {"sources": ["docs"]}, "turns": [turn, TURN]}
    [found] = load_conversations(written(tmp_path, row))
    assert (found.id, found.tags, found.context.sources) == ("a", ("plain",), ["docs"])
    whole = Expected("When?", "answered", ("90 days",), ("91",), "pumps.md", doubt=False)
    assert found.turns == (whole, Expected("When?", "answered"))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("nonsense", "this is no JSON"),
        ({"_id": "b", "turns": []}, "'turns' must be a list such as"),
        ({"turns": [TURN]}, "'_id' must be a text"),
        ({"_id": "a", "turns": [TURN]}, "the _id 'a' stands in line 1 already; give this one another"),
        ({"_id": "b", "turn": [TURN]}, "a conversation has no key 'turn'; known: _id, tags, context, turns"),
        ({"_id": "b", "tags": "plain", "turns": [TURN]}, "'tags' must be a list of texts"),
        ({"_id": "b", "context": {"source": ["x"]}, "turns": [TURN]}, "'context': The context of this run cannot"),
        (
            {"_id": "b", "turns": [{**TURN, "outcome": "right"}]},
            "must be one of answered, insufficient, clarify",
        ),
        ({"_id": "b", "turns": [{**TURN, "ask": " "}]}, "'ask' is empty; write the message there"),
        ({"_id": "b", "turns": [{**TURN, "say": ["x"]}]}, "a turn has no key 'say'; known: ask, outcome, says"),
        ({"_id": "b", "turns": [{**TURN, "doubt": "no"}]}, "'doubt' must be true where"),
    ],
)
def test_a_bad_line_is_told_with_its_place_and_what_must_stand_there(tmp_path: Path, row: Any, told: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load_conversations(written(tmp_path, {"_id": "a", "turns": [TURN]}, row))
    [problem] = raised.value.problems
    assert (Path(problem.file).name, problem.line) == ("conversations.jsonl", 2)
    assert told in problem.message


def test_a_missing_or_empty_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="one conversation a line, or name another with --queries"):
        load_conversations(tmp_path / "none.jsonl")
    with pytest.raises(ConfigurationError, match="holds no conversation"):
        load_conversations(written(tmp_path))


def heard(conversation: str, number: int, outcome: str = "answered", *faults: str) -> Heard:
    return Heard(conversation, number, Expected("When?", "answered"), outcome, "Then.", faults)


def test_a_conversation_counts_as_one_with_the_share_of_its_messages(tmp_path: Path) -> None:
    rows = [
        {"_id": "a", "tags": ["plain"], "turns": [TURN, TURN]},
        {"_id": "b", "tags": ["plain", "german"], "turns": [TURN]},
    ]
    conversations = load_conversations(written(tmp_path, *rows))
    given = [heard("a", 1), heard("a", 2, "insufficient", "insufficient, not answered"), heard("b", 1, "answered", "x")]
    found = outcome_evaluation("set", conversations, given)
    assert found.measures == {"outcome": 0.75, "right": 0.25, "right: plain": 0.25, "right: german": 0.0}
    assert [one["message"] for one in found.wrong or ()] == ["a, message 2", "b, message 1"]
    better = outcome_evaluation("set", conversations[:1], [heard("a", 1), heard("a", 2)])
    shared, differences = compare(better, found)
    assert (shared, {name: one.value for name, one in differences.items()}) == (
        1,
        {"outcome": 0.5, "right": 0.5, "right: plain": 0.5},
    )
    shared, differences = compare(found, better)
    assert "right: german" not in differences

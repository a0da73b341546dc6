"""`groundgraph evaluate --measure outcomes`: a user's own conversations with the configured sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from plant_database import fill

CONFIGURATION = """
sources:
  - {type: knowledge_base, name: docs, path: docs.sqlite}
  - {type: sql, name: shop, url: "sqlite:///shop.sqlite", tables: [customers]}
"""
PUMP = {"ask": "When is pump 17 serviced?", "outcome": "answered"}


@pytest.fixture
def measured(call: Any, tmp_path: Path) -> Any:
    """Measures the given conversations over a document and a table; further arguments go to the command."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "pumps.md").write_text("# Pumps\n\nPump 17 is serviced every\n90 days.\n", "utf-8")
    (tmp_path / "groundgraph.yaml").write_text(CONFIGURATION, "utf-8")
    script = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT)"
    fill(tmp_path / "shop.sqlite", script, customers=[(101, "Acme", "Riga"), (102, "Globex", "Oslo")])
    assert call("ingest", "docs", "--source", "docs").code == 0

    def measured(*turns: dict[str, Any], more: tuple[str, ...] = (), **keys: Any) -> Any:
        row = {"_id": "one", "turns": turns, **keys}
        (tmp_path / "conversations.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
        return call("evaluate", ".", "--measure", "outcomes", "--json", *more)

    return measured


@pytest.mark.covers("L18")
def test_what_is_right_counts_and_the_turns_of_a_conversation_know_each_other(measured: Any) -> None:
    ran = measured(
        {**PUMP, "from": "pumps.md", "says": ["serviced every 90 DAYS"], "lacks": ["pump 18"], "doubt": False},
        {"ask": "And why is it?", "outcome": "answered", "from": "docs", "says": ["pump 17"]},
        {"ask": "Who founded Rome?", "outcome": "insufficient"},
        {"ask": "In which city is Acme?", "outcome": "answered", "from": "customers", "says": ["Riga"]},
        {"ask": "Thank you!", "outcome": "chat"},
        tags=["mixed"],
    )
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["measures"] == {"outcome": 1.0, "right": 1.0, "right: mixed": 1.0}
    assert (ran.json["n"], ran.json["wrong"]) == (1, [])


@pytest.mark.parametrize(
    ("wrong", "fault", "outcome"),
    [
        ({"outcome": "insufficient"}, "answered, not insufficient", 0.0),
        ({"says": ["91 days"]}, "does not say '91 days'", 1.0),
        ({"lacks": ["every 90 days"]}, "says 'every 90 days'", 1.0),
        ({"from": "valves.md"}, "no citation leads to 'valves.md'", 1.0),
        ({"from": "umps.md"}, "no citation leads to 'umps.md'", 1.0),
    ],
)
def test_what_is_wrong_is_told_with_its_message(
    measured: Any, wrong: dict[str, Any], fault: str, outcome: float
) -> None:
    found = measured({"ask": "Thank you!", "outcome": "chat"}, {**PUMP, **wrong}).json
    assert found["measures"] == {"outcome": (1 + outcome) / 2, "right": 0.5}
    [told] = found["wrong"]
    assert (told["message"], told["ask"], told["faults"]) == ("one, message 2", PUMP["ask"], [fault])
    assert "every 90 days" in told["answer"]


def test_a_doubt_is_wrong_where_none_is_allowed(measured: Any, tmp_path: Path) -> None:
    (tmp_path / "strict.yaml").write_text(CONFIGURATION + "retrieval: {doubt_threshold: 0.99}\n", "utf-8")
    found = [measured({**PUMP, "doubt": doubt}, more=("--config", "strict.yaml")).json for doubt in (True, False)]
    assert [one["measures"]["right"] for one in found] == [1.0, 0.0]
    assert found[1]["wrong"][0]["faults"] == ["says that it may be no answer"]


def test_for_a_reader_wrong_messages_are_shown_on_request(measured: Any, call: Any, tmp_path: Path) -> None:
    measured({**PUMP, "says": ["91 days"]}, tags=["plain"])
    plain, asked = (call("evaluate", ".", "--measure", "outcomes", *more).out for more in ((), ("--wrong",)))
    assert plain.startswith(f"{tmp_path.name}: 1 conversations\n  outcome      1.0000  [1.0000, 1.0000]\n")
    assert "one, message 1" not in plain
    assert asked.startswith("one, message 1: When is pump 17 serviced?\n    does not say '91 days'\n    > ")


def test_a_comparison_is_over_conversations(measured: Any, call: Any) -> None:
    measured({"ask": "Hello", "outcome": "chat"})
    asked = ("evaluate", ".", "--measure", "outcomes")
    assert call(*asked, "--save", "run.json").code == 0
    assert "run.json, over the 1 conversations of both:" in call(*asked, "--compare", "run.json").out


def test_no_thread_of_the_user_is_touched_and_no_model_is_needed(measured: Any, tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_text(CONFIGURATION + "llm: {provider: openai, model: gpt-none}\n", "utf-8")
    ran = measured(PUMP, more=("--config", "model.yaml"))
    assert (ran.code, ran.json["measures"]["right"]) == (0, 1.0)
    assert not list(tmp_path.rglob("threads.sqlite"))
    refused = measured(PUMP, more=("--config", "model.yaml", "--model"))
    assert refused.code == 2
    assert refused.json["error"]["problems"][0]["key"] == "llm"


def test_a_broken_line_names_file_line_and_what_to_do(measured: Any) -> None:
    problem = measured({**PUMP, "outcome": "fine"}).json["error"]["problems"][0]
    assert (Path(problem["file"]).name, problem["line"]) == ("conversations.jsonl", 1)
    assert "must be one of answered, insufficient, clarify, unavailable, chat, not 'fine'" in problem["message"]


def test_the_questions_are_looked_for_in_the_folder_and_then_here(measured: Any, call: Any, tmp_path: Path) -> None:
    assert measured(PUMP).code == 0
    (tmp_path / "set").mkdir()
    (tmp_path / "conversations.jsonl").rename(tmp_path / "mine.jsonl")
    asked = ("evaluate", "set", "--measure", "outcomes", "--json", "--queries")
    assert call(*asked, "mine.jsonl").code == 0
    refused = call(*asked, "gone.jsonl")
    assert "there is no file 'gone.jsonl' in 'set'; name the file with --queries" in refused.out


def test_when_every_turn_fails_there_are_no_figures(measured: Any, tmp_path: Path) -> None:
    (tmp_path / "shop.sqlite").unlink()
    ran = measured(PUMP, context={"sources": ["shop"]})
    assert ran.code == 3
    assert "Every turn failed, so nothing was measured" in ran.json["error"]["message"]

"""The state of a dialogue in session metadata and context (C7)."""

from __future__ import annotations

import pytest

from groundgraph.core.errors import InputInvalid
from groundgraph.settings.context import Context, DialogueState, StateFact, dialogue_state

pytestmark = pytest.mark.covers("C7")


def test_texts_and_mappings_are_facts():
    state = dialogue_state({"dialogue_state": {"facts": ["a", {"text": "b", "id": "x"}]}}, {})
    assert state.facts == [StateFact(text="a"), StateFact(text="b", id="x")]


def test_the_run_wins_over_the_session_and_nothing_is_an_empty_state():
    session = {"dialogue_state": {"name": "session"}}
    assert dialogue_state(session, {"dialogue_state": {"name": "run"}}).name == "run"
    assert dialogue_state(session, {}).name == "session"
    assert dialogue_state({}, {}) == DialogueState()
    assert dialogue_state({"dialogue_state": None}, {}) == DialogueState()


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("text", "dialogue_state"),
        ({"facts": [""]}, "dialogue_state.facts.0.text"),
        ({"facts": ["x" * 8_001]}, "dialogue_state.facts.0.text"),
        ({"facts": ["x"] * 201}, "dialogue_state.facts"),
        ({"categories": ["x"] * 51}, "dialogue_state.categories"),
        ({"nonsense": 1}, "dialogue_state.nonsense"),
    ],
)
def test_what_is_no_state_is_refused_with_its_place(given, place):
    with pytest.raises(InputInvalid, match=place):
        dialogue_state({"dialogue_state": given}, {})


def test_a_context_takes_a_state_and_refuses_what_is_none():
    assert Context(dialogue_state={"facts": ["a"]}).dialogue_state == DialogueState(facts=["a"])
    with pytest.raises(InputInvalid, match="facts"):
        Context(dialogue_state={"facts": 3})
    assert "dialogue_state" in Context.model_json_schema()["properties"]

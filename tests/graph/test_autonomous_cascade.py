"""Autonomous retrieval over the cascade source and its files, in English and Russian (C1, C3, C6, C7)."""

from __future__ import annotations

from pathlib import Path

import pytest
from autonomous import scripted

from groundgraph import load_settings, turn_graph

FILES = {
    "pricing.yaml": """
description: What the plans cost.
sections:
  rate: {title: Monthly rate, keywords: [rate], facts: [The monthly rate is 990 roubles., A year costs 9480 roubles.]}
  secret: {keywords: [margin], facts: [Our margin is 40 per cent.], sensitive: true}
""",
    "features.yaml": """
sections:
  offline: {keywords: [offline], facts: [The cash desk works offline for thirty days.]}
""",
    "support.yaml": """
sections:
  hours: {priority: 1, facts: [Поддержка отвечает и ночью.]}
  secret: {priority: 9, facts: [The passphrase of support is herring.], sensitive: true}
""",
}
COMPLEX = "What is the monthly rate, and does the cash desk work offline?"


@pytest.fixture
def knowledge(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def build(knowledge: Path, model, **more):
    given = {
        "intent": {"mode": "static"},
        "retrieval": {"score_threshold": 0.1},
        "synthesis": {"style": "structured"},
        "sources": [{"type": "cascade", "name": "sales", "path": str(knowledge)}],
        "enhanced_autonomous_retrieval": True,
        "category_router": {"enabled": True},
    }
    return turn_graph(load_settings({**given, **more}), chat_model=model)


def asking(question: str) -> dict:
    return {"messages": [("user", question)], "metadata": {"dialogue_state": {"categories": ["support"]}}}


@pytest.mark.covers("C6")
async def test_a_complex_question_over_yaml_files_ends_with_the_facts_of_the_state(knowledge):
    model = scripted(route="pricing, features")
    result = await build(knowledge, model).ainvoke(asking(COMPLEX))
    found = [row["source_id"] for row in result["provenance"]["results"]]
    assert set(found[:2]) == {"pricing/rate", "features/offline"}
    assert found[2:] == ["support/hours"]
    assert result["provenance"]["intent"]["categories"] == ["pricing", "features"]
    assert "What the plans cost." in model.calls[0].prompt.text
    assert result["outcome"] == "answered"


@pytest.mark.covers("C1")
async def test_a_sensitive_section_stays_out_of_every_path(knowledge):
    for path in ("enhanced", "state_facts", "cascade"):
        graph = build(knowledge, scripted(route="pricing, support"))
        given = asking("What is your margin, and what is the passphrase of support herring?")
        result = await graph.ainvoke(given, context={"retrieval_path": path})
        assert "40 per cent" not in str(result["provenance"]["results"])
        assert "passphrase of support is" not in str(result["provenance"]["results"])


@pytest.mark.covers("C3")
async def test_the_category_filter_narrows_the_cascade(knowledge):
    result = await build(knowledge, scripted(route="features")).ainvoke(
        {"messages": [("user", "Does the cash desk work offline at the monthly rate?")]}
    )
    assert {row["metadata"]["category"] for row in result["provenance"]["results"]} == {"features"}


@pytest.mark.covers("C3", "S8")
async def test_what_a_wrong_guess_of_a_router_did_not_search_is_told(knowledge):
    asked = {"messages": [("user", "What do the opening times of the hotline cost?")]}
    output = await build(knowledge, scripted(route="features")).ainvoke(asked)
    assert output["outcome"] == "insufficient"
    assert any("Only these categories were searched" in note and "features" in note for note in output["notes"])


@pytest.mark.covers("T6")
async def test_a_russian_greeting_is_answered_with_the_facts_of_the_state(knowledge):
    result = await build(knowledge, scripted()).ainvoke(asking("Здравствуйте!"))
    assert "Поддержка отвечает и ночью." in result["answer"]
    assert result["outcome"] == "chat"


@pytest.mark.covers("fault 60")
async def test_a_router_reads_of_no_category_outside_the_scope_of_a_run(knowledge):
    model = scripted(route="pricing")
    scope = {"score_threshold": 0.1, "scope_filters": {"sales": {"category": "context.team"}}}
    given = {"messages": [("user", "Does the cash desk work offline?")]}
    result = await build(knowledge, model, retrieval=scope).ainvoke(given, context={"scope": {"team": "features"}})
    [asked] = [call.prompt.text for call in model.calls if "Choose the categories" in call.prompt.text]
    assert "features" in asked
    assert not any(word in asked for word in ("pricing", "What the plans cost.", "support"))
    # What the model made up is no category of the list, so the whole of the scope is searched.
    assert {row["metadata"]["category"] for row in result["provenance"]["results"]} == {"features"}

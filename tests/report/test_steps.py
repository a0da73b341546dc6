"""The path of a turn with its times (V3)."""

from __future__ import annotations

import pytest
from category_source import CategorySource
from langgraph.checkpoint.memory import InMemorySaver
from report_turns import english_turn, policies, russian_turn, turn_record

from groundgraph import load_settings, turn_graph
from groundgraph.graph.works import WORKS
from groundgraph.prompts import Prompts
from groundgraph.report.evidence import duration_of, path_of
from groundgraph.report.words import Words
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("V3")


async def test_the_path_holds_every_step_in_the_order_of_the_graph():
    record = await english_turn()
    steps = path_of(record)
    assert [step.node for step in steps] == [
        "begin_turn", "resolve_intent", "retrieve_source", "retrieve_source", "retrieve_source", "merge_results",
        "score_results", "judge_evidence", "answer_conversational", "check_citations", "record_turn",
    ]  # fmt: skip
    searches = {step.source: step for step in steps if step.node == "retrieve_source"}
    assert {name: step.status for name, step in searches.items()} == {
        "policies": "ok", "tickets": "failed", "deletion_register": "ok",
    }  # fmt: skip
    assert len({step.start for step in searches.values()}) == 1, "sources are asked at once"
    merge = next(step for step in steps if step.node == "merge_results")
    assert merge.start == max(step.start + step.elapsed for step in searches.values())
    assert duration_of(steps) == steps[-1].start == max(step.start + (step.elapsed or 0) for step in steps)


async def test_a_slow_source_holds_up_the_next_step():
    steps = path_of(await russian_turn())
    merge = next(step for step in steps if step.node == "merge_results")
    assert merge.start > 150
    assert [step.node for step in steps][-3:] == ["answer_structured", "check_citations", "record_turn"]


async def test_small_talk_goes_nowhere_else():
    steps = path_of(await turn_record([policies()], "Hello!"))
    assert [step.node for step in steps] == ["begin_turn", "record_turn"]
    assert "retrieve_source" not in {step.node for step in steps}


def test_stages_before_the_search_repairs_and_refusals_have_their_places():
    record = {
        "intent": {"mode": "extract", "stages": {"rewrite_question": {"status": "failed"}}},
        "sources": {},
        "style": {"used": "fixed"},
        "repaired": True,
        "finish": "withheld",
        "timings_ms": {
            "check_citations": 1,
            "own_step": 4,
            "merge_results": 2,
            "resolve_intent": 3,
            "rewrite_question": 5,
        },
    }
    steps = path_of(record)
    assert [(step.node, step.start, step.elapsed, step.status) for step in steps] == [
        ("begin_turn", 0, None, "ok"), ("rewrite_question", 0, 5, "failed"), ("resolve_intent", 5, 3, "ok"),
        ("merge_results", 8, 2, "ok"), ("own_step", 10, 4, "ok"), ("report_absence", 14, None, "ok"),
        ("check_citations", 14, 1, "ok"), ("repair_answer", 15, None, "ok"), ("refuse_answer", 15, None, "ok"),
        ("record_turn", 15, None, "ok"),
    ]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "ru"])
def test_every_step_and_every_work_has_a_title(language):
    given = {
        "enhanced_autonomous_retrieval": True,
        "category_router": {"enabled": True},
        "citation_check": {"quotes": "repair", "numbers": "refuse"},
        "human_review": {"support_below": 0.5},
    }
    options = {"sources": [CategorySource([])], "chat_model": ScriptedChatModel("x")}
    graph = turn_graph(load_settings(given), checkpointer=InMemorySaver(), **options)
    names = {*graph.nodes, *graph.retrieval().nodes, *WORKS} - {"__start__"}
    assert len(names) > 25
    words = Words.of(Prompts(), language)
    assert [name for name in sorted(names) if words.named("step_name", name) == name] == []


async def test_the_order_of_the_steps_is_that_of_the_record():
    record = await english_turn()
    shuffled = {**record, "timings_ms": dict(sorted(record["timings_ms"].items()))}
    assert path_of(shuffled) == path_of(record)
    steps = [{"step": name} for name in ("resolve_intent", "merge_results", "own_work", "answer", "check_citations")]
    names = [step.node for step in path_of({**record, "steps": steps}) if step.node != "retrieve_source"]
    assert names[1:4] == ["resolve_intent", "merge_results", "own_work"]


def test_a_step_without_a_title_in_the_language_has_the_english_one(tmp_path):
    russian = Prompts().source("report.ru").replace('"record_turn"', '"renamed"')
    (tmp_path / "report.ru.jinja2").write_text(russian, "utf-8")
    words = Words.of(Prompts(tmp_path), "ru")
    assert words.named("step_name", "record_turn") == "Record the turn"
    assert words.named("step_name", "of_another_version") == "of_another_version"

"""One turn from question to checked answer."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from datetime import date

import pytest
from growth import uncollected
from held_source import held_source, lag_while_blocked
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from turns import QUESTION, ask, asked_by, asking, build, docs, notes, thread
from virtual_time import in_virtual_time

from groundgraph import Context, InMemorySource, SourceSchema, turn_graph
from groundgraph.core.errors import ConfigurationError, SchemaChanged, TemplateInvalid
from groundgraph.resilience.bounds import left_behind
from groundgraph.testing import FaultySource, Reply


@pytest.mark.covers("T1")
async def test_a_turn_goes_through_every_step_in_order() -> None:
    steps = [name async for update in build("Four [1].").astream(asking(), stream_mode="updates") for name in update]
    assert [step for step in steps if step != "retrieve_source"] == [
        "begin_turn", "resolve_intent", "process_results", "answer_conversational", "check_citations", "record_turn",
    ]  # fmt: skip
    assert steps.count("retrieve_source") == 2


@pytest.mark.covers("T1", "U1")
async def test_an_answer_cites_what_it_rests_on() -> None:
    result = await ask(build("OAuth has four grant types [1]. One is client credentials [2]."))
    assert result["outcome"] == "answered"
    assert result["notes"] == []
    assert [(c["label"], c["source_name"], c["section"]) for c in result["citations"]] == [
        (1, "docs", "OAuth > Grants"),
        (2, "notes", None),
    ]
    assert result["citations"][0]["quote"] == "OAuth has four grant types."
    assert result["support"]["score"] > 0.5
    assert result["support"]["answerable"] > 0.5
    assert result["messages"][-1].text == result["answer"]
    json.dumps(result["provenance"])


async def test_a_bare_question_is_an_input_too() -> None:
    result = await build().ainvoke({"question": QUESTION})
    assert result["messages"][0].text == QUESTION
    assert result["outcome"] == "answered"


@pytest.mark.covers("T4")
async def test_one_task_per_source_and_query() -> None:
    graph = build(intent={"mode": "static", "text_queries": ["grant types", "client"]})
    updates = [update async for update in graph.astream(asking(), stream_mode="updates")]
    tasks = [name for u in updates for name in u.get("retrieve_source", {}).get("retrievals", {})]
    assert sorted(tasks) == [f"{name}/{n}" for name in ("docs", "notes") for n in range(3)]


@pytest.mark.covers("T5")
def test_the_picture_is_the_pipeline() -> None:
    graph = build()
    assert set(graph.get_graph().nodes) - {"__start__", "__end__"} == {
        "begin_turn", "resolve_intent", "retrieve_source", "process_results", "answer_structured",
        "answer_conversational", "answer_hybrid", "report_absence", "check_citations", "record_turn",
    }  # fmt: skip


@pytest.mark.covers("T9")
async def test_the_recursion_limit_is_50_or_less() -> None:
    assert build().config["recursion_limit"] <= 50


# Intent


@pytest.mark.covers("I7")
async def test_a_template_intent() -> None:
    template = 'text_queries:\n  - "{{ message }}"\n  - "{{ metadata[\'topic\'] }} overview"\n'
    graph = build(intent={"mode": "template", "template": template})
    record = (await ask(graph, metadata={"topic": "pumps"}))["provenance"]
    assert record["intent"]["mode"] == "template"
    assert record["intent"]["text_queries"] == [QUESTION, "pumps overview"]


@pytest.mark.covers("I8", "I10")
@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"gte": date(2026, 1, 1)}, {"new"}),
        ({"not": date(2026, 5, 2)}, {"old"}),
        (date(2026, 5, 2), {"new"}),
        ([date(2026, 5, 2)], {"new"}),
        ({"not": "2026-05-02"}, {"old"}),
    ],
)
async def test_a_date_of_a_default_filter_needs_no_quotes(condition, found):
    records = [
        {"id": "new", "content": "The oven is in hall 4.", "day": "2026-05-02"},
        {"id": "old", "content": "The oven is in hall 5.", "day": "2025-01-01"},
    ]
    source = InMemorySource(records, name="docs", schema=SourceSchema("docs", {"day": {"type": "date"}}))
    graph = build(sources=[source], intent={"mode": "static", "default_filters": {"docs": {"day": condition}}})
    output = await ask(graph, "In which hall is the oven?")
    assert {row["source_id"] for row in output["provenance"]["results_by_source"]["docs"]} == found


@pytest.mark.covers("I8")
async def test_a_caller_cannot_widen_a_default_filter_by_metadata_or_state() -> None:
    intent = {"mode": "static", "default_filters": {"docs": {"category": "operations"}}}
    graph = build(intent=intent)
    given = {**asking(), "metadata": {"filters": {"docs": {}}, "default_filters": {}}, "intent": {"filters": {}}}
    record = (await graph.ainvoke(given))["provenance"]
    assert "docs" not in record["results_by_source"]
    assert record["sources"]["docs"]["status"] == "ok"


@pytest.mark.covers("fault 13")
def test_a_default_filter_on_an_undeclared_field_fails_at_build() -> None:
    with pytest.raises(ConfigurationError, match="no field 'colour'"):
        build(intent={"default_filters": {"docs": {"colour": "red"}}})
    with pytest.raises(ConfigurationError, match="declares no schema"):
        build(intent={"default_filters": {"notes": {"category": "x"}}})
    with pytest.raises(ConfigurationError, match="Did you mean 'docs'"):
        build(intent={"default_filters": {"dosc": {"category": "security"}}})


@pytest.mark.covers("R2")
async def test_a_refused_filter_never_widens_the_search() -> None:
    template = 'text_queries: ["{{ message }}"]\nfilters: {docs: {category: "{{ metadata.category }}"}}\n'
    result = await ask(build(intent={"mode": "template", "template": template}), metadata={"category": "secrets"})
    assert result["provenance"]["sources"]["docs"]["status"] == "skipped"
    assert "docs" not in result["provenance"]["results_by_source"]
    assert any("'secrets' is not an allowed value" in note for note in result["notes"])
    assert result["outcome"] == "answered"


@pytest.mark.covers("R2")
async def test_a_turn_with_filters_asks_no_source_for_its_schema_again() -> None:
    asked = []

    class Tables(InMemorySource):
        """To look at a database for its columns may take seconds, and would hold up every other turn."""

        def get_schema(self) -> SourceSchema | None:
            asked.append(self.name)
            return super().get_schema()

    schema = SourceSchema("tables", {"hall": {"type": "string"}})
    source = Tables([{"content": "The pump leaks.", "metadata": {"hall": "A"}}], name="tables", schema=schema)
    graph = build(sources=[source], intent={"mode": "static", "default_filters": {"tables": {"hall": "A"}}})
    before = len(asked)
    result = await ask(graph, "Which pump leaks?")
    assert result["outcome"] == "answered"
    assert len(asked) == before


def cases() -> InMemorySource:
    schema = SourceSchema("cases", {"tenant": {"type": "string"}}, ["tenant"])
    return InMemorySource([{"content": "OAuth grant types case", "tenant": "a"}], name="cases", schema=schema)


@pytest.mark.covers("R2")
async def test_a_source_whose_required_field_is_not_set_is_skipped() -> None:
    result = await ask(build(sources=[cases(), notes()]))
    assert result["provenance"]["sources"]["cases"]["status"] == "skipped"
    assert any("tenant" in note for note in result["notes"])


@pytest.mark.covers("S8", "A24")
async def test_a_source_that_is_left_out_for_lack_of_a_filter_is_no_outage_and_no_ignorance() -> None:
    graph = build("Paris.", sources=[cases()], synthesis={"allow_parametric": True})
    result = await ask(graph)
    assert result["outcome"] == "insufficient"
    assert result["answer"] == "This question was not looked up: a filter that cases needs is not set."
    assert asked_by(graph) == [], "nobody knows that the sources do not cover it"


# Sources and merge


@pytest.mark.covers("R7", "S8", "fault 30")
def test_one_source_of_three_hangs_and_one_raises() -> None:
    hanging = FaultySource(InMemorySource(["x"], name="slow"), delay=30, swallow_cancellation=True)
    broken = FaultySource(InMemorySource(["x"], name="broken"), error=RuntimeError("disk on fire"))
    graph = build(sources=[hanging, broken, docs()], deadlines={"source": 0.3, "turn": 5})

    async def a_turn() -> dict:
        result = await ask(graph)
        hanging.release()
        await asyncio.gather(*left_behind)
        return result

    result, _ = in_virtual_time(a_turn())
    assert result["outcome"] == "answered"
    assert {c["source_name"] for c in result["citations"]} == {"docs"}
    statuses = {name: report["status"] for name, report in result["provenance"]["sources"].items()}
    assert statuses == {"slow": "timed_out", "broken": "failed", "docs": "ok"}
    assert any("slow" in note and "0.3" in note for note in result["notes"])
    assert any("broken" in note and "RuntimeError" in note for note in result["notes"])
    assert "disk on fire" not in str(result["notes"]), "the text is for log and record"
    assert result["provenance"]["sources"]["broken"] | {"elapsed_ms": 0} == {
        "status": "failed", "error": "disk on fire", "error_type": "RuntimeError", "queries": [QUESTION],
        "found": 0, "kept": 0, "dropped": {}, "elapsed_ms": 0, "attempts": 1,
    }  # fmt: skip


@pytest.mark.covers("R8")
async def test_weights_decide_the_order_and_duplicates_are_recorded() -> None:
    both = [{"id": str(n), "content": f"grant type number {n}"} for n in range(4)]
    sources = [
        {"type": "memory", "name": name, "weight": weight, "records": both} for name, weight in (("a", 3), ("b", 1))
    ]
    intent = {"mode": "static", "text_queries": ["grant type"]}
    graph = build(base={"sources": sources}, intent=intent, retrieval={"score_threshold": 0.0})
    record = (await ask(graph, "grant type number"))["provenance"]
    assert [row["source_name"] for row in record["results"]] == list("aaababbb")
    assert record["total_results"] == 16
    assert record["deduplicated_to"] == 8
    assert set(record["found_again"].values()) == {2}


@pytest.mark.covers("R10")
async def test_top_k_and_threshold_hold_for_a_source_that_ignores_them() -> None:
    class Careless(InMemorySource):
        async def query(self, intent, *, top_k=5, score_threshold=0.0):
            return await super().query(intent, top_k=1000, score_threshold=0.0)

    many = Careless([f"grant type {n}" for n in range(50)] + ["grant"], name="many")
    graph = build(sources=[many], retrieval={"top_k": 3, "score_threshold": 0.9})
    record = (await ask(graph, "grant type"))["provenance"]
    assert len(record["results"]) == 3
    assert all(row["relevance"] >= 0.9 for row in record["results"])
    assert record["sources"]["many"]["dropped"]["beyond_top_k"] == 47
    assert record["sources"]["many"]["dropped"]["below_threshold"] == 1


async def test_context_changes_one_run_only() -> None:
    graph = build("Yes [1].")
    narrow = await ask(graph, context=Context(sources=["notes"], top_k=1, style="structured"))
    assert set(narrow["provenance"]["sources"]) == {"notes"}
    assert narrow["provenance"]["style"]["used"] == "structured"
    wide = await ask(graph)
    assert set(wide["provenance"]["sources"]) == {"docs", "notes"}


# Synthesis


@pytest.mark.covers("S2")
async def test_the_style_cascade() -> None:
    template = 'text_queries: ["{{ message }}"]\noutput_style: {{ metadata.wanted }}\n'
    graph = build(
        [f"a{n} [1]" for n in range(9)],
        intent={"mode": "template", "template": template},
        synthesis={"style": "hybrid"},
        checkpointer=InMemorySaver(),
    )

    async def used(**metadata: object) -> str:
        style = (await ask(graph, on="t", metadata=metadata))["provenance"]["style"]
        assert style["asked"] == style["used"]
        return style["used"]

    assert await used(wanted=None) == "hybrid"
    assert await used(wanted=None, synthesis_style="structured") == "structured"
    assert await used(wanted="conversational") == "conversational"
    assert await used(wanted=None) == "structured", "the session's style stays with the thread"


@pytest.mark.covers("S3")
async def test_the_prompt_says_what_the_settings_say() -> None:
    options = {"require_citations": False, "allow_parametric": "bridge", "instruction": "Mind the gap."}
    graph = build("x", synthesis={**options, "citation_format": "source"})
    result = await ask(graph)
    prompt = asked_by(graph)[0].text
    assert "square brackets" not in prompt
    assert "connect what different passages say" in prompt
    assert "Mind the gap." in prompt
    assert 'source="OAuth"' in prompt
    assert not any(flag["kind"] == "no_citation" for flag in result["support"]["flags"])


@pytest.mark.covers("S4")
async def test_custom_templates() -> None:
    template = "{{ message }}|{% for r in results %}{{ r.source_name }}:{{ r.text }}[{{ r.label }}]{% endfor %}"
    result = await ask(build(synthesis={"style": "structured", "template": template}))
    assert result["answer"].startswith(f"{QUESTION}|docs:OAuth has four")
    assert [c["label"] for c in result["citations"]] == [1, 2]


@pytest.mark.covers("fault 12")
def test_a_template_with_a_syntax_error_fails_at_build() -> None:
    with pytest.raises(TemplateInvalid, match=r"synthesis.template: template line 2"):
        build(synthesis={"template": "ok\n{% for %}"})
    with pytest.raises(TemplateInvalid, match=r"intent\.template"):
        build(intent={"mode": "template", "template": "{{ message "})


@pytest.mark.covers("S5", "fault 33")
async def test_nothing_found_calls_no_model() -> None:
    graph = build("I made this up [1].")
    result = await ask(graph, "Quantum chromodynamics lattice")
    assert result["outcome"] == "insufficient"
    assert "does not cover" in result["answer"]
    assert asked_by(graph) == []
    russian = await ask(graph, "Сколько стоит подводная лодка?")
    assert "В базе знаний нет ответа" in russian["answer"]


@pytest.mark.covers("S5")
async def test_general_knowledge_is_marked_when_it_is_allowed() -> None:
    graph = build("General knowledge: gluons.", synthesis={"allow_parametric": True})
    result = await ask(graph, "Quantum chromodynamics lattice")
    assert result["outcome"] == "insufficient"
    assert result["answer"].startswith("The knowledge base does not cover this question.")
    assert "General knowledge: gluons." in result["answer"]
    assert not any(flag["kind"] == "no_citation" for flag in result["support"]["flags"])


@pytest.mark.covers("S6")
@pytest.mark.parametrize("style", ["conversational", "hybrid"])
async def test_without_a_model_the_answer_quotes_and_says_so_once(style: str) -> None:
    result = await ask(build(synthesis={"style": style}))
    assert result["outcome"] == "answered"
    assert result["notes"] == [
        "No language model is configured, so this answer quotes the sources instead of summarising them."
    ]
    assert result["provenance"]["style"] == {"asked": style, "used": "structured"}


@pytest.mark.covers("S1")
async def test_hybrid_is_the_answer_and_the_evidence_behind_it() -> None:
    answer = (await ask(build("Four [1].", synthesis={"style": "hybrid"})))["answer"]
    assert answer.startswith("Four [1].\n\n## Sources")
    assert "- [2]" in answer


@pytest.mark.covers("S7")
async def test_quotes_come_first_and_are_verbatim() -> None:
    result = await ask(build(), "How often is pump 17 serviced?")
    assert result["answer"].startswith("From the evidence:\n\n> Pump 17 is serviced every 90 days. [1]")


# Faults


@pytest.mark.covers("fault 1")
async def test_an_empty_message_gets_a_fixed_reply_and_a_record() -> None:
    source = FaultySource(docs())
    graph = build("x", sources=[source], memory=True)
    messages = ("", "  \n\t ", "\u200b\u2060 \ufeff\u200d")
    for message in messages:
        result = await ask(graph, message, "t")
        assert result["outcome"] == "chat"
        assert result["answer"].startswith("Your message is empty.")
        assert result["provenance"]["outcome"] == "chat"
    assert source.calls == 0
    assert asked_by(graph) == []
    history = (await graph.aget_state(thread())).values["metadata"]["retrieval_provenance_history"]
    assert len(history) == len(messages)


@pytest.mark.covers("fault 2")
async def test_a_huge_message_is_rejected_quickly_without_a_model() -> None:
    graph = build("x", checkpointer=InMemorySaver())
    # The time that this process works: it does not depend on what else the machine does.
    with uncollected():
        started = time.process_time()
        result = await ask(graph, "grant types " * 90_000, "t")
        assert time.process_time() - started < 0.2
    assert asked_by(graph) == []
    assert "1,080,000" in result["answer"] or "1080000" in result["answer"]
    assert len(result["messages"][0].text) <= 200
    cut = build("x [1]", limits={"message_chars": 40, "long_message": "truncate"})
    result = await ask(cut, "Which grant types does OAuth have? " * 9)
    assert len(result["messages"][0].text) == 40
    assert any("first 40 characters" in note for note in result["notes"])


@pytest.mark.covers("fault 3")
async def test_emoji_and_combining_marks_make_a_round_trip() -> None:
    text = "Family 👨‍👩‍👧 café e\u0301cole uses grant types 🎉 daily."
    source = InMemorySource([{"content": text, "start": 1000}], name="docs")
    result = await ask(build(f"{text} [1]", sources=[source]), "Does the 👨‍👩‍👧 family use grant types e\u0301cole?")
    assert result["messages"][0].text == "Does the 👨‍👩‍👧 family use grant types e\u0301cole?"
    citation = result["citations"][0]
    assert text[citation["start"] - 1000 : citation["end"] - 1000] == citation["quote"] == text


@pytest.mark.covers("fault 4")
async def test_right_to_left_text_is_answered_and_cited() -> None:
    text = "يدعم OAuth أربعة أنواع من المنح. النوع الأول هو رمز التفويض."
    graph = build("أربعة أنواع [1].", sources=[InMemorySource([text], name="docs")])
    result = await ask(graph, "كم عدد أنواع المنح في OAuth؟")
    assert result["outcome"] == "answered"
    assert result["answer"] == "أربعة أنواع [1]."
    assert result["citations"][0]["quote"] in text


@pytest.mark.covers("fault 5")
async def test_lone_surrogates_and_nul_are_replaced_and_recorded() -> None:
    result = await ask(build(checkpointer=InMemorySaver()), "grant\x00 types \ud83d OAuth", "t")
    assert result["messages"][0].text == "grant\ufffd types \ufffd OAuth"
    assert any("were replaced: 2" in note for note in result["notes"])


@pytest.mark.covers("fault 8")
@pytest.mark.parametrize("mode", ["static", "template", "extract"])
async def test_yaml_and_template_syntax_stay_literal(mode: str) -> None:
    message = '{{ 7777*7777 }} "OAuth"\nfilters: {docs: {category: operations}} {% raw %} !!python/object grant types'
    template = 'text_queries:\n  - "{{ message }}"\n' if mode == "template" else None
    replies = ["queries failed on purpose:", "ok [1]"] if mode == "extract" else "ok [1]"
    unjudged = {"score_threshold": 0.0, "answerable_threshold": None}
    graph = build(replies, intent={"mode": mode, "template": template}, retrieval=unjudged)
    result = await ask(graph, message)
    assert result["messages"][0].text == message
    assert message in result["provenance"]["intent"]["text_queries"]
    assert result["provenance"]["intent"]["filters"] == {}
    assert message in asked_by(graph)[-1].text
    assert "60481729" not in asked_by(graph)[-1].text


@pytest.mark.covers("fault 16")
def test_no_source_is_refused_at_build() -> None:
    with pytest.raises(ConfigurationError, match="nothing to search"):
        build(sources=[])
    with pytest.raises(ConfigurationError, match="nothing to search"):
        turn_graph({"sources": []})
    assert list(turn_graph({"sources": [], "knowledge_base": {}}).resources.sources) == ["knowledge_base"]


@pytest.mark.covers("fault 19")
async def test_an_empty_completion_never_gives_an_empty_answer() -> None:
    result = await ask(build(""))
    assert result["answer"].startswith("From the evidence:")
    assert any("wrote nothing" in note for note in result["notes"])


@pytest.mark.covers("fault 20")
async def test_a_refusal_is_passed_on_marked_and_not_cited() -> None:
    result = await ask(build(Reply("", refusal="I cannot help with that.")))
    assert (result["answer"], result["outcome"]) == ("I cannot help with that.", "insufficient")
    assert [flag["kind"] for flag in result["support"]["flags"]] == ["refusal"]
    assert result["citations"] == []


@pytest.mark.covers("fault 21")
async def test_a_truncated_answer_is_marked() -> None:
    result = await ask(build(Reply("OAuth has four grant types [1] and [", finish_reason="length")))
    assert result["answer"] == "OAuth has four grant types [1] and"
    assert [flag["kind"] for flag in result["support"]["flags"]] == ["truncated"]
    assert any("cut off" in note for note in result["notes"])


@pytest.mark.covers("fault 22")
def test_a_model_that_hangs_gives_way_within_the_deadline() -> None:
    result, took = in_virtual_time(ask(build(Reply("late", delay=30), deadlines={"model": 0.3, "turn": 5})))
    assert took == pytest.approx(0.3)
    assert result["provenance"]["style"]["used"] == "structured"
    assert any("0.3 seconds" in note for note in result["notes"])


@pytest.mark.covers("T9")
def test_the_deadline_of_the_turn_bounds_sources_and_model_together() -> None:
    slow = FaultySource(docs(), delay=0.6)
    graph = build(Reply("late", delay=30), sources=[slow], deadlines={"turn": 1, "source": 30, "model": 30})
    result, took = in_virtual_time(ask(graph))
    assert took == pytest.approx(1)
    assert result["provenance"]["style"]["used"] == "structured"


@pytest.mark.covers("T9")
async def test_the_cap_on_model_calls_is_kept_and_told() -> None:
    graph = build("x [1]", limits={"model_calls": 0})
    result = await ask(graph)
    assert asked_by(graph) == []
    assert any("limits.model_calls" in note for note in result["notes"])


@pytest.mark.covers("T9")
async def test_evidence_beyond_the_token_limit_is_left_out_and_told() -> None:
    records = [f"grant type {n} " + "word " * 400 for n in range(5)]
    graph = build("x [1] [5]", sources=[InMemorySource(records, name="docs")], limits={"tokens": 2500})
    result = await ask(graph, "grant type")
    assert any("did not fit" in note for note in result["notes"])
    assert "grant type 0" in asked_by(graph)[0].text
    assert 'number="5"' not in asked_by(graph)[0].text
    assert result["answer"] == "x [1]", "a label of evidence that was not shown does not resolve"


@pytest.mark.covers("fault 23")
async def test_429_waits_as_asked_and_tries_again() -> None:
    replies = [Reply("slow down", status=429, headers={"Retry-After": "0.2"}), "Four [1]."]
    graph = build(replies)
    result = await ask(graph)
    assert result["answer"] == "Four [1]."
    call = result["provenance"]["models"][0]
    assert call["attempts"] == 2
    assert call["elapsed_ms"] >= 200
    assert len(asked_by(graph)) == 2


@pytest.mark.covers("fault 24")
@pytest.mark.parametrize("status", [400, 401])
async def test_a_client_error_is_not_tried_again(status: int) -> None:
    graph = build([Reply("no", status=status), "Four [1]."])
    result = await ask(graph)
    assert len(asked_by(graph)) == 1
    assert str(status) in result["notes"][0]


@pytest.mark.covers("fault 26")
async def test_a_label_that_refers_to_nothing_is_removed_and_flagged() -> None:
    result = await ask(build("OAuth has four grant types [9]. Really [1]."))
    assert result["answer"] == "OAuth has four grant types. Really [1]."
    assert [flag["kind"] for flag in result["support"]["flags"]] == ["unresolved_label", "uncited"]
    assert result["provenance"]["citation_check"]["flags"]
    assert any("[9]" in note for note in result["notes"])


@pytest.mark.covers("fault 29")
async def test_thinking_is_stripped_from_answer_and_history() -> None:
    graph = build("<think>secret [1]</think>\nFour [1].", checkpointer=InMemorySaver())
    await ask(graph, on="t")
    state = await graph.aget_state(thread())
    assert state.values["messages"][-1].text == "Four [1]."
    assert "secret" not in str(state.values)


@pytest.mark.covers("fault 31")
def test_a_hanging_source_is_cut_at_its_own_timeout() -> None:
    slow = FaultySource(InMemorySource(["x"], name="slow"), delay=30)
    result, took = in_virtual_time(ask(build(sources=[slow, docs()], deadlines={"source": 0.3})))
    assert took == pytest.approx(0.3)
    assert result["provenance"]["sources"]["slow"]["status"] == "timed_out"


@pytest.mark.covers("fault 32")
async def test_all_sources_down_is_not_nothing_found() -> None:
    down = [FaultySource(s, error=ConnectionError("refused")) for s in (docs(), notes())]
    graph = build("x", sources=down, synthesis={"allow_parametric": True})
    result = await ask(graph)
    assert result["outcome"] == "unavailable"
    assert "docs, notes could not be reached" in result["answer"]
    assert asked_by(graph) == [], "an outage is never answered from general knowledge"
    found = await ask(build(sources=[docs()]), "lattice")
    assert found["outcome"] == "insufficient"
    assert found["answer"] != result["answer"]


@pytest.mark.covers("S8")
async def test_an_outage_of_one_source_is_not_insufficient_either() -> None:
    down = FaultySource(notes(), error=ConnectionError("refused"))
    result = await ask(build(sources=[docs(), down]), "Quantum lattice")
    assert result["outcome"] == "unavailable"


@pytest.mark.covers("fault 36")
async def test_ten_thousand_rows_are_capped() -> None:
    class Flood(InMemorySource):
        async def query(self, intent, *, top_k=5, score_threshold=0.0):
            row = (await super().query(intent, top_k=1))[0]
            return [row] * 10_000

    record = (await ask(build(sources=[Flood(["grant types"], name="flood")])))["provenance"]
    assert record["sources"]["flood"]["found"] == 10_000
    assert record["sources"]["flood"]["kept"] == 5


@pytest.mark.covers("fault 37")
async def test_empty_content_is_skipped_and_counted() -> None:
    class Hollow(InMemorySource):
        async def query(self, intent, *, top_k=5, score_threshold=0.0):
            row = (await super().query(intent, top_k=1))[0]
            return [replace(row, content=None), replace(row, content="  "), row]

    record = (await ask(build(sources=[Hollow(["grant types"], name="hollow")])))["provenance"]
    assert record["sources"]["hollow"]["dropped"] == {"empty": 2}
    assert len(record["results"]) == 1


@pytest.mark.covers("fault 38")
def test_five_failures_in_a_row_open_the_breaker() -> None:
    down = FaultySource(docs(), error=RuntimeError("down"), fail_times=5)

    async def turns() -> None:
        graph = build(sources=[down, notes()], limits={"breaker_pause": 30, "attempts": 1})
        for _ in range(5):
            await ask(graph)
        asked = down.calls
        for _ in range(2):
            result = await ask(graph)
            assert down.calls == asked, "the source is left alone"
            assert result["provenance"]["sources"]["docs"]["error_type"] == "CircuitOpen"
            await asyncio.sleep(29)
        result = await ask(graph)
        assert result["provenance"]["sources"]["docs"]["status"] == "ok"

    in_virtual_time(turns())


class Refused(RuntimeError):
    """As a client of HTTP raises it."""

    status_code = 403


@pytest.mark.covers("fault 35", "fault 38")
@pytest.mark.parametrize(
    "error", [SchemaChanged("gone", field="x"), ConfigurationError("no such table"), Refused("no")]
)
async def test_what_stays_until_somebody_mends_it_is_told_each_time_and_no_question_waits_behind_it(error) -> None:
    down = FaultySource(docs(), error=error, fail_times=7)
    graph = build(sources=[down], limits={"breaker_pause": 30, "attempts": 1})
    answers = [await ask(graph) for _ in range(8)]
    for result in answers[:7]:
        assert result["provenance"]["sources"]["docs"]["error_type"] == type(error).__name__
        assert "asking again helps only when whoever runs it has mended it" in result["answer"]
    assert answers[7]["outcome"] == "answered"


@pytest.mark.covers("fault 77")
async def test_a_blocking_source_does_not_hold_up_the_loop() -> None:
    blocking = held_source(["OAuth has four grant types."], name="docs")
    graph = build(sources=[blocking])
    lag = asyncio.create_task(lag_while_blocked([blocking]))
    result = await ask(graph)
    assert result["outcome"] == "answered"
    assert await lag < 0.1


async def test_parts_of_a_message_that_are_no_text_are_told_as_unread() -> None:
    picture = {"type": "image", "url": "https://example.com/pump.png"}
    message = HumanMessage([{"type": "text", "text": "Which grant types does OAuth have?"}, picture])
    output = await build(sources=[docs()]).ainvoke({"messages": [message]})
    assert "Only the text of the message was read" in output["notes"][0]
    plain = await build(sources=[docs()]).ainvoke({"messages": [HumanMessage([{"type": "text", "text": "Hello"}])]})
    assert not any("Only the text" in note for note in plain["notes"])

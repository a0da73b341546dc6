"""Facts of the dialogue's state: given or listed by category, cited, and the answer to small talk (C7, T6)."""

from __future__ import annotations

import pytest
from autonomous import KNOWLEDGE, ask, asking, build, retrieval, scripted, state
from category_source import CategorySource
from langgraph.store.memory import InMemoryStore

from groundgraph import InMemorySource, retrieve_context
from groundgraph.core.errors import ConfigurationError
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context

pytestmark = pytest.mark.covers("C7")

QUESTION = "What is the monthly rate?"
DEMO = "The demo is free."


def texts(result) -> list[str]:
    return [row["text"] for row in result["provenance"]["results"]]


async def test_facts_of_the_state_stand_behind_what_was_found_and_are_cited():
    named = state(categories=["support"], facts=[{"text": DEMO, "id": "demo", "url": "https://example.org/demo"}])
    model = scripted(answer="The demo is free [3]. Support answers at night too [4].")
    graph = build(["backfill"], model=model, synthesis={"style": "conversational"}, retrieval={"top_k": 2})
    result = await ask(graph, QUESTION, dialogue_state=named)
    assert texts(result)[-2:] == [DEMO, "Support answers at night too."]
    cited = {citation["source_id"]: citation for citation in result["citations"]}
    assert cited["demo"]["quote"] == DEMO
    assert cited["demo"]["source_name"] == "dialogue_state"
    assert cited["demo"]["url"] == "https://example.org/demo"
    assert result["support"]["flags"] == []


@pytest.mark.parametrize(("question", "language"), [(QUESTION, "en"), ("Сколько стоит тариф в месяц?", "ru")])
async def test_a_model_is_shown_the_separator_before_the_first_fact(question, language):
    model = scripted(answer="990 [1].")
    source = CategorySource([*KNOWLEDGE, ("pricing", "ru", "Тариф стоит 990 рублей в месяц.")])
    graph = build(["backfill"], source=source, model=model, synthesis={"style": "conversational"})
    await ask(graph, question, dialogue_state=state(facts=[DEMO]))
    shown = model.calls[-1].prompt.evidence
    separator = Prompts().render("state_separator", language=language).strip()
    before, after = shown.split(separator)
    assert "990" in before
    assert "990" not in after
    assert DEMO in after


async def test_the_context_of_a_run_wins_over_the_session():
    graph = build(["backfill"])
    given = asking(QUESTION, dialogue_state=state(facts=["From the session."]))
    result = await graph.ainvoke(given, context=Context(dialogue_state={"name": "other", "facts": ["From the run."]}))
    assert "From the run." in texts(result)
    assert "From the session." not in texts(result)
    assert result["provenance"]["state"]["name"] == "other"


async def test_what_was_found_already_is_not_said_twice():
    result = await ask(build(["backfill"]), QUESTION, dialogue_state=state(categories=["pricing"]))
    assert len(texts(result)) == len(set(texts(result)))
    assert {"rate", "year"} <= {row["source_id"] for row in result["provenance"]["results"]}


async def test_facts_are_listed_for_the_categories_of_the_state_and_not_of_the_question():
    source = CategorySource(KNOWLEDGE)
    graph = build(["backfill"], source=source, category_router={"enabled": True})
    await ask(graph, QUESTION, dialogue_state=state(categories=["support"]))
    assert [(intent.text_queries, intent.categories) for intent in source.asked] == [
        ([QUESTION], ["pricing"]),
        ([], ["support"]),
    ]


async def test_unknown_categories_give_no_facts():
    result = await ask(build(["backfill"]), QUESTION, dialogue_state=state(categories=["weather"]))
    assert "backfill" not in result["provenance"]["strategies"]
    assert result["outcome"] == "answered"


@pytest.mark.covers("C8")
@pytest.mark.parametrize(
    "wrong",
    ["presentation", {"facts": 3}, {"facts": [{"txt": "a"}]}, {"nonsense": 1}, {"categories": "faq"}, {"facts": [""]}],
)
async def test_a_state_that_is_none_is_left_out_with_a_note(wrong):
    result = await ask(build(["backfill"]), QUESTION, dialogue_state=wrong)
    assert result["outcome"] == "answered"
    assert any("state of the conversation" in note for note in result["notes"])
    assert "state" not in result["provenance"]


async def test_a_state_that_says_nothing_changes_nothing():
    for nothing in ({}, None, {"name": ""}):
        result = await ask(build(["backfill"]), QUESTION, dialogue_state=nothing)
        assert result["notes"] == []
        assert "state" not in result["provenance"]


async def test_facts_do_not_carry_evidence_that_is_not_good_enough():
    class Base(InMemorySource):
        source_type = "knowledge_base"

    bad = Base(["Wholly other words about herring and the weather in Bergen."], source_type="knowledge_base")
    graph = build(["backfill"], source=bad, retrieval={"score_threshold": 0.0, "answerable_threshold": 0.9})
    question = "How does herring help with quarterly tax reports of small companies?"
    result = await ask(graph, question, dialogue_state=state(facts=[DEMO]))
    assert texts(result) == [DEMO]


async def test_a_fact_of_the_state_stays_one_though_what_was_found_is_not_good_enough():
    graph = build(["backfill"], retrieval={"score_threshold": 0.0, "answerable_threshold": 0.9})
    question = "Which support for quarterly tax reports of small companies is there?"
    result = await ask(graph, question, dialogue_state=state(categories=["support"], facts=[DEMO]))
    assert texts(result) == [DEMO, "Support answers at night too."]


async def test_the_path_of_the_state_answers_from_its_facts_alone():
    source = CategorySource(KNOWLEDGE)
    graph = build(["backfill"], source=source)
    named = state(categories=["support", "faq"], facts=[DEMO])
    result = await ask(graph, QUESTION, context=Context(retrieval_path="state_facts"), dialogue_state=named)
    assert texts(result) == [DEMO, "Support answers at night too.", "A cash desk is registered in a day."]
    assert [intent.text_queries for intent in source.asked] == [[]]
    assert result["outcome"] == "answered"
    assert result["provenance"]["sources"]["dialogue_state"]["status"] == "ok"


async def test_the_path_of_a_state_that_names_nothing_finds_nothing():
    result = await ask(build(["backfill"]), QUESTION, context=Context(retrieval_path="state_facts"))
    assert (result["outcome"], texts(result)) == ("insufficient", [])


async def test_a_source_that_cannot_give_its_facts_is_told():
    broken = CategorySource(KNOWLEDGE, fails=True)
    graph = build(["backfill"], source=broken)
    named = state(categories=["support"])
    result = await ask(graph, QUESTION, context=Context(retrieval_path="state_facts"), dialogue_state=named)
    assert result["outcome"] == "unavailable"
    assert any("could not be searched" in note for note in result["notes"])


# Small talk


@pytest.mark.covers("T6")
@pytest.mark.parametrize("greeting", ["Hello!", "Здравствуйте!", "Thanks!", "До свидания"])
async def test_small_talk_is_answered_with_the_facts_of_the_state(greeting):
    source, model = CategorySource(KNOWLEDGE), scripted()
    graph = build(source=source, model=model)
    plain = await ask(graph, greeting)
    assert (plain["outcome"], source.asked, model.calls) == ("chat", [], [])
    result = await ask(graph, greeting, dialogue_state=state(facts=[DEMO]))
    assert result["answer"].startswith(plain["answer"])
    assert f"{DEMO}" in result["answer"]
    assert result["outcome"] == "chat"
    # Nothing is searched and no model is called.
    assert (source.asked, model.calls) == ([], [])


@pytest.mark.covers("T6")
async def test_a_model_that_writes_greets_with_the_facts():
    model = scripted(answer="Welcome! The demo is free [1].")
    graph = build(model=model, synthesis={"style": "conversational"})
    result = await ask(graph, "Hello!", dialogue_state=state(categories=["support"], facts=[DEMO]))
    assert result["answer"] == "Welcome! The demo is free [1]."
    assert result["outcome"] == "chat"
    assert len(model.calls) == 1


@pytest.mark.covers("T6")
@pytest.mark.parametrize("source", [CategorySource(KNOWLEDGE), CategorySource(KNOWLEDGE, fails=True)])
async def test_where_the_state_gives_nothing_the_greeting_stands(source):
    graph = build(source=source)
    plain = await ask(graph, "Hello!")
    result = await ask(graph, "Hello!", dialogue_state=state(categories=["weather"]))
    assert (result["answer"], result["outcome"]) == (plain["answer"], "chat")


@pytest.mark.covers("T6")
async def test_a_greeting_that_was_withheld_is_none():
    model, policy = scripted(answer="The demo costs 70 roubles [1]."), {"citation_check": {"numbers": "refuse"}}
    graph = build(["backfill"], model=model, synthesis={"style": "conversational"}, **policy)
    result = await ask(graph, "Hello!", dialogue_state=state(facts=["The demo is free."]))
    assert (result["outcome"], result["provenance"]["finish"]) == ("insufficient", "withheld")


def test_no_source_is_called_like_the_state_of_the_dialogue():
    source = CategorySource(KNOWLEDGE, name="dialogue_state")
    with pytest.raises(ConfigurationError, match="call this source something else"):
        build(["backfill"], source=source)
    assert build(["budget"], source=source)


@pytest.mark.covers("T6")
async def test_on_the_plain_path_a_greeting_is_a_greeting():
    result = await ask(build(), "Hello!", context=Context(retrieval_path="cascade"), dialogue_state=state(facts=[DEMO]))
    assert DEMO not in result["answer"]


@pytest.mark.covers("T6")
async def test_a_question_behind_a_greeting_is_searched_for():
    source = CategorySource(KNOWLEDGE)
    await ask(build(["backfill"], source=source), f"Hello, {QUESTION}", dialogue_state=state(facts=[DEMO]))
    assert source.asked[0].text_queries == [f"Hello, {QUESTION}"]


@pytest.mark.covers("T8")
async def test_a_retrieval_gives_the_context_of_the_state_too():
    graph = retrieval(["backfill"])
    chosen = Context(dialogue_state={"name": "s", "facts": [DEMO]})
    found = await retrieve_context(graph, QUESTION, context=chosen)
    assert found.context.endswith(f"s\n{DEMO}")
    assert "=== STATE OF THE CONVERSATION ===" in found.context
    hello = await retrieve_context(graph, "Hello!", context=chosen)
    assert (hello.outcome, [row["text"] for row in hello.evidence]) == ("chat", [DEMO])
    assert (await retrieve_context(graph, "Hello!")).outcome == "chat"


@pytest.mark.covers("L8")
async def test_the_texts_of_facts_are_in_the_store_and_not_in_the_checkpoints():
    from langgraph.checkpoint.memory import InMemorySaver

    saver, text = InMemorySaver(), "An unmistakable fact of the state. " * 50
    graph = build(["backfill"], checkpointer=saver, store=InMemoryStore())
    thread = {"configurable": {"thread_id": "t"}}
    await graph.ainvoke(asking(QUESTION), thread, context=Context(dialogue_state={"facts": [text]}))
    kept = [str(point.checkpoint) async for point in saver.alist(thread)]
    assert kept
    # The last step leaves an answer that quotes it.
    assert not [one for one in kept[1:] if text[:300] in one]


@pytest.mark.parametrize(("sections", "shown"), [(100, 100), (101, 100)])
async def test_one_source_gives_at_most_a_hundred_facts(sections, shown):
    source = CategorySource([("faq", str(number), f"Fact {number}.") for number in range(sections)])
    graph = build(["backfill"], source=source)
    result = await ask(
        graph, QUESTION, context=Context(retrieval_path="state_facts"), dialogue_state=state(categories=["faq"])
    )
    assert len(texts(result)) == shown

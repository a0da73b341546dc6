"""Several turns: small talk, follow-ups, the window of messages, scopes."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
import turns
from langchain_core.messages import RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from turns import ask, asking, docs, notes, thread

from groundgraph import Context, InMemorySource, SourceSchema, load_settings, turn_graph
from groundgraph.answers.provenance import messages_namespace
from groundgraph.core.errors import ConfigurationError, ScopeMissing, TemplateInvalid
from groundgraph.testing import FaultySource, ScriptedChatModel

build = partial(turns.build, base={}, memory=True)


# Fast path


@pytest.mark.covers("T6", "fault 7")
@pytest.mark.parametrize(
    ("message", "begins"),
    [
        ("Hi!", "Hello!"),
        ("good morning, team", "Hello!"),
        ("Hi, how are you?", "Hello!"),
        ("Как дела?", "Здравствуйте!"),
        ("Thank you very much for your help :)", "You are welcome."),
        ("bye", "Goodbye."),
        ("Привет всем!", "Здравствуйте!"),
        ("Большое спасибо", "Пожалуйста."),
        ("thank you so much, you're a lifesaver", "You are welcome."),
        ("Thanks for the quick reply!", "You are welcome."),
        ("Are you a robot?", "I answer questions from what I can search: docs."),
        ("Danke, das ist sehr nett", "Gern geschehen."),
        # No word of these is a stop word, by which a language is told.
        ("Danke schön", "Gern geschehen."),
        ("Hallo!", "Guten Tag!"),
        ("merci beaucoup", "Je vous en prie."),
        ("Wer bist du?", "Ich beantworte Fragen aus dem"),
        ("¿Cómo está usted?", "¡Hola!"),
        ("how are you doing today?", "Hello!"),
        ("ok that's it, have a good evening!", "Goodbye."),
        ("haha nice", ""),
        ("you're really helpful", ""),
        ("Nein danke, das war's. Schönen Abend noch!", "Gern geschehen."),
        ("Vielen Dank für die Auskunft!", "Gern geschehen."),
        ("nice one", ""),
        ("ok too bad, thanks anyway", "You are welcome."),
        ("schade, trotzdem danke", "Gern geschehen."),
    ],
)
async def test_small_talk_calls_no_model_and_no_source(message: str, begins: str) -> None:
    source = FaultySource(docs())
    model = ScriptedChatModel("never")
    result = await ask(turn_graph(load_settings({}), sources=[source], chat_model=model), message)
    assert result["outcome"] == "chat"
    assert result["answer"].startswith(begins)
    assert (source.calls, model.calls) == (0, [])
    assert result["provenance"]["outcome"] == "chat"


async def test_what_can_be_asked_is_what_this_run_searches() -> None:
    graph = turn_graph(
        load_settings({}), sources=[InMemorySource(["a"], name="docs"), InMemorySource(["b"], name="notes")]
    )
    told = await ask(graph, "What can you do?", context=Context(sources=["notes"]))
    assert told["answer"].startswith("I answer questions from what I can search: notes.")


@pytest.mark.covers("T6")
@pytest.mark.parametrize(
    "message",
    [
        "Hi, what is OAuth?",
        "thanks, but which grant types?",
        "thanks, that grant type fails for the client",
        "Danke, das Passwort ist abgelaufen, was mache ich?",
        "Привет, что такое OAuth?",
        "How are you issued a token?",
        "Right, how is the token issued then?",
        "Как дела с OAuth?",
    ],
)
async def test_a_greeting_with_a_question_behind_it_retrieves(message: str) -> None:
    assert (await ask(build(), message, "t"))["provenance"]["sources"]


@pytest.mark.covers("T6", "S8", "A8")
async def test_thanks_with_a_remark_are_looked_up_and_answered_as_thanks_where_nothing_is_found() -> None:
    graph = build(sources=[InMemorySource(["Valve 9 was jammed.", "Pump 17 is serviced every 90 days."], name="plant")])
    for message in ("That was splendid, thanks a lot!", "Perfect, all sorted for the weekend, goodbye"):
        output = await ask(graph, message, on=message)
        assert (output["outcome"], output["citations"]) == ("chat", []), message
        assert "does not cover" not in output["answer"]
    told = await ask(graph, "Thanks, valve 9 jammed", on="told")
    assert told["outcome"] == "answered"
    assert "jammed" in told["answer"]
    assert (await ask(graph, "Where is the splendid zebra?", on="asked"))["outcome"] == "insufficient"


@pytest.mark.covers("T6", "fault 32")
async def test_an_outage_is_told_to_who_says_thanks_too() -> None:
    graph = build(sources=[FaultySource(docs(), error=ConnectionError("down"))])
    output = await ask(graph, "That was splendid, thanks a lot!", on="down")
    assert output["outcome"] == "unavailable"


@pytest.mark.covers("T6")
async def test_the_greeting_is_configurable_and_answers_a_run_without_a_message() -> None:
    template = "Welcome to {{ domain_context }}, {{ metadata.get('name', 'friend') }}."
    graph = build(greeting_template=template, intent={"domain_context": "pumps"})
    given = {"messages": [], "metadata": {"name": "Ada"}}
    assert (await graph.ainvoke(given, thread("a")))["answer"] == "Welcome to pumps, Ada."
    assert (await ask(graph, "hello", "b"))["answer"] == "Welcome to pumps, friend."
    with pytest.raises(TemplateInvalid, match="greeting_template"):
        build(greeting_template="{{ nonsense }}")


@pytest.mark.covers("fault 64", "T6")
@pytest.mark.parametrize("template", ["{{ cycler.__init__ }}", "{{ metadata.__class__.__mro__ }}"])
def test_a_greeting_that_leaves_the_sandbox_is_refused_when_the_graph_is_built(template):
    with pytest.raises(TemplateInvalid, match="greeting_template: SecurityError"):
        build(greeting_template=template)


@pytest.mark.covers("T6")
async def test_it_can_be_turned_off() -> None:
    assert (await ask(build(fast_path={"enabled": False}), "hello", "t"))["provenance"]["sources"]
    english = build(fast_path={"languages": ["en"]})
    assert (await ask(english, "привет", "t"))["provenance"]["sources"]


# Follow-ups


@pytest.mark.covers("I11")
async def test_a_follow_up_is_asked_alone_and_with_the_question_before_it() -> None:
    graph = build()
    await ask(graph, "How often is pump 17 serviced?", "t")
    result = await ask(graph, "And why is it?", "t")
    assert result["provenance"]["intent"]["text_queries"] == [
        "How often is pump 17 serviced? And why is it?",
        "And why is it?",
        "Pump 17 is serviced every 90 days. And why is it?",
    ]
    assert [row["source_id"] for row in result["provenance"]["results"]] == ["pump"]
    whole = await ask(graph, "Which grant types does OAuth have?", "t")
    assert whole["provenance"]["intent"]["text_queries"] == ["Which grant types does OAuth have?"]


@pytest.mark.covers("fault 6", "I11")
async def test_a_russian_follow_up_uses_the_history() -> None:
    source = InMemorySource(["Насос 17 обслуживают каждые 90 дней.", "Отпуск длится 28 дней."], name="docs")
    graph = build(sources=[source])
    await ask(graph, "Как часто обслуживают насос 17?", "t")
    result = await ask(graph, "А почему его так?", "t")
    assert result["provenance"]["intent"]["text_queries"][0] == "Как часто обслуживают насос 17? А почему его так?"
    assert result["outcome"] == "answered"
    assert "Насос 17" in result["answer"]


@pytest.mark.covers("I11")
async def test_it_can_be_turned_off_and_needs_an_earlier_question() -> None:
    graph = build(intent={"follow_ups": False})
    await ask(graph, "How often is pump 17 serviced?", "t")
    result = await ask(graph, "And why is it?", "t")
    assert result["provenance"]["intent"]["text_queries"] == ["And why is it?"]
    first = await ask(build(), "And why is it?", "t")
    assert first["provenance"]["intent"]["text_queries"] == ["And why is it?"]


@pytest.mark.covers("I1")
async def test_the_query_model_is_told_the_conversation_and_its_lines_are_read_leniently() -> None:
    query = ScriptedChatModel(
        '<think>hm</think>Here are the queries:\n1. "OAuth grant types"\n- pump maintenance\n3) c'
    )
    graph = turn_graph(
        load_settings({"intent": {"domain_context": "OAuth", "num_queries": 2}}),
        sources=[docs()],
        chat_model=ScriptedChatModel("Yes [1]."),
        query_model=query,
        checkpointer=InMemorySaver(),
    )
    await ask(graph, "first question about grants", "t")
    result = await ask(graph, "and the second?", "t")
    intent = result["provenance"]["intent"]
    assert intent["mode"] == "extract"
    assert intent["text_queries"] == ["and the second?", "OAuth grant types", "pump maintenance"]
    assert "User: first question about grants" in query.calls[1].text
    assert "about OAuth" in query.calls[1].text
    assert [call["role"] for call in result["provenance"]["models"]] == ["queries", "answer"]


@pytest.mark.covers("I1")
async def test_a_query_model_that_fails_leaves_the_message_and_a_note() -> None:
    graph = turn_graph(
        load_settings({}), sources=[docs()], query_model=ScriptedChatModel(ValueError("no")), chat_model=None
    )
    result = await ask(graph)
    assert result["provenance"]["intent"]["mode"] == "message"
    assert any("searched for as it stands" in note for note in result["notes"])
    assert result["outcome"] == "answered"


# The window


async def test_history_a_window_of_messages_moves_older_ones_to_the_store() -> None:
    graph = build(history={"keep_messages": 4})
    for n in range(5):
        await ask(graph, f"grant types {n}", "t")
    messages = (await graph.aget_state(thread())).values["messages"]
    assert [message.text for message in messages][::2] == ["grant types 3", "grant types 4"]
    moved = await graph.store.asearch(messages_namespace("t"), limit=100)
    assert {item.value["text"] for item in moved if item.value["type"] == "human"} == {
        f"grant types {n}" for n in range(3)
    }
    assert len(moved) == 6


# Scope filters


def tenants() -> InMemorySource:
    records = [{"id": f"{t}{n}", "content": f"grant type secret-{t}-{n}", "tenant": t} for t in "ab" for n in range(20)]
    return InMemorySource(records, name="docs", schema=SourceSchema("docs", {"tenant": {"type": "string"}}))


SCOPED = {"retrieval": {"scope_filters": {"docs": {"tenant": "context.tenant"}}, "score_threshold": 0.0, "top_k": 40}}


@pytest.mark.covers("R13", "fault 60")
async def test_a_conversation_is_emptied_by_its_clients_as_langgraph_has_it(saver: Any) -> None:
    graph = build(checkpointer=saver)
    anew = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    await ask(graph, on="t")
    result = await graph.ainvoke({"messages": [anew, ("user", "How often is pump 17 serviced?")]}, thread())
    assert [message.type for message in result["messages"]] == ["human", "ai"]
    assert result["messages"] == (await graph.aget_state(thread())).values["messages"]
    await graph.aupdate_state(thread(), {"messages": [anew]})
    assert (await graph.aget_state(thread())).values["messages"] == []


async def test_two_tenants_at_once_never_see_each_other() -> None:
    template = 'text_queries: ["{{ message }}"]\nfilters: {docs: {tenant: "{{ metadata.tenant }}"}}\n'
    for intent in ({"mode": "static"}, {"mode": "template", "template": template}):
        graph = build(sources=[tenants()], intent=intent, **SCOPED)

        async def one(n: int, tenant: str, graph=graph) -> None:
            other = "b" if tenant == "a" else "a"
            given = {**asking(f"grant type secret-{other}"), "metadata": {"tenant": other}}
            result = await graph.ainvoke(given, thread(f"{tenant}{n}"), context=Context(scope={"tenant": tenant}))
            rows = result["provenance"]["results"]
            assert len(rows) == 20
            assert {row["metadata"]["tenant"] for row in rows} == {tenant}
            assert f"secret-{other}" not in result["answer"]

        await asyncio.gather(*(one(n, tenant) for n in range(10) for tenant in "ab"))


@pytest.mark.covers("R13")
async def test_a_run_without_the_value_is_refused_and_the_thread_stays_usable() -> None:
    graph = build(sources=[tenants()], **SCOPED)
    with pytest.raises(ScopeMissing, match=r"context\.tenant"):
        await ask(graph, "grant type", "t")
    result = await ask(graph, "grant type", "t", context=Context(scope={"tenant": "a"}))
    assert result["outcome"] == "answered"


@pytest.mark.covers("R13", "I8")
async def test_an_edited_state_does_not_get_around_the_filters() -> None:
    graph = build(sources=[tenants()], **SCOPED)
    context = Context(scope={"tenant": "a"})
    await graph.ainvoke(asking("grant type"), thread(), context=context, interrupt_after=["resolve_intent"])
    intent = {**(await graph.aget_state(thread())).values["intent"], "filters": {"docs": {"tenant": "b"}}}
    forked = await graph.aupdate_state(thread(), {"intent": intent}, as_node="resolve_intent")
    with pytest.raises(ScopeMissing, match="began in another scope"):
        await graph.ainvoke(None, forked, context=Context(scope={"tenant": "b"}))
    result = await graph.ainvoke(None, forked, context=context)
    assert {row["metadata"]["tenant"] for row in result["provenance"]["results"]} == {"a"}


@pytest.mark.covers("R13")
@pytest.mark.parametrize(
    ("filters", "says"),
    [
        ({"dosc": {"tenant": "context.tenant"}}, "Did you mean 'docs'"),
        ({"docs": {"tennant": "context.tenant"}}, "Did you mean 'tenant'"),
        ({"docs": {"tenant": "message"}}, "no origin"),
        ({"notes": {"tenant": "context.tenant"}}, "declares no schema"),
    ],
)
def test_a_scope_filter_that_could_not_hold_fails_at_build(filters: dict, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        build(sources=[tenants(), notes()], retrieval={"scope_filters": filters})

"""Conversations over a graph with its storage: branches, what was cut, what is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from served import PUMPS, filled

from groundgraph import load_settings, open_graph
from groundgraph.core.errors import ConfigurationError, ReviewImpossible, ThreadBusy
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.graph.prune_checkpoints import prune_checkpoints
from groundgraph.serve import kept_conversations
from groundgraph.serve.conversations import Asked, NotFound, User
from groundgraph.serve.graph_conversations import GraphConversations
from groundgraph.serve.kept_conversations import KeptThreads
from groundgraph.testing import Reply, ScriptedChatModel

NOBODY = User()
QUESTION = "How often is pump 17 serviced?"


@pytest.fixture
def settings(tmp_path: Path) -> Any:
    return filled(tmp_path, {"pumps.md": PUMPS})


@asynccontextmanager
async def started(opening: AbstractAsyncContextManager[Any]) -> AsyncIterator[tuple[Any, GraphConversations, str]]:
    """The graph that is opened, its conversations, and the id of the first one."""
    async with opening as graph:
        conversations = GraphConversations(graph)
        yield graph, conversations, (await conversations.start(NOBODY, QUESTION)).id


async def take(conversations: GraphConversations, thread: str, question: str, parent: str = "") -> str:
    events = [event async for event in conversations.ask(NOBODY, thread, Asked(question, parent))]
    assert events[0]["begun"] == events[-1]["ended"]
    return str(events[-1]["ended"])


async def said(graph: Any, thread: str) -> list[str]:
    """What the user said in the conversation as its graph has it."""
    state = await graph.aget_state({"configurable": {"thread_id": thread}})
    return [message.text for message in state.values["messages"] if message.type == "human"]


async def cut_at_the_sources(events: Any) -> None:
    while (await anext(events)).get("stage", {}).get("stage") != "retrieve_source":
        pass
    await events.aclose()


@pytest.mark.covers("U8")
async def test_branches_stand_in_one_tree_and_each_goes_on_by_itself(settings: Any):
    async with started(open_graph(settings)) as (graph, conversations, thread):
        first = await take(conversations, thread, QUESTION)
        second = await take(conversations, thread, "And pump 18?", first)
        other = await take(conversations, thread, "Where does pump 18 stand?")
        await take(conversations, thread, "Is it retired?", other)
        again = await take(conversations, thread, "When is its filter changed?", first)
    # After a restart everything is as it was, and goes on.
    async with open_graph(settings) as graph:
        conversations = GraphConversations(graph)
        last = await take(conversations, thread, "How often is it serviced?", again)
        turns = await conversations.turns(NOBODY, thread)
        assert [turn.parent for turn in turns] == ["", first, "", other, first, again]
        assert {turn.outcome for turn in turns} == {"answered"}
        records = [await conversations.record(NOBODY, thread, turn.id) for turn in turns]
        assert "hall 3" in records[2]["answer"]
        assert "90 days" in records[-1]["answer"]
        assert await said(graph, thread) == [QUESTION, "When is its filter changed?", "How often is it serviced?"]
    assert last not in (first, second)


@pytest.mark.covers("U8")
async def test_a_turn_that_was_cut_is_there_without_an_outcome_and_is_asked_again(settings: Any):
    model = ScriptedChatModel(default=Reply("Every 90 days [1].", delay=1))
    written = settings.model_copy(
        update={"synthesis": settings.synthesis.model_copy(update={"style": "conversational"})}
    )
    async with started(open_graph(written, chat_model=model)) as (_, conversations, thread):
        events = conversations.ask(NOBODY, thread, Asked(QUESTION))
        cut = (await anext(events))["begun"]
        await anext(events)
        await events.aclose()
    async with open_graph(settings) as graph:
        conversations = GraphConversations(graph)
        assert [turn.outcome for turn in await conversations.turns(NOBODY, thread)] == [None]
        with pytest.raises(NotFound, match="interrupted"):
            await conversations.record(NOBODY, thread, cut)
        with pytest.raises(NotFound, match="interrupted"):
            await take(conversations, thread, "And pump 18?", cut)
        done = await take(conversations, thread, QUESTION)
        assert "90 days" in (await conversations.record(NOBODY, thread, done))["answer"]


@pytest.mark.covers("U8")
async def test_behind_a_first_question_that_was_cut_each_first_question_begins_the_conversation_anew(settings: Any):
    async with started(open_graph(settings)) as (graph, conversations, thread):
        events = conversations.ask(NOBODY, thread, Asked(QUESTION))
        await cut_at_the_sources(events)
        first = await take(conversations, thread, "Where does pump 18 stand?")
        await take(conversations, thread, "Is it retired?", first)
        for question in ("When is the filter of pump 17 changed?", QUESTION):
            last = await take(conversations, thread, question)
            assert await said(graph, thread) == [question]
        assert [turn.parent for turn in await conversations.turns(NOBODY, thread)] == ["", "", first, "", ""]
        assert "90 days" in (await conversations.record(NOBODY, thread, last))["answer"]


@pytest.mark.covers("U8")
async def test_of_two_first_questions_at_once_neither_goes_on_behind_the_other(settings: Any):
    async with started(open_graph(settings)) as (graph, conversations, thread):
        questions = (QUESTION, "Where does pump 18 stand?")
        turns = await asyncio.gather(*(take(conversations, thread, question) for question in questions))
        for turn, question in zip(turns, questions, strict=True):
            await take(conversations, thread, "And its filter?", turn)
            assert await said(graph, thread) == [question, "And its filter?"]


@pytest.mark.covers("U13")
@pytest.mark.parametrize("by", ["page", "command"])
async def test_a_conversation_is_forgotten_with_its_title_its_branches_and_its_marks(settings: Any, by: str):
    async with started(open_graph(settings)) as (graph, conversations, thread):
        turn = await take(conversations, thread, QUESTION)
        await conversations.mark(NOBODY, thread, turn, {"mark": "bad", "comment": "It is 60 days."})
        assert (await conversations.turns(NOBODY, thread))[0].mark["comment"] == "It is 60 days."
        if by == "page":
            await conversations.delete(NOBODY, thread)
        else:
            await forget_thread(graph, thread)
        assert await conversations.threads(NOBODY) == []
        assert await graph.store.asearch(("groundgraph",)) == []
        with pytest.raises(NotFound):
            await conversations.turns(NOBODY, thread)


@pytest.mark.covers("U13")
@pytest.mark.parametrize("cut", [False, True])
async def test_a_conversation_that_is_deleted_when_a_question_has_just_come_stays_deleted(settings: Any, cut: bool):
    async with started(open_graph(settings)) as (graph, conversations, thread):
        events = conversations.ask(NOBODY, thread, Asked(QUESTION))
        await anext(events)
        await conversations.delete(NOBODY, thread)
        if cut:
            await cut_at_the_sources(events)
        else:
            with pytest.raises(NotFound):
                async for _ in events:
                    pass
        assert await graph.store.asearch(("groundgraph",)) == []
        assert not (await graph.aget_state({"configurable": {"thread_id": thread}})).values


@pytest.mark.covers("U13")
@pytest.mark.parametrize("change", ["question", "mark"])
async def test_what_comes_while_its_conversation_is_deleted_brings_nothing_back(settings: Any, change: str):
    async with started(open_graph(settings)) as (graph, conversations, thread):
        turn = await take(conversations, thread, QUESTION)
        read = graph.store.aget

        async def deleted_behind(*arguments: Any, **options: Any) -> Any:
            found = await read(*arguments, **options)
            graph.store.aget = read
            await conversations.delete(NOBODY, thread)
            return found

        graph.store.aget = deleted_behind
        with suppress(NotFound):
            if change == "mark":
                await conversations.mark(NOBODY, thread, turn, {"mark": "bad"})
            else:
                await take(conversations, thread, "And pump 18?")
        assert await conversations.threads(NOBODY) == []
        assert await graph.store.asearch(("groundgraph",)) == []


@pytest.mark.covers("U8")
async def test_a_turn_that_ends_while_it_is_looked_at_was_not_interrupted(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    async with started(open_graph(settings)) as (_, conversations, thread):
        for look in ("turns", "node"):
            events = conversations.ask(NOBODY, thread, Asked(QUESTION))
            turn = (await anext(events))["begun"]
            read = getattr(KeptThreads, look)

            async def ended_behind(kept: KeptThreads, *arguments: Any, read: Any = read, events: Any = events) -> Any:
                monkeypatch.undo()
                found = await read(kept, *arguments)
                async for _ in events:
                    pass
                return found

            monkeypatch.setattr(KeptThreads, look, ended_behind)
            if look == "turns":
                found = {one.id: one for one in await conversations.turns(NOBODY, thread)}[turn]
                assert (found.outcome, found.running) == (None, True)
            else:
                with pytest.raises(ThreadBusy):
                    await take(conversations, thread, "And pump 18?", turn)
            assert (await conversations.turns(NOBODY, thread))[-1].running is False
            assert (await conversations.turns(NOBODY, thread))[-1].outcome == "answered"


async def test_the_oldest_of_many_conversations_and_of_many_turns_are_there(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(kept_conversations, "_PAGE", 3)
    async with open_graph(settings) as graph:
        conversations = GraphConversations(graph)
        started = [(await conversations.start(NOBODY, f"Pump {number}")).id for number in range(7)]
        turn, turns = "", []
        for _ in range(4):
            turns.append(turn := await take(conversations, started[0], QUESTION, turn))
        assert {thread.id for thread in await conversations.threads(NOBODY)} == {*started}
        assert (await conversations.threads(NOBODY))[0].id == started[0]
        assert [kept.id for kept in await conversations.turns(NOBODY, started[0])] == turns


async def test_behind_a_turn_that_was_pruned_nothing_begins_with_an_empty_memory(settings: Any):
    async with started(open_graph(settings)) as (graph, conversations, thread):
        first = await take(conversations, thread, QUESTION)
        second = await take(conversations, thread, "And pump 18?", first)
        await prune_checkpoints(graph, keep_turns=1, older_than=None)
        for parent in ("", first):
            with pytest.raises(NotFound, match="pruned"):
                await take(conversations, thread, "Where does it stand?", parent)
        await take(conversations, thread, "Where does it stand?", second)


async def test_what_keeps_no_records_cannot_be_served(settings: Any):
    async with open_graph(settings.model_copy(update={"store_provenance": False})) as graph:
        with pytest.raises(ConfigurationError, match="store_provenance"):
            GraphConversations(graph)


def reviewed(settings: Any) -> Any:
    """A graph whose answer, of which the evidence holds nothing, waits for a person."""
    weak = {
        "synthesis": {"style": "conversational"},
        "human_review": {"support_below": 0.9},
        "citation_check": {"numbers": "refuse"},
        "intent": {"mode": "static"},
    }
    model = ScriptedChatModel(default=Reply("The moon orbits a cheese [1]."))
    return open_graph(
        load_settings({**settings.model_dump(exclude_unset=True), **weak}).model_copy(
            update={"base_dir": settings.base_dir}
        ),
        chat_model=model,
    )


@pytest.mark.covers("U8", "U3")
async def test_whoever_cannot_be_asked_for_a_decision_is_told_where_it_is_asked_for(settings: Any):
    async with started(reviewed(settings)) as (_, conversations, thread):
        with pytest.raises(ReviewImpossible, match="Ask on the page"):
            await take(conversations, thread, QUESTION)


@pytest.mark.covers("U8", "U3")
@pytest.mark.parametrize(
    ("decision", "outcome"),
    [
        ({"decision": "approve"}, "answered"),
        ({"decision": "refuse"}, "insufficient"),
        ({"decision": "replace", "text": "Pump 17 is serviced every 90 days [1]."}, "answered"),
    ],
)
async def test_an_answer_that_waits_goes_on_with_a_decision_after_a_restart(
    settings: Any, decision: dict[str, str], outcome: str
):
    async with started(reviewed(settings)) as (graph, conversations, thread):
        asked = Asked(QUESTION, reviewed=True)
        events = [event async for event in conversations.ask(NOBODY, thread, asked)]
        waits = events[-1]["waits"]
        assert events[-1]["asked"]["answer"] == "The moon orbits a cheese [1]."
        assert not any("text" in event for event in events)
        with pytest.raises(NotFound, match="Decide about it first"):
            await take(conversations, thread, "And pump 18?", waits)
    async with reviewed(settings) as graph:
        conversations = GraphConversations(graph)
        [kept] = await conversations.turns(NOBODY, thread)
        assert kept.asked is not None
        again = [event async for event in conversations.decide(NOBODY, thread, waits, {"decision": "perhaps"})]
        assert "decision" in again[-1]["asked"]["problem"]
        if decision["decision"] == "replace":
            wrong = {"decision": "replace", "text": "Pump 17 is serviced every 12 days [1]."}
            again = [event async for event in conversations.decide(NOBODY, thread, waits, wrong)]
            assert again[-1]["asked"]["answer"] == wrong["text"]
            assert "citation_check refuses it" in again[-1]["asked"]["problem"]
        # Another branch that was taken meanwhile does not change what is decided about.
        [*_, other] = [
            event
            async for event in conversations.ask(NOBODY, thread, Asked("Where does pump 18 stand?", reviewed=True))
        ]
        ended = [event async for event in conversations.decide(NOBODY, thread, waits, decision)][-1]
        assert ended["ended"] == waits
        assert ended["record"]["question"] == QUESTION
        assert ended["record"]["outcome"] == outcome
        assert ("cheese" in ended["record"]["answer"]) == (decision["decision"] == "approve")
        turns = {turn.id: turn for turn in await conversations.turns(NOBODY, thread)}
        assert turns[waits].asked is None
        assert turns[waits].outcome == outcome
        assert turns[other["waits"]].asked is not None
        with pytest.raises(NotFound, match="Nobody has to decide"):
            [event async for event in conversations.decide(NOBODY, thread, waits, decision)]
        follow_up = [
            event async for event in conversations.ask(NOBODY, thread, Asked("And pump 18?", waits, reviewed=True))
        ]
        assert "waits" in follow_up[-1]

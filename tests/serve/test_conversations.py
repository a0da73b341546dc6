"""Conversations over a graph with its storage: branches, what was cut, what is forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from served import PUMPS, filled

from groundgraph import open_graph
from groundgraph.core.errors import ConfigurationError
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.graph.prune_checkpoints import prune_checkpoints
from groundgraph.serve.conversations import Asked, NotFound, User
from groundgraph.serve.graph_conversations import GraphConversations
from groundgraph.testing import Reply, ScriptedChatModel

NOBODY = User()
QUESTION = "How often is pump 17 serviced?"


@pytest.fixture
def settings(tmp_path: Path) -> Any:
    return filled(tmp_path, {"pumps.md": PUMPS})


async def take(conversations: GraphConversations, thread: str, question: str, parent: str = "") -> str:
    events = [event async for event in conversations.ask(NOBODY, thread, Asked(question, parent))]
    assert events[0]["begun"] == events[-1]["ended"]
    return str(events[-1]["ended"])


@pytest.mark.covers("U8")
async def test_branches_stand_in_one_tree_and_each_goes_on_by_itself(settings: Any):
    async with open_graph(settings) as graph:
        conversations = GraphConversations(graph)
        thread = (await conversations.start(NOBODY, QUESTION)).id
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
        state = await graph.aget_state({"configurable": {"thread_id": thread}})
    said = [message.text for message in state.values["messages"] if message.type == "human"]
    assert said == [QUESTION, "When is its filter changed?", "How often is it serviced?"]
    assert last not in (first, second)


@pytest.mark.covers("U8")
async def test_a_turn_that_was_cut_is_there_without_an_outcome_and_is_asked_again(settings: Any):
    model = ScriptedChatModel(default=Reply("Every 90 days [1].", delay=5))
    written = settings.model_copy(
        update={"synthesis": settings.synthesis.model_copy(update={"style": "conversational"})}
    )
    async with open_graph(written, chat_model=model) as graph:
        conversations = GraphConversations(graph)
        thread = (await conversations.start(NOBODY, QUESTION)).id
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


@pytest.mark.covers("U13")
@pytest.mark.parametrize("by", ["page", "command"])
async def test_a_conversation_is_forgotten_with_its_title_its_branches_and_its_marks(settings: Any, by: str):
    async with open_graph(settings) as graph:
        conversations = GraphConversations(graph)
        thread = (await conversations.start(NOBODY, QUESTION)).id
        turn = await take(conversations, thread, QUESTION)
        await conversations.mark(NOBODY, thread, turn, {"mark": "bad", "comment": "It is 60 days."})
        assert (await conversations.turns(NOBODY, thread))[0].mark["comment"] == "It is 60 days."
        if by == "page":
            await conversations.delete(NOBODY, thread)
        else:
            await forget_thread(graph, thread)
        assert await conversations.threads(NOBODY) == []
        assert graph.store is not None
        assert await graph.store.asearch(("groundgraph",)) == []
        with pytest.raises(NotFound):
            await conversations.turns(NOBODY, thread)


async def test_behind_a_turn_that_was_pruned_nothing_begins_with_an_empty_memory(settings: Any):
    async with open_graph(settings) as graph:
        conversations = GraphConversations(graph)
        thread = (await conversations.start(NOBODY, QUESTION)).id
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

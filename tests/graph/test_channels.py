"""How the channels of a conversation are kept in checkpoints."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import StateGraph

from groundgraph.graph.state import MESSAGES_BEFORE_FIRST_SNAPSHOT, GrowingListChannel, TurnInput, messages_channel

FIRST = MESSAGES_BEFORE_FIRST_SNAPSHOT
THREAD = {"configurable": {"thread_id": "long"}}


def conversation(messages: int) -> list[HumanMessage]:
    return [HumanMessage(str(number), id=str(number)) for number in range(messages)]


def held(messages: int) -> GrowingListChannel:
    """The channel as it is read from a checkpoint that holds the conversation whole."""
    return messages_channel().from_checkpoint(_DeltaSnapshot(conversation(messages)))


@pytest.mark.covers("L9")
async def test_all_snapshots_of_a_long_conversation_together_are_below_twice_its_length() -> None:
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        graph = StateGraph(TurnInput)
        graph.add_node("reply", lambda state: {"messages": [("ai", "yes")]})
        app = graph.set_entry_point("reply").compile(checkpointer=saver)
        for number in range(3 * FIRST):
            await app.ainvoke({"messages": [HumanMessage(str(number))]}, THREAD)

        points = [point.checkpoint["channel_values"].get("messages") async for point in saver.alist(THREAD)]
        length = len((await app.aget_state(THREAD)).values["messages"])
    snapshots = [len(point.value) for point in points if isinstance(point, _DeltaSnapshot)][::-1]
    assert length == 6 * FIRST
    assert snapshots == [FIRST, 2 * FIRST, 4 * FIRST]
    assert sum(snapshots) < 2 * length


def test_the_fewest_writes_between_two_snapshots_hold_for_a_short_conversation() -> None:
    assert messages_channel().snapshot_frequency == FIRST
    assert held(3).snapshot_frequency == FIRST


def test_a_copy_of_the_channel_goes_back_to_short_distances_when_the_conversation_is_cut() -> None:
    copied = held(6 * FIRST).copy()
    assert copied.snapshot_frequency == 3 * FIRST
    copied.update([[RemoveMessage(message.id) for message in conversation(6 * FIRST - 2)]])
    assert copied.snapshot_frequency == FIRST


def test_reading_a_checkpoint_does_not_carry_the_distance_of_another_over() -> None:
    assert held(6 * FIRST).from_checkpoint(_DeltaSnapshot(conversation(2))).snapshot_frequency == FIRST

"""Who is asked what: one task for each source and query."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable

from langchain_core.messages import AnyMessage
from langgraph.types import Send
from typing_extensions import TypedDict

from groundgraph.answers.answer_prompt import recent_conversation
from groundgraph.core.intent import IntentState
from groundgraph.core.turn_values import RetrievalTask, Turn
from groundgraph.nodes.retrieve_source import RetrieveSourceInput
from groundgraph.text.follow_up import is_follow_up

# What a fan-out decides, as the picture of the graph shows it.
SEARCH: dict[Hashable, str] = {"search": "retrieve_source", "skip": "process_results"}


class FanOutInput(TypedDict, total=False):
    """What decides who is asked what."""

    messages: list[AnyMessage]
    turn: Turn
    intent: IntentState


def fan_out_to(whole_topics: frozenset[str]) -> Callable[[FanOutInput], Awaitable[list[Send] | str]]:
    """One task per source and query that the intent names; `skip` when every source is skipped.

    The sources `whole_topics` get one task with the question in place of the queries.
    """

    async def fan_out(state: FanOutInput) -> list[Send] | str:
        intent = state["intent"]
        sends = [
            Send("retrieve_source", retrieval_task(state, name, number, query))
            for name in intent["sources"]
            for number, query in enumerate([topic_question(state)] if name in whole_topics else intent["text_queries"])
        ]
        return sends or "skip"

    return fan_out


def topic_question(state: FanOutInput) -> str:
    """What a source with a topic index is asked: the question of the user.

    A question that leans on the conversation says too little, so what was made of it takes its place; and a
    configuration with fixed queries may leave the message out.
    """
    intent = state["intent"]
    question = intent["rewritten"] or state["turn"]["question"]
    made = {
        "message": True,
        "static": question not in intent["text_queries"],
        "extract": is_follow_up(question) and bool(recent_conversation(state.get("messages", []), state["turn"], 1)),
    }
    return intent["text_queries"][0] if made.get(intent["mode"]) and intent["text_queries"] else question


def retrieval_task(state: FanOutInput, source: str, number: int, query: str) -> RetrieveSourceInput:
    """The task of asking `source` the query of that number; merging keeps the order of the numbers."""
    intent = state["intent"]
    task: RetrievalTask = {
        "name": f"{source}/{number}",
        "source": source,
        "query": query,
        "filters": intent["filters"].get(source, {}),
        "scope": intent["scope"],
        "categories": intent["categories"],
        "raw_data": intent["raw_data"],
        "options": state["turn"]["options"],
    }
    return {"task": task}

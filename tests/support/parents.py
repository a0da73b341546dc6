"""Larger graphs that the tests of embedding put a turn into."""

from __future__ import annotations

from operator import or_
from typing import Annotated, Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

ANSWER = "Four types [1], clients [2]."


class Desk(MessagesState):
    """A state with what a turn keeps from one run to the next."""

    metadata: Annotated[dict[str, Any], or_]


def in_a_row(schema: Any = Desk, *, context_schema: Any = None, **nodes: Any) -> StateGraph:
    """A graph of these nodes, one behind the other."""
    builder = StateGraph(schema, context_schema=context_schema)
    for name, node in nodes.items():
        builder.add_node(name, node)
    for before, after in zip([START, *nodes], nodes, strict=False):
        builder.add_edge(before, after)
    return builder


def calls_of(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """An input that ends in a model's calls of tools, as (name, arguments)."""
    made = [{"name": name, "args": args, "id": str(n), "type": "tool_call"} for n, (name, args) in enumerate(calls)]
    return {"messages": [HumanMessage("Look it up."), AIMessage("", tool_calls=made)]}


async def streamed(graph: Any, given: Any, config: Any) -> dict[tuple[str, ...], str]:
    """The streamed text by namespace, with the ids of tasks left out of it."""
    pieces: dict[tuple[str, ...], str] = {}
    async for space, (chunk, _) in graph.astream(given, config, stream_mode="messages", subgraphs=True):
        named = tuple(part.split(":")[0] for part in space)
        pieces[named] = pieces.get(named, "") + chunk.text
    return pieces

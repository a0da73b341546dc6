"""A help desk whose first step is a turn: `python run.py "When is pump 17 serviced?" "How long does that take?"`."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore

from groundgraph import load_settings, turn_graph


class Desk(MessagesState):
    metadata: dict[str, Any]  # what a turn keeps for the next one
    outcome: str  # what the turn made of the question


def desk(turn: Any) -> Any:  # the turn is compiled without a checkpointer: it uses this one
    ticket = "\nTicket opened: somebody will look into it."
    builder = StateGraph(Desk).add_node("manual", turn).add_edge(START, "manual")
    builder.add_node("open_ticket", lambda state: {"messages": [AIMessage(ticket)]})  # noqa: ARG005
    ways: Any = {"answered": END, "chat": END, "insufficient": "open_ticket", "unavailable": "open_ticket"}
    builder.add_conditional_edges("manual", lambda state: state["outcome"], ways)
    return builder.compile(checkpointer=InMemorySaver(), store=InMemoryStore())


async def main(questions: list[str]) -> None:
    graph = desk(turn_graph(load_settings(Path(__file__).parent / "groundgraph.yaml")))
    for question in questions:
        given, config = {"messages": [("user", question)]}, {"configurable": {"thread_id": "visit-1"}}
        async for _, (chunk, _) in graph.astream(given, config, stream_mode="messages", subgraphs=True):
            print(chunk.text, end="")
        print("\n---")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))

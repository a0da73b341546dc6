"""A whole turn as a tool of an agent (U4)."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.base import BaseCheckpointSaver

from groundgraph.core.context import Context
from groundgraph.core.errors import ConfigurationError
from groundgraph.core.settings import Settings
from groundgraph.graph.background_loop import run_in_background
from groundgraph.graph.turn import turn_graph
from groundgraph.graph.turn_runner import TurnRunner


def turn_tool(
    graph: TurnRunner | Settings,
    *,
    name: str = "ask_knowledge",
    description: str | None = None,
    context: Context | None = None,
) -> BaseTool:
    """A LangChain tool that runs a turn: the model gets a checked answer where `retrieval_tool` gives it evidence.

    The artifact of the tool message is a mapping with `turn_id`, `outcome`, `notes`, `citations` and `support`.

    Args:
        graph: a turn graph without a checkpointer of its own, or settings to build one from. With the parent's
            checkpointer a turn is resumed where it stopped; built with `checkpointer=False` it is run again, and with
            `checkpointer=True` it remembers the agent's earlier questions on this thread.
        name: of the tool.
        description: what the model is told about it.
        context: the choices of every turn, for example the scope of a tenant; the model cannot change them.

    Raises:
        ConfigurationError: `graph` is no turn graph, or has a checkpointer, for which a tool has no thread.
    """
    runner = turn_graph(graph) if isinstance(graph, Settings) else graph
    _check(runner)

    async def ask(question: str) -> tuple[str, dict[str, Any]]:
        output = await runner.ainvoke({"question": question}, context=context)
        told = "\n\n".join([output["answer"], *output["notes"]])
        kept = {key: output[key] for key in ("outcome", "notes", "citations", "support")}
        return told, {"turn_id": output["provenance"]["turn_id"], **kept}

    def ask_and_wait(question: str) -> tuple[str, dict[str, Any]]:
        home = runner.home()
        return run_in_background(ask(question), home)

    return StructuredTool.from_function(
        ask_and_wait,
        coroutine=ask,
        name=name,
        description=description or "Ask the knowledge base. The answer is grounded in it and checked against it.",
        response_format="content_and_artifact",
    )


def _check(graph: TurnRunner) -> None:
    if "answer" not in graph.output_channels:
        raise ConfigurationError("turn_tool needs a turn graph (turn_graph); for a retrieval graph use retrieval_tool.")
    if isinstance(graph.checkpointer, BaseCheckpointSaver):
        raise ConfigurationError(
            "This graph has a checkpointer, and a tool has no thread for it. Build the graph without one: inside an "
            "agent it uses the agent's."
        )

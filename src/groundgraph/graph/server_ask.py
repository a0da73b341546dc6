"""The turn behind the narrowest door: a question in, an answer with its citations out.

Whoever speaks the Model Context Protocol to the server sees the schemas of a graph's input and output, and gets the
whole output as text; a turn's own output, with its record, would fill the context of the model that asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langgraph._internal._config import ensure_config
from langgraph.channels import UntrackedValue
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from pydantic import Field
from typing_extensions import TypedDict

from groundgraph.core.turn_values import Choice, Citation, Outcome
from groundgraph.graph.stopped_turns import refuse_undue_decision, told_nothing_is_there
from groundgraph.graph.studio import with_defaults
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.nodes.begin_turn import check_command, check_keys
from groundgraph.settings.context import Context
from groundgraph.settings.settings import Settings

Question = Annotated[str, Field(description="What to look up, in words; each question stands alone.", min_length=1)]


class AskInput(TypedDict):
    """What a caller gives."""

    question: Question


class AskOutput(TypedDict, total=False):
    """What a caller gets: as the fields of a turn's output."""

    answer: Annotated[
        str, Field(description="The answer; a number in brackets cites the evidence with this label."), UntrackedValue
    ]
    outcome: Annotated[
        Outcome,
        Field(
            description="insufficient: the sources do not say; unavailable: a source could not be asked; clarify: the "
            "answer asks which of the choices is meant."
        ),
        UntrackedValue,
    ]
    notes: Annotated[list[str], Field(description="What a reader should know about the answer."), UntrackedValue]
    citations: Annotated[list[Citation], Field(description="What each label refers to."), UntrackedValue]
    choices: Annotated[
        list[Choice], Field(description="What may be meant; none unless the outcome is clarify."), UntrackedValue
    ]


class AskState(AskInput, AskOutput, total=False):
    """Every channel of the graph; the turn has its own."""


class AskGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """The compiled graph, which shows the defaults of the turn inside; `StateGraph.compile` makes no subclass."""

    settings: Settings

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """As LangGraph's, which would drop keys that the graph does not know, and greet who asks under one of them.

        Raises:
            InputInvalid: the input asks nothing, or is a command that does more than go on with a turn.
            NothingToResume: it brings a decision that nobody waits for, or is none where nothing is under way.
        """
        if isinstance(input, Mapping):
            check_keys(input, list(AskInput.__annotations__))
        if isinstance(input, Command):
            check_command(input)
            await refuse_undue_decision(self, input, ensure_config(config))
        with told_nothing_is_there("question", "Ask one."):
            async for item in super().astream(input, config, **kwargs):
                yield item

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """As LangGraph's, with the values of the settings as defaults."""
        schema = super().get_context_jsonschema()
        return with_defaults(schema, self.settings, self.nodes) if schema else None

    def copy(self, update: dict[str, Any] | None = None) -> Any:
        """As LangGraph's, with the settings."""
        copied = super().copy(update)
        copied.settings = self.settings
        return copied


def ask_graph(turn: TurnRunner) -> AskGraph:
    """The graph of one question around `turn`."""
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(
        AskState, context_schema=Context, input_schema=AskInput, output_schema=AskOutput
    )
    builder.add_node("turn", turn)
    builder.add_edge(START, "turn")
    builder.add_edge("turn", END)
    compiled = builder.compile(name="ask")
    compiled.__class__ = AskGraph
    graph: AskGraph = compiled  # type: ignore[assignment]
    graph.settings = turn.resources.settings
    return graph

"""The retrieval graph: intent, retrieval and merging alone, for an agent that writes its answers itself."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, NamedTuple, Unpack

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.channels import UntrackedValue
from langgraph.graph import END, START
from langgraph.store.base import BaseStore
from typing_extensions import TypedDict

from groundgraph.core.turn_record import Evidence, TurnRecord
from groundgraph.core.turn_values import Outcome
from groundgraph.graph.parts import GraphParts, takes
from groundgraph.graph.resources import Resources
from groundgraph.graph.retrieval_part import add_retrieval
from groundgraph.graph.state import Lifetime, TurnInput, TurnState
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.graph.typed_runs import TurnGraph
from groundgraph.nodes.begin_turn import begin_turn
from groundgraph.nodes.give_context import give_context
from groundgraph.resilience.blocking import plain_function
from groundgraph.settings.context import Context
from groundgraph.settings.load_settings import GivenSettings
from groundgraph.storage.long_threads import with_long_threads
from groundgraph.tracing.tracing import state_graph, traced_runs


class RetrievalState(TurnState, total=False):
    """The channels of a turn, and what a retrieval gives instead of an answer."""

    context: Annotated[str, Lifetime("run"), UntrackedValue]
    evidence: Annotated[list[Evidence], Lifetime("run"), UntrackedValue]


class RetrievalOutput(TypedDict):
    """What a caller gets of a retrieval; see `RetrievedContext`."""

    context: Annotated[str, UntrackedValue]
    evidence: Annotated[list[Evidence], UntrackedValue]
    outcome: Annotated[Outcome, UntrackedValue]
    notes: Annotated[list[str], UntrackedValue]
    provenance: Annotated[TurnRecord, UntrackedValue]


class RetrievedContext(NamedTuple):
    """What was found for a question; `context, evidence, provenance, outcome = …` takes it apart.

    Attributes:
        context: the texts of the evidence, each under its label.
        evidence: the pieces of evidence in the order of their labels.
        provenance: the record of the retrieval.
        outcome: `answered` when there is evidence, else `insufficient`, `unavailable` or `chat` as for a turn.
    """

    context: str
    evidence: list[Evidence]
    provenance: TurnRecord
    outcome: Outcome


@takes(GraphParts)
def retrieval_graph(settings: GivenSettings = None, **parts: Unpack[GraphParts]) -> TurnGraph[RetrievalOutput]:
    """The compiled retrieval graph; arguments and errors as for `turn_graph`."""
    return compiled_retrieval(Resources.build(settings, **parts), parts.get("checkpointer"), parts.get("store"))


def compiled_retrieval(resources: Resources, checkpointer: Any, store: BaseStore | None) -> TurnGraph[RetrievalOutput]:
    """The retrieval graph over what a graph is made of already; without checkpoints when `checkpointer` is False."""
    settings, prompts, evidence = resources.settings, resources.prompts, resources.evidence
    builder = state_graph(settings.tracing, evidence)(
        RetrievalState, context_schema=Context, input_schema=TurnInput, output_schema=RetrievalOutput
    )
    builder.add_node("begin_turn", begin_turn(settings, prompts, evidence, list(resources.sources)))
    add_retrieval(builder, resources, reply="give_context", reader="caller")
    builder.add_node("give_context", give_context(settings, prompts, evidence))
    builder.add_edge(START, "begin_turn")
    builder.add_edge("process_results", "give_context")
    builder.add_edge("give_context", END)
    compiled = builder.compile(checkpointer=with_long_threads(checkpointer), store=store, name="retrieval")
    again = partial(compiled_retrieval, resources, False, store)
    runner: TurnGraph[RetrievalOutput] = TurnGraph.adopt(compiled, resources, again)
    return traced_runs(runner, settings.tracing)


async def retrieve_context(
    graph: TurnRunner | GivenSettings,
    question: str,
    *,
    config: RunnableConfig | None = None,
    context: Context | None = None,
) -> RetrievedContext:
    """What the graph's sources hold for `question`; no answer is written and no thread is touched.

    Args:
        graph: a turn graph or a retrieval graph, or settings to build one from, or what `load_settings` takes.
        question: in words.
        config: of the run: callbacks, tags.
        context: the choices of this run.

    Raises:
        GroundGraphError: as for a turn.
    """
    found = await _runner(graph).retrieval().ainvoke({"question": question}, config, context=context)
    return RetrievedContext(found["context"], found["evidence"], found["provenance"], found["outcome"])


retrieve_context_sync = plain_function(retrieve_context, "retrieve_context_sync")


def _runner(graph: TurnRunner | GivenSettings) -> TurnRunner:
    return graph if isinstance(graph, TurnRunner) else retrieval_graph(graph)


# An outage must not read like ignorance.
_NOT_SEARCHED = "The sources could not be searched, so nothing is known of what they hold (unavailable)."


def retrieval_tool(
    graph: TurnRunner | GivenSettings = None,
    *,
    name: str = "search_knowledge",
    description: str | None = None,
    context: Context | None = None,
) -> BaseTool:
    """A LangChain tool over `retrieve_context`, whose tool message has the evidence as its artifact.

    Args:
        graph: a turn or retrieval graph, or settings to build one from, or what `load_settings` takes.
        name: of the tool.
        description: what the model is told about it.
        context: the choices of every search, for example the scope of a tenant; the model cannot change them.
    """
    runner = _runner(graph)

    async def search(question: str) -> tuple[str, list[Evidence]]:
        found = await retrieve_context(runner, question, context=context)
        notes = "\n".join(found.provenance["notes"])
        told = found.context or (
            _NOT_SEARCHED if found.outcome == "unavailable" else f"Nothing was found ({found.outcome})."
        )
        return (f"{told}\n\n{notes}" if notes else told), found.evidence

    told = "Search the knowledge base. Cite passages by their number in square brackets."
    return runner.tool(search, name, description or told)

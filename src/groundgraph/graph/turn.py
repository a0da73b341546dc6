"""The turn graph: one message in, one checked answer out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any, Unpack

from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from groundgraph.core.errors import ConfigurationError, Problem, refuse_any
from groundgraph.graph.parts import GraphParts, takes
from groundgraph.graph.resources import Resources
from groundgraph.graph.retrieval_part import add_retrieval, again_or
from groundgraph.graph.state import TurnInput, TurnOutput, TurnState
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.graph.typed_runs import TurnGraph
from groundgraph.models.chat_model import configured_model
from groundgraph.nodes.answer_styles import answer_conversational, answer_hybrid, answer_structured
from groundgraph.nodes.begin_turn import begin_turn
from groundgraph.nodes.check_citations import check_citations
from groundgraph.nodes.process_results import choose_answer
from groundgraph.nodes.record_turn import record_turn
from groundgraph.nodes.refuse_answer import RefuseAnswerInput, refuse_answer
from groundgraph.nodes.report_absence import report_absence
from groundgraph.settings.context import Context
from groundgraph.settings.load_settings import GivenSettings
from groundgraph.settings.services import ModelSettings
from groundgraph.settings.settings import Settings
from groundgraph.storage.long_threads import with_long_threads
from groundgraph.tracing.tracing import state_graph, traced_runs

ANSWERS: dict[Hashable, str] = {
    "structured": "answer_structured",
    "conversational": "answer_conversational",
    "hybrid": "answer_hybrid",
    "no evidence": "report_absence",
}


@takes(GraphParts)
def turn_graph(settings: GivenSettings = None, **parts: Unpack[GraphParts]) -> TurnGraph[TurnOutput]:
    """The compiled graph of a turn. It opens nothing by itself.

    Args:
        settings: from `load_settings`, or what it takes; they decide the topology.
        parts: see `GraphParts`: `sources`, models, `checkpointer`, `store`.

    Raises:
        ConfigurationError: settings and sources cannot work together; every problem is listed. Or a policy needs a
            model, and there is none, or a person is to decide, and no step is kept.
    """
    resources, checkpointer, store = Resources.build(settings, **parts), parts.get("checkpointer"), parts.get("store")
    _check_policies(resources)
    _check_review(resources.settings, checkpointer)
    compiled = _builder(resources).compile(checkpointer=with_long_threads(checkpointer), store=store, name="turn")
    runner: TurnGraph[TurnOutput] = TurnGraph.adopt(compiled, resources, _retrieval_of(resources, store))
    return traced_runs(runner, resources.settings.tracing)


def _retrieval_of(resources: Resources, store: BaseStore | None) -> Callable[[], TurnRunner]:
    """The retrieval part of the graph alone, which few ask for."""

    def compiled() -> TurnRunner:
        from groundgraph.graph.retrieval import compiled_retrieval

        return compiled_retrieval(resources, False, store)

    return compiled


def _check_policies(resources: Resources) -> None:
    policies = resources.settings.citation_check.policies
    problems = [
        Problem(f"citation_check.{name}", "repair needs a model that writes again; set llm or pass chat_model")
        for name, policy in policies.items()
        if policy == "repair" and resources.chat_model is None
    ]
    refuse_any(problems)


def _check_review(settings: Settings, checkpointer: Any) -> None:
    if checkpointer is False and settings.human_review.support_below is not None:
        # Run again as a whole, the turn would write another answer, which the person who decides has never seen.
        reason = (
            "needs the steps of a turn, and checkpointer=False keeps none; leave the checkpointer or the review out"
        )
        raise ConfigurationError([Problem("human_review.support_below", reason)])


def _builder(resources: Resources) -> StateGraph[Any, Any, Any, Any]:
    settings, prompts, evidence = resources.settings, resources.prompts, resources.evidence
    templates, model = resources.templates, resources.chat_model
    builder = state_graph(settings.tracing, evidence)(
        TurnState, context_schema=Context, input_schema=TurnInput, output_schema=TurnOutput
    )
    builder.add_node("begin_turn", begin_turn(settings, prompts, evidence, list(resources.sources)))
    add_retrieval(builder, resources, reply="record_turn", reader="model" if model else None)
    builder.add_node("answer_structured", answer_structured(settings, templates, evidence))
    builder.add_node("answer_conversational", answer_conversational(settings, templates, evidence, model))
    builder.add_node("answer_hybrid", answer_hybrid(settings, templates, evidence, model))
    builder.add_node("report_absence", report_absence(settings, prompts, templates))
    builder.add_node("check_citations", check_citations(settings, prompts, evidence, resources.ask_judge))
    builder.add_node("record_turn", record_turn(settings, prompts, evidence))

    builder.add_edge(START, "begin_turn")
    _add_second_look(builder, resources, *_add_ask_back(builder, resources))
    for name in ANSWERS.values():
        builder.add_edge(name, "check_citations")
    _add_policies(builder, resources)
    builder.add_edge("record_turn", END)
    return builder


Branch = Callable[[Any], Awaitable[str]]


def _add_ask_back(
    builder: StateGraph[Any, Any, Any, Any], resources: Resources
) -> tuple[Branch, Mapping[Hashable, str]]:
    """What the ranking leads to, and where: the style that it chose, or asking back where something can look for what
    is open."""
    asks = resources.settings.synthesis.ask_back
    own = asks.model if asks and isinstance(asks.model, ModelSettings) else None
    model = configured_model(own, "synthesis.ask_back.model") or (
        resources.query_model if asks and asks.model else None
    )
    if asks is None or not (asks.fields or model):
        return choose_answer, ANSWERS
    from groundgraph.nodes.ask_back import STEP, ask_back, asked_or, asks_back

    builder.add_node(STEP, ask_back(resources.settings, model, resources.prompts, resources.evidence))
    builder.add_conditional_edges(STEP, asked_or(choose_answer), {**ANSWERS, "ask": "check_citations"})  # type: ignore[arg-type]
    return asks_back(choose_answer), {**ANSWERS, STEP: STEP}  # type: ignore[arg-type]


def _add_second_look(
    builder: StateGraph[Any, Any, Any, Any], resources: Resources, choose: Branch, ways: Mapping[Hashable, str]
) -> None:
    """What follows the ranking: what `choose` says, or once another look where that is configured."""
    settings = resources.settings
    if not settings.retrieval.second_look:
        builder.add_conditional_edges("process_results", choose, dict(ways))
        return
    from groundgraph.nodes.second_look import STEP, looks_again, second_look

    builder.add_node(STEP, second_look(settings, resources.query_model, resources.prompts))
    builder.add_conditional_edges("process_results", looks_again(choose), {**ways, STEP: STEP})
    builder.add_conditional_edges(STEP, again_or(choose_answer), {**ANSWERS, "search": "retrieve_source"})


def _add_policies(builder: StateGraph[Any, Any, Any, Any], resources: Resources) -> None:
    """What follows the citation check: another attempt, a refusal, or the end of the turn."""
    policies = set(resources.settings.citation_check.policies.values())
    after: dict[Hashable, str] = {"pass": "record_turn"}
    if "repair" in policies:
        from groundgraph.nodes.repair_answer import repair_answer

        repair = repair_answer(resources.settings, resources.templates, resources.evidence, resources.chat_model)
        builder.add_node("repair_answer", repair)
        builder.add_edge("repair_answer", "check_citations")
        after["repair"] = "repair_answer"
    reviewed = resources.settings.human_review.support_below is not None
    if "refuse" in policies or reviewed:
        builder.add_node("refuse_answer", refuse_answer(resources.prompts))
        builder.add_edge("refuse_answer", "record_turn")
    if "refuse" in policies:
        after["refuse"] = "refuse_answer"
    if reviewed:
        from groundgraph.nodes.review_answer import review_answer

        builder.add_node("review_answer", review_answer(resources.settings, resources.prompts, resources.evidence))
        ways: dict[Hashable, str] = {
            "approve": "record_turn", "refuse": "refuse_answer", "replace": "check_citations"
        }  # fmt: skip
        builder.add_conditional_edges("review_answer", decision, ways)
        after["review"] = "review_answer"
    if len(after) == 1:
        builder.add_edge("check_citations", "record_turn")
    else:
        builder.add_conditional_edges("check_citations", verdict, after)


async def verdict(state: RefuseAnswerInput) -> str:
    """What the policies made of the findings; see `check_citations`."""
    return state["check"]["verdict"]


async def decision(state: RefuseAnswerInput) -> str:
    """What a person decided; see `review_answer`."""
    review = state["draft"]["review"]
    return review["decision"] if review else "refuse"


# A whole turn as a tool of an agent.


def turn_tool(
    graph: TurnRunner | GivenSettings = None,
    *,
    name: str = "ask_knowledge",
    description: str | None = None,
    context: Context | None = None,
) -> BaseTool:
    """A LangChain tool that runs a turn: the model gets a checked answer where `retrieval_tool` gives it evidence.

    The artifact of the tool message has `turn_id`, `outcome`, `notes`, `citations`, `choices` and `support`.

    Args:
        graph: a turn graph without a checkpointer of its own, or what `turn_graph` takes to build one. With the
            parent's checkpointer a turn is resumed where it stopped; built with `checkpointer=False` it is run again,
            and with `checkpointer=True` it remembers the agent's earlier questions on this thread.
        name: of the tool.
        description: what the model is told about it.
        context: the choices of every turn, for example the scope of a tenant; the model cannot change them.

    Raises:
        ConfigurationError: `graph` is no turn graph, or has a checkpointer, for which a tool has no thread.
    """
    runner = graph if isinstance(graph, TurnRunner) else turn_graph(graph)
    _check(runner)

    async def ask(question: str) -> tuple[str, dict[str, Any]]:
        output = await runner.ainvoke({"question": question}, context=context)
        told = "\n\n".join([output["answer"], *output["notes"]])
        kept = {key: output[key] for key in ("outcome", "notes", "citations", "choices", "support")}
        return told, {"turn_id": output["provenance"]["turn_id"], **kept}

    told = "Ask the knowledge base. The answer is grounded in it and checked against it."
    return runner.tool(ask, name, description or told)


def _check(graph: TurnRunner) -> None:
    if "answer" not in graph.output_channels:
        raise ConfigurationError("turn_tool needs a turn graph (turn_graph); for a retrieval graph use retrieval_tool.")
    if isinstance(graph.checkpointer, BaseCheckpointSaver):
        raise ConfigurationError(
            "This graph has a checkpointer, and a tool has no thread for it. Build the graph without one: inside an "
            "agent it uses the agent's."
        )

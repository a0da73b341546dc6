"""The stages of autonomous retrieval before the search: rewriting, routing, complexity, decomposition."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any

from langgraph.graph import StateGraph
from langgraph.types import Send

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.graph.fan_out import SEARCH, FanOutInput, retrieval_task
from groundgraph.graph.resources import Resources
from groundgraph.nodes.begin_turn import BeginTurnUpdate
from groundgraph.nodes.model_stage import StageInput, StageUpdate
from groundgraph.nodes.node import Node
from groundgraph.nodes.retrieve_source import RetrieveSourceInput
from groundgraph.settings.context import DIALOGUE_STATE
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource

FanOut = Callable[[FanOutInput], Awaitable[list[Send] | str]]
# Facts that one source gives for the categories of a state; the budget cuts them further.
STATE_FACTS = 100
# What leads to a step, as the picture of the graph shows it.
LABELS = {"route_categories": "route", "decompose_question": "divide"}


def add_stages(builder: StateGraph[Any, Any, Any, Any], resources: Resources, fan_out: FanOut, *, reply: str) -> None:
    """Adds the configured stages around `resolve_intent`, and the edges from `begin_turn` to the search.

    The question itself and its parts are searched for at once: nothing of the decomposition needs the results of the
    question, so a complex question costs one round trip to the sources, as a simple one does.

    Raises:
        ConfigurationError: a stage cannot work.
    """
    problems = stage_problems(resources)
    if problems:
        raise ConfigurationError(problems)
    settings, model = resources.settings, resources.query_model
    starts: dict[Hashable, str] = {"reply": reply, "retrieve": "resolve_intent"}
    if "rewrite" in settings.stages and model is not None:
        from groundgraph.nodes.rewrite_question import rewrite_question

        builder.add_node("rewrite_question", rewrite_question(settings, model, resources.prompts))
        builder.add_edge("rewrite_question", "resolve_intent")
        starts["rewrite"] = "rewrite_question"
    builder.add_conditional_edges("begin_turn", start_of(rewrites="rewrite" in starts), starts)
    steps = steps_before_search(resources)
    search = with_parts(fan_out, resources)
    names = ["resolve_intent", *steps]
    for name, following in zip(names, [*steps, None], strict=True):
        if name in steps:
            builder.add_node(name, steps[name])
        targets: dict[Hashable, str] = {LABELS[following]: following, **SEARCH} if following else SEARCH
        builder.add_conditional_edges(name, onward(following, search), targets)


_NO_CATEGORIES = "no source has categories; one of type cascade has"


def stage_problems(resources: Resources) -> list[Problem]:
    """What keeps a configured stage from working.

    Only a stage that is named needs its model: the flag alone turns on what can work, and leaves out the others.
    """
    settings, without_model = resources.settings, resources.query_model is None
    named = set(settings.stages).intersection(settings.enhanced_retrieval.stages or ())
    wanted = " and ".join(stage for stage in ("rewrite", "decomposition") if stage in named)
    router = settings.category_router
    need = f"{wanted} need a model; set query_llm or llm, or name the stages without in enhanced_retrieval.stages"
    cited = f"facts of the dialogue's state are cited as '{DIALOGUE_STATE}'; call this source something else"
    clash = "backfill" in settings.stages and DIALOGUE_STATE in resources.sources
    wrong = (
        (wanted and without_model, "enhanced_autonomous_retrieval", need),
        (clash, f"sources.{DIALOGUE_STATE}", cited),
        (router.enabled and without_model, "category_router.enabled", "a model chooses; set query_llm or llm"),
        (router.routes and not sources_with_categories(resources), "category_router", _NO_CATEGORIES),
    )
    return [Problem(key, message) for holds, key, message in wrong if holds]


def sources_with_categories(resources: Resources) -> frozenset[str]:
    """The names of the sources that can tell their categories."""
    plain = GroundedSource.categories
    return frozenset(name for name, source in resources.sources.items() if type(source).categories is not plain)


def steps_before_search(resources: Resources) -> dict[str, Node[StageInput, StageUpdate]]:
    """The configured steps between `resolve_intent` and the search, by name, in their order."""
    settings, model, prompts = resources.settings, resources.query_model, resources.prompts
    steps: dict[str, Node[StageInput, StageUpdate]] = {}
    if settings.category_router.routes:
        from groundgraph.nodes.route_categories import route_categories

        steps["route_categories"] = route_categories(settings, resources.sources, model, prompts)
    if "decomposition" in settings.stages and model is not None:
        from groundgraph.nodes.decompose_question import decompose_question

        steps["decompose_question"] = decompose_question(settings, model, prompts)
    return steps


def start_of(*, rewrites: bool) -> Callable[[BeginTurnUpdate], Awaitable[str]]:
    """What follows `begin_turn`, as it decided: the reply, rewriting, or the intent."""

    async def start(state: BeginTurnUpdate) -> str:
        if state["draft"]["text"]:
            return "reply"
        return "rewrite" if rewrites and state["turn"]["path"] == "enhanced" else "retrieve"

    return start


def onward(following: str | None, search: FanOut) -> FanOut:
    """The next step, when it has something to do in this turn, else the search."""

    async def onward(state: FanOutInput) -> list[Send] | str:
        return LABELS[following] if following and _applies(following, state) else await search(state)

    return onward


def _applies(step: str, state: FanOutInput) -> bool:
    path = state["turn"]["path"]
    if step == "route_categories":
        return path != "state_facts"
    # Without the stage of complexity every question is divided.
    return path == "enhanced" and state["intent"]["complex"] is not False


@dataclass(frozen=True)
class Parts:
    """What is searched for beside the queries of the turn."""

    settings: Settings
    whole_topics: frozenset[str]
    with_categories: frozenset[str]

    def sub_queries(self, state: FanOutInput) -> list[Send]:
        """One task for each source and part of the question, numbered behind the queries; none to a source that gives
        whole topics."""
        intent, top_k = state["intent"], self.settings.enhanced_retrieval.top_k_per_sub_query
        first = len(intent["text_queries"])
        return [
            _send(retrieval_task(state, name, number, part), kind="sub_query", top_k=top_k)
            for name in intent["sources"]
            if name not in self.whole_topics
            for number, part in enumerate(intent["sub_queries"], first)
        ]

    def state_facts(self, state: FanOutInput) -> list[Send]:
        """One task for each source that has categories, when the dialogue's state names some."""
        named = state["turn"]["state"]
        if "backfill" not in self.settings.stages or named is None or not named["categories"]:
            return []
        return [
            _send(
                retrieval_task(state, name, 0, ""),
                name=f"{name}/state",
                kind="state_facts",
                top_k=STATE_FACTS,
                categories=named["categories"],
            )
            for name in state["intent"]["sources"]
            if name in self.with_categories
        ]


def _send(task: RetrieveSourceInput, **changes: Any) -> Send:
    return Send("retrieve_source", {"task": {**task["task"], **changes}})


def with_parts(fan_out: FanOut, resources: Resources) -> FanOut:
    """`fan_out` with the tasks of the stages beside those of the queries."""
    whole = frozenset(name for name, source in resources.sources.items() if source.whole_topics)
    parts = Parts(resources.settings, whole, sources_with_categories(resources))

    async def search(state: FanOutInput) -> list[Send] | str:
        path = state["turn"]["path"]
        plain = await fan_out(state) if path != "state_facts" else []
        sends = [] if isinstance(plain, str) else plain
        if path != "cascade":
            sends = [*sends, *parts.sub_queries(state), *parts.state_facts(state)]
        return sends or "skip"

    return search

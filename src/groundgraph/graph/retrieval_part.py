"""The part of a graph that retrieves: intent, one task per source and query, one ranking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AnyMessage
from langgraph.graph import StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from groundgraph.answers.conversation import cited_before, leaned_on, recent_conversation
from groundgraph.core.errors import InputInvalid, Problem, refuse_any
from groundgraph.core.intent import IntentState
from groundgraph.core.registry import nearest
from groundgraph.core.turn_values import Draft, Ranking, Retrieval, RetrievalTask, Turn
from groundgraph.graph.resources import Resources
from groundgraph.graph.works import WORKS, works_of
from groundgraph.nodes.node import Node
from groundgraph.nodes.process_results import Reader, process_results
from groundgraph.nodes.resolve_intent import resolve_intent
from groundgraph.nodes.retrieve_source import ComputeAnswer, RetrieveSourceInput, retrieve_source
from groundgraph.settings.context import DIALOGUE_STATE
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource
from groundgraph.text.follow_up import holds_pronoun, is_follow_up, own_words, question_of

if TYPE_CHECKING:
    from groundgraph.nodes.node import StageInput, StageUpdate


def add_retrieval(
    builder: StateGraph[Any, Any, Any, Any], resources: Resources, *, reply: str, reader: Reader | None
) -> None:
    """Adds `resolve_intent`, `retrieve_source`, `process_results` and the configured stages before them, wired to each
    other and to `begin_turn`, from where a turn that has its reply goes to the step `reply`.

    The caller leads away from `process_results`, which decides how the turn is answered, for the `reader` of what is
    found.
    """
    settings = resources.settings
    builder.add_node(
        "resolve_intent",
        resolve_intent(settings, resources.schemas, resources.query_model, resources.prompts, resources.extractor),
    )
    builder.add_node(
        "retrieve_source",
        retrieve_source(settings, resources.sources, resources.schemas, resources.evidence, _computing(resources)),
        input_schema=RetrieveSourceInput,
    )
    parts, works = works_of(resources, reader)
    names = [name for name in WORKS if any(name in own for own in works.values())]
    told = {"works": ", ".join(names)}
    builder.add_node("process_results", process_results(parts, works), metadata=told)
    whole_topics = frozenset(name for name, source in resources.sources.items() if source.whole_topics)
    fan_out = fan_out_to(tuple(resources.sources), whole_topics)
    if settings.stages or settings.category_router.routes:
        add_stages(builder, resources, fan_out, reply=reply)
    else:
        builder.add_conditional_edges("begin_turn", needs_retrieval, {"retrieve": "resolve_intent", "reply": reply})
        builder.add_conditional_edges("resolve_intent", fan_out, SEARCH)
    builder.add_edge("retrieve_source", "process_results")


def _computing(resources: Resources) -> ComputeAnswer | None:
    """What computes over rows; None without a model, or a source that could run it."""
    model, sources = resources.query_model, resources.sources.values()
    if model is None or all(source.computing() is None for source in sources):
        return None
    # Loaded where there is something to compute over.
    from groundgraph.answers.extract_intent import AskExtractor
    from groundgraph.answers.propose_computation import ProposeComputation

    return ComputeAnswer(
        ProposeComputation(resources.settings, resources.prompts, AskExtractor(model, resources.prompts))
    )


class StartInput(TypedDict):
    """What decides where a turn goes from `begin_turn`."""

    turn: Turn
    draft: Draft


async def needs_retrieval(state: StartInput) -> str:
    """`reply` when the turn has its answer already, `retrieve` in every other case; no model decides.

    Asynchronous, as all branches are: LangGraph would give a plain function a thread, at a quarter of a millisecond
    each.
    """
    return "reply" if state["draft"]["text"] else "retrieve"


# Who is asked what: one task for each source and query.

# What a fan-out decides, as the picture of the graph shows it.
SEARCH: dict[Hashable, str] = {"search": "retrieve_source", "skip": "process_results"}


class FanOutInput(TypedDict, total=False):
    """What decides who is asked what."""

    messages: list[AnyMessage]
    turn: Turn
    intent: IntentState
    retrievals: dict[str, Retrieval]


FanOut = Callable[[FanOutInput], Awaitable[list[Send] | str]]


def fan_out_to(known: Sequence[str], whole_topics: frozenset[str]) -> FanOut:
    """One task per source and query that the intent names; `skip` when every source is skipped.

    The sources `whole_topics` get one task with the question in place of the queries.

    Raises while a turn runs, and while its state is edited:
        InputInvalid: an edit left nothing to ask, or names a source that is not among those `known`. What was not
            asked must not be told as an outage.
    """

    async def fan_out(state: FanOutInput) -> list[Send] | str:
        intent = state["intent"]
        for name in intent["sources"]:
            if name not in known:
                raise InputInvalid(_edited_to(f"there is no source '{name}'.{nearest(name, [*known])}", known))
        sends = [
            Send("retrieve_source", retrieval_task(state, name, number, query))
            for name in intent["sources"]
            for number, query in enumerate([topic_question(state)] if name in whole_topics else intent["text_queries"])
        ]
        # Where the steps leave nothing to ask, each source has its entry that says why.
        if not sends and not state.get("retrievals"):
            left = "text_queries" if intent["sources"] else "sources"
            raise InputInvalid(_edited_to(f"nothing would be asked, since its '{left}' are empty.", known))
        return sends or "skip"

    return fan_out


def _edited_to(fault: str, known: Sequence[str]) -> str:
    told = "An edit of 'intent' gives the whole of it, with 'text_queries' and 'sources'"
    return f"The 'intent' of the turn's state cannot be followed: {fault} {told}; known: {', '.join(known)}."


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
    others = [query for query in intent["text_queries"] if query != question or intent["mode"] == "message"]
    return others[0] if made.get(intent["mode"]) and others else question


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
    asked = intent["rewritten"] or state["turn"]["question"]
    if query not in asked:
        task["question"] = "" if number else asked
        if intent["mode"] == "message" and query in intent["text_queries"]:
            # The first is the message behind a question or its keywords, another one behind what was quoted.
            own = (asked, question_of(asked)) if number == 0 else ()
            task["message"] = next(filter(query.endswith, own), "")
            if task["message"]:
                _add_spoken_of(task, state)
    return {"task": task}


def _add_spoken_of(task: RetrievalTask, state: FanOutInput) -> None:
    """What the message of `task` leans on: see `RetrievalIntent`."""
    messages, turn, message = state.get("messages", []), state["turn"], task["message"]
    if len(earlier := leaned_on(messages, turn)) > 1:
        task["earlier"] = earlier
    points_back = holds_pronoun(message) or not own_words(message)
    before = cited_before(messages, turn) if points_back else ()
    if cited := sorted(key for source, key in before if source == task["source"]):
        task["cited"] = cited


class LookedAgain(FanOutInput, total=False):
    """What is known behind a second look."""

    ranking: Ranking


def again_or(choose: Callable[[Any], Awaitable[str]]) -> Callable[[LookedAgain], Awaitable[list[Send] | str]]:
    """One task per source for the wording of a second look; where there is none, what `choose` says."""

    async def again(state: LookedAgain) -> list[Send] | str:
        intent = state["intent"]
        report = intent["stages"]["second_look"]
        if report["status"] != "ran":
            return await choose(state)
        number = len(intent["text_queries"]) + len(intent["sub_queries"])
        return [
            Send("retrieve_source", retrieval_task(state, name, number, report["question"]))
            for name in intent["sources"]
        ]

    return again


# The stages of autonomous retrieval before the search: rewriting, routing, complexity, decomposition.

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
    settings, model = resources.settings, resources.query_model
    refuse_any(stage_problems(settings, resources.sources, asks=model is not None))
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


def stage_problems(settings: Settings, sources: Mapping[str, GroundedSource], *, asks: bool) -> list[Problem]:
    """What keeps a configured stage from working; `asks` is whether there is a query model.

    Only a stage that is named needs its model: the flag alone turns on what can work, and leaves out the others.
    """
    without_model = not asks
    named = set(settings.stages).intersection(settings.enhanced_retrieval.stages or ())
    wanted = " and ".join(stage for stage in ("rewrite", "decomposition") if stage in named)
    router = settings.category_router
    need = f"{wanted} need a model; set query_llm or llm, or name the stages without in enhanced_retrieval.stages"
    cited = f"facts of the dialogue's state are cited as '{DIALOGUE_STATE}'; call this source something else"
    clash = "backfill" in settings.stages and DIALOGUE_STATE in sources
    wrong = (
        (wanted and without_model, "enhanced_autonomous_retrieval", need),
        (clash, f"sources.{DIALOGUE_STATE}", cited),
        (router.enabled and without_model, "category_router.enabled", "a model chooses; set query_llm or llm"),
        (router.routes and not sources_with_categories(sources), "category_router", _NO_CATEGORIES),
    )
    return [Problem(key, message) for holds, key, message in wrong if holds]


def sources_with_categories(sources: Mapping[str, GroundedSource]) -> frozenset[str]:
    """The names of the sources that can tell their categories."""
    plain = GroundedSource.categories
    return frozenset(name for name, source in sources.items() if type(source).categories is not plain)


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


def start_of(*, rewrites: bool) -> Callable[[StartInput], Awaitable[str]]:
    """What follows `begin_turn`, as it decided: the reply, rewriting, or the intent."""

    async def start(state: StartInput) -> str:
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
    parts = Parts(resources.settings, whole, sources_with_categories(resources.sources))

    async def search(state: FanOutInput) -> list[Send] | str:
        path = state["turn"]["path"]
        plain = await fan_out(state) if path != "state_facts" else []
        sends = [] if isinstance(plain, str) else plain
        if path != "cascade":
            sends = [*sends, *parts.sub_queries(state), *parts.state_facts(state)]
        return sends or "skip"

    return search

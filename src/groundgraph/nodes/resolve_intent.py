"""What to search for: from the configuration, a template, a model, or the message itself."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from jinja2 import Template
from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.answers.conversation import QUOTED, asked_before, recent_conversation
from groundgraph.core.errors import FilterInvalid, ModelError, Problem, UnknownName
from groundgraph.core.failure import failure_of
from groundgraph.core.filters import check_filters
from groundgraph.core.intent import EMPTY_INTENT, IntentState, StageReport
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.core.turn_values import EMPTY_RETRIEVAL, Choice, ModelCall, Retrieval, Turn
from groundgraph.nodes.node import Node, StageInput, enforced_filters, signed_in
from groundgraph.prompts import Prompts
from groundgraph.settings.context import DIALOGUE_STATE, Context, options_in_force
from groundgraph.settings.settings import Settings
from groundgraph.text.follow_up import (
    asked_parts,
    begins_asking,
    contextualised,
    cue_phrases,
    is_follow_up,
    question_of,
    says,
    spoken_stems,
)

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from groundgraph.answers.extract_intent import AskExtractor, ExtractIntent


# Telling by rule whether a question is made of several, without a model.
#
# The phrases stand in the data files of the languages, under `complexity`.

Sign = Literal["question_marks", "comparison", "pattern"]

# So many question marks are several questions.
MIN_QUESTION_MARKS = 2
# "Really?!" is one, and so is "???"; the one in an address is none. What follows is asked for in the match and not by
# looking ahead, which would try a long run again from each of its marks.
_QUESTION_MARK = re.compile(r"[?？؟][?？؟!！]*+(?P<word>\w?)")


def complexity_signs(question: str, min_length: int) -> list[Sign]:
    """What makes `question` complex; nothing when it is shorter than `min_length` characters.

    `question_marks`: two or more. `comparison`: a word or phrase that compares. `pattern`: a phrase that joins what
    stands before it to another question, or asks for several things at once; never at the beginning, where "And how"
    only follows up.
    """
    asked = question.strip()
    if len(asked) < min_length:
        return []
    spoken = spoken_stems(asked)
    signs: dict[Sign, bool] = {
        "question_marks": sum(not found["word"] for found in _QUESTION_MARK.finditer(asked)) >= MIN_QUESTION_MARKS,
        "comparison": says(spoken, cue_phrases("complexity", "comparison")),
        "pattern": says(spoken[1:], cue_phrases("complexity", "patterns")),
    }
    return [sign for sign, shown in signs.items() if shown]


class ResolveIntentUpdate(TypedDict):
    """What the step writes. A source that must not be searched has its entry in `retrievals` already."""

    intent: IntentState
    retrievals: dict[str, Retrieval]


def resolve_intent(
    settings: Settings,
    schemas: Mapping[str, SourceSchema | None],
    query_model: BaseChatModel | None,
    prompts: Prompts,
    extractor: AskExtractor | None = None,
) -> Node[StageInput, ResolveIntentUpdate]:
    """The node.

    Args:
        settings: the intent mode and its keys; default filters.
        schemas: the declared fields of every source, by source name.
        query_model: writes the search queries in mode `extract`; without one the message is the only query.
        prompts: the prompt files.
        extractor: fills in the whole intent in mode `extract`, in place of the query model.
    """
    read = _reader(settings, query_model, prompts, extractor)
    judge = _judging(settings)

    async def resolve_intent(state: StageInput, runtime: Runtime[Context]) -> ResolveIntentUpdate:
        started = time.perf_counter()
        earlier = state["intent"]
        calls = list(earlier["calls"])
        options = options_in_force(settings, state["turn"]["options"], runtime.context)
        asked = _asked_sources(schemas, options.sources)
        intent = await read(state, asked, calls)
        if (chosen := state["turn"]["chosen"]) and chosen["choice"]:
            intent = _narrowed(intent, chosen["choice"], asked)
        enforced = enforced_filters(settings, options.scope, signed_in(runtime))
        checked, skipped = enforce_filters(_after(earlier, intent), asked, enforced)
        if state["turn"]["path"] == "state_facts":
            skipped[DIALOGUE_STATE] = _state_entry(state["turn"])
        if judge is not None and state["turn"]["path"] == "enhanced":
            checked = judge(checked, _question(state))
            runtime.stream_writer({"stage": "judge_complexity", **checked["stages"]["judge_complexity"]})
        elapsed = (time.perf_counter() - started) * 1000
        runtime.stream_writer({"stage": "resolve_intent", "text_queries": checked["text_queries"]})
        return {
            "intent": {**checked, "calls": calls, "elapsed_ms": round(elapsed, 3)},
            "retrievals": skipped,
        }

    return resolve_intent


def _reader(
    settings: Settings, query_model: BaseChatModel | None, prompts: Prompts, extractor: AskExtractor | None
) -> Callable[[StageInput, Mapping[str, SourceSchema | None], list[ModelCall]], Awaitable[IntentState]]:
    """What reads the intent of a turn over the sources that it asks, by the configured mode; calls of models go to the
    list."""
    template = _template(settings)
    extract = _extracting(settings, prompts, extractor) if extractor else None
    by_model = settings.intent.mode == "extract"

    async def read(state: StageInput, asked: Mapping[str, SourceSchema | None], calls: list[ModelCall]) -> IntentState:
        if state["turn"]["path"] == "state_facts":
            return _intent("state_facts", [], settings, {})
        if by_model and extract is not None:
            return await _extracted(state, extract, asked, calls)
        if by_model and query_model is not None:
            return await _with_queries(state, settings, query_model, prompts, calls)
        return _without_model(state, settings, template)

    return read


def _narrowed(intent: IntentState, choice: Choice, schemas: Mapping[str, SourceSchema | None]) -> IntentState:
    """`intent` with the value that was chosen as a filter of each source that declares its field. It is proposed as a
    model's are: a default or scope filter on the field stands in its place."""
    field, filters = choice["field"], intent["filters"]
    own = {
        name: {**filters.get(name, {}), field: choice["value"]}
        for name, schema in schemas.items()
        if schema is not None and field in schema.fields
    }
    return {**intent, "filters": {**filters, **own}}


def _judging(settings: Settings) -> JudgeComplexity | None:
    if "complexity" not in settings.stages:
        return None

    return judge_complexity(settings)


def _after(earlier: IntentState, intent: IntentState) -> IntentState:
    """`intent` with what stages before this step found."""
    issues = [*earlier["issues"], *intent["issues"]]
    return {**intent, "rewritten": earlier["rewritten"], "stages": earlier["stages"], "issues": issues}


def _question(state: StageInput) -> str:
    """The question of the turn, as one that stands on its own where it was rewritten."""
    return state["intent"]["rewritten"] or state["turn"]["question"]


def _asked_sources(
    schemas: Mapping[str, SourceSchema | None], chosen: Sequence[str] | None
) -> dict[str, SourceSchema | None]:
    """The schemas of the sources that this run searches."""
    unknown = [name for name in chosen or [] if name not in schemas]
    if unknown:
        known = list(schemas)
        message = f"there is no source '{unknown[0]}'.{nearest(unknown[0], known)} Known: {', '.join(known)}."
        raise UnknownName([Problem("context.sources", message)])
    return {name: own for name, own in schemas.items() if chosen is None or name in chosen}


def _template(settings: Settings) -> Template | None:
    if not settings.intent.template:
        return None
    from groundgraph.answers.intent_template import compile_intent_template

    return compile_intent_template(settings.intent.template)


def _without_model(state: StageInput, settings: Settings, template: Template | None) -> IntentState:
    message, intent = _question(state), settings.intent
    if intent.mode == "template" and template is not None:
        from groundgraph.answers.intent_template import render_intent

        found = render_intent(template, message=message, metadata=state.get("metadata", {}), scope=intent.scope)
        return found if found["text_queries"] else {**found, "text_queries": [message, *_parts(state, settings)]}
    if intent.mode == "static":
        own = [message, *_parts(state, settings)] if intent.include_message_as_query else []
        return _intent("static", list(dict.fromkeys([*intent.text_queries, *own])), settings, intent.filters)
    return _intent("message", _message_queries(state, settings), settings, {})


def _message_queries(state: StageInput, settings: Settings) -> list[str]:
    """The message, and for one that leans on the conversation also the message with what it leans on.

    It stands behind keywords when that is configured, else behind the question before it and, asked beside that, behind
    what was quoted or cited last.
    What asks in a long message is asked beside it, and the message with its days written otherwise.
    """
    message = _question(state)
    days = _with_days_otherwise(message, state["turn"]["language"])
    return list(dict.fromkeys([*_in_context(message, state, settings), *_parts(state, settings), *days]))


# A day is told by its year too.
_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")


def _with_days_otherwise(message: str, language: str) -> list[str]:
    if not _YEAR.search(message):
        return []
    # Loaded with the first question that may name a day.
    from groundgraph.text.quantities import with_days_otherwise

    return with_days_otherwise(message, language)


def _parts(state: StageInput, settings: Settings) -> tuple[str, ...]:
    """What asks in the question, by rule; nothing where a model divides it."""
    path = state["turn"]["path"] or next(iter(settings.paths))
    if not settings.intent.parts:
        return ()
    return () if path == "enhanced" and "decomposition" in settings.stages else asked_parts(_question(state))


def _in_context(message: str, state: StageInput, settings: Settings) -> list[str]:
    follow_ups = settings.intent.follow_ups
    if message != state["turn"]["question"]:
        # It leans on nothing any more.
        return [message]
    enriched = _enriched(state, settings)
    if enriched != message:
        return [enriched, message] if follow_ups else [enriched]
    asked = question_of(message)
    messages, turn, turns = state.get("messages", []), state["turn"], settings.intent.max_context_turns
    earlier = recent_conversation(messages, turn, turns)
    if not follow_ups or not (is_follow_up(message) or _replies(message, earlier, settings)):
        return [message]
    questions = asked_before(messages, turn, turns)
    if not questions:
        return [message]
    quoted = earlier[-1].response_metadata.get(QUOTED)
    behind = [f"{quoted} {asked}"] if isinstance(quoted, str) else []
    return [contextualised(asked, questions[-1].question), message, *behind]


def _replies(message: str, earlier: Sequence[BaseMessage], settings: Settings) -> bool:
    """Whether `message` says something to an answer that asked back, and asks nothing itself."""
    if settings.synthesis.ask_back is None or not earlier:
        return False
    from groundgraph.answers.choices import asked_back_in

    return asked_back_in(earlier[-1]) is not None and not message.endswith("?") and not begins_asking(message)


def _enriched(state: StageInput, settings: Settings) -> str:
    """The message, behind keywords of the conversation when it leans on that and the settings ask for that."""
    message, intent = _question(state), settings.intent
    if not intent.expand_ambiguous_queries or message != state["turn"]["question"]:
        return message
    if not is_follow_up(message):
        return message
    from groundgraph.answers.generate_queries import expanded

    earlier = recent_conversation(state.get("messages", []), state["turn"], intent.max_context_turns)
    return expanded(message, earlier, include_assistant=intent.include_assistant_context)


async def _with_queries(
    state: StageInput,
    settings: Settings,
    model: BaseChatModel,
    prompts: Prompts,
    calls: list[ModelCall],
) -> IntentState:
    from groundgraph.answers.generate_queries import generate_queries

    turn, messages = state["turn"], state.get("messages", [])
    message = _enriched(state, settings)
    try:
        queries = await generate_queries(settings, model, prompts, turn, messages, calls, message=message)
    except ModelError as error:
        return _by_message(state, settings, prompts, error)
    return _beside_message(_intent("extract", queries, settings, {}), state)


def _extracting(settings: Settings, prompts: Prompts, extractor: AskExtractor) -> ExtractIntent:
    # Not loaded by those who configure none.
    from groundgraph.answers.extract_intent import ExtractIntent

    return ExtractIntent(settings, prompts, extractor)


async def _extracted(
    state: StageInput,
    extract: ExtractIntent,
    schemas: Mapping[str, SourceSchema | None],
    calls: list[ModelCall],
) -> IntentState:
    from groundgraph.answers.ground_fields import UserWords
    from groundgraph.nodes.extracted_intent import extracted_intent, held_fields

    turn, messages, settings, prompts = state["turn"], state.get("messages", []), extract.settings, extract.prompts
    held = held_fields(settings)
    try:
        schema = extract.schema(schemas, held)
        extraction = await extract(_enriched(state, settings), turn, messages, schema, calls)
    except ModelError as error:
        return _by_message(state, settings, prompts, error)
    intent = extracted_intent(extraction, settings.intent, schemas, held, turn, messages)
    issues = [
        prompts.note("filter_refused", turn["language"], field=one["field"], reason=one["reason"])
        for one in intent["dropped"] or ()
        # What the user asked for and cannot have is told; what the model made up is only recorded.
        if one["kind"] == "value" and UserWords(turn["question"]).holds(one["value"])
    ]
    return _beside_message({**intent, "issues": issues}, state)


def _beside_message(intent: IntentState, state: StageInput) -> IntentState:
    """`intent`, whose queries a model wrote, with the message as the first of them: a model may miss what is meant."""
    return {**intent, "text_queries": list(dict.fromkeys([_question(state), *intent["text_queries"]]))}


def _by_message(state: StageInput, settings: Settings, prompts: Prompts, error: ModelError) -> IntentState:
    note = prompts.note("queries_failed", state["turn"]["language"], reason=failure_of(error, "model"))
    queries = [_question(state), *_parts(state, settings)]
    return {**_intent("message", queries, settings, {}), "issues": [note]}


def _intent(mode: str, queries: list[str], settings: Settings, filters: Mapping[str, Any]) -> IntentState:
    return {
        **EMPTY_INTENT,
        "mode": mode,
        "text_queries": queries,
        "filters": {name: dict(fields) for name, fields in filters.items()},
        "scope": settings.intent.scope,
    }


def enforce_filters(
    intent: IntentState,
    schemas: Mapping[str, SourceSchema | None],
    enforced: Mapping[str, Mapping[str, Any]],
) -> tuple[IntentState, dict[str, Retrieval]]:
    """The intent with its filters checked and the enforced ones set, and the sources that must not be searched.

    An enforced filter replaces a proposed one on the same field. A source whose proposed filter is refused is not
    searched: searching it without the filter would give more than was asked for. Nor is one whose required field has
    no condition.
    """
    issues = list(intent["issues"])
    filters: dict[str, dict[str, Any]] = {}
    skipped: dict[str, Retrieval] = {}
    for name in intent["filters"]:
        if name not in schemas:
            issues.append(f"There is no source '{name}' to filter.{nearest(name, list(schemas))}")
    for name, schema in schemas.items():
        defaults = enforced.get(name, {})
        proposed = {k: v for k, v in intent["filters"].get(name, {}).items() if k not in defaults}
        own, refused = _checked(name, schema, {**proposed, **defaults})
        if refused:
            skipped[name] = refused
        elif own:
            filters[name] = own
    sources = [name for name in schemas if name not in skipped]
    return {**intent, "filters": filters, "sources": sources, "issues": issues}, skipped


def _checked(
    name: str, schema: SourceSchema | None, conditions: Mapping[str, Any]
) -> tuple[dict[str, Any], Retrieval | None]:
    """The checked conditions on a source, and why it must not be searched, if so."""
    try:
        own = check_filters(schema, conditions, source=name) if conditions else {}
    except FilterInvalid as error:
        return {}, _skipped(name, str(error), "FilterInvalid")
    missing = [field for field in (schema.required_fields if schema else []) if field not in own]
    if missing:
        return own, _skipped(name, f"it needs a filter on {', '.join(missing)}", "RequiredField")
    return own, None


def _state_entry(turn: Turn) -> Retrieval:
    """The dialogue's state as a source that has answered: it is all that such a turn is answered from."""
    found = len(turn["state"]["facts"]) if turn["state"] else 0
    return {**EMPTY_RETRIEVAL, "source": DIALOGUE_STATE, "kind": "state_facts", "found": found}


def _skipped(name: str, reason: str, kind: str) -> Retrieval:
    return {**EMPTY_RETRIEVAL, "source": name, "status": "skipped", "error": reason, "error_type": kind}


# Whether a question is made of several, by rule: what the edge to `decompose_question` goes by.

JudgeComplexity = Callable[[IntentState, str], IntentState]


def judge_complexity(settings: Settings) -> JudgeComplexity:
    """What adds to an intent the judgement of its question, and the stage's report; no model is called."""
    least = settings.enhanced_retrieval.min_complexity_length

    def judged(intent: IntentState, question: str) -> IntentState:
        started = time.perf_counter()
        signs = complexity_signs(question, least)
        report: StageReport = {"status": "ran", "complex": bool(signs), "signs": list(signs)}
        report["elapsed_ms"] = round((time.perf_counter() - started) * 1000, 3)
        stages = {**intent["stages"], "judge_complexity": report}
        return {**intent, "complex": bool(signs), "stages": stages}

    return judged

"""The steps that write an answer, one for each style, and what such a step reads and writes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.answers.conversation import recent_conversation
from groundgraph.answers.provenance import asked_style, retrieval_calls
from groundgraph.answers.structured_answer import AnswerTemplates
from groundgraph.answers.write_answer import Assignment, write_answer
from groundgraph.core.errors import TemplateInvalid
from groundgraph.core.evidence import EvidenceRecord, SourceResult, changed
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.turn_values import Check, Draft, Ranking, Retrieval
from groundgraph.nodes.node import Node, StageInput, evidence_scope
from groundgraph.settings.context import Context, Options, options_in_force
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Written = tuple[Draft, dict[str, Any]]
"""A draft, and what the event of its step tells."""


class AnswerInput(StageInput, total=False):
    """What a step that writes or records an answer reads; of one that is repaired, `draft` and `check` are there."""

    retrievals: dict[str, Retrieval]
    ranking: Ranking
    bodies: dict[str, EvidenceRecord]
    draft: Draft
    check: Check


class AnswerUpdate(TypedDict):
    """What a synthesis step writes."""

    draft: Draft


async def assignment(
    state: AnswerInput, runtime: Runtime[Context], settings: Settings, evidence: EvidenceStore
) -> Assignment:
    """What the turn asks to be written.

    Raises:
        EvidenceMissing: the state refers to evidence that no store holds any more.
    """
    turn = state["turn"]
    options = options_in_force(settings, turn["options"], runtime.context)
    scope = evidence_scope(settings, runtime, turn["options"])
    results = await evidence.results(runtime.store, state["ranking"]["refs"], state.get("bodies"), scope=scope)
    conversation = recent_conversation(state["messages"], turn, settings.intent.max_context_turns)
    intent, metadata = state["intent"], state.get("metadata", {})
    ranking = state["ranking"]
    results = [_with_nearness(one, ref[0], ranking) for one, ref in zip(results, ranking["refs"], strict=True)]
    calls = [*intent["calls"], *retrieval_calls(state["retrievals"]), *ranking["calls"]]
    return Assignment(turn, options, results, conversation, metadata, intent, calls, ranking)


def _with_nearness(result: SourceResult, key: str, ranking: Ranking) -> SourceResult:
    near = {question: told[key] for question, told in ranking.get("nearness", {}).items() if key in told}
    return changed(result, nearness=near) if near else result


def writing(
    step: str,
    write: Callable[[AnswerInput, Assignment], Awaitable[Written]],
    settings: Settings,
    evidence: EvidenceStore,
) -> Node[AnswerInput, AnswerUpdate]:
    """The step `step`: the draft that `write` makes of its assignment; its time, beside that which the draft had
    taken before, and its event are made here."""

    async def answer(state: AnswerInput, runtime: Runtime[Context]) -> AnswerUpdate:
        started = time.perf_counter()
        draft, told = await write(state, await assignment(state, runtime, settings, evidence))
        runtime.stream_writer({"stage": step, **told})
        draft["elapsed_ms"] = round((draft["elapsed_ms"] or 0) + (time.perf_counter() - started) * 1000, 3)
        return {"draft": draft}

    return answer


def answering(
    style: str, write: Callable[[Assignment], Awaitable[Draft]], settings: Settings, evidence: EvidenceStore
) -> Node[AnswerInput, AnswerUpdate]:
    """The step `answer_STYLE`: what `write` makes of its assignment, and which style was asked for."""

    async def styled(state: AnswerInput, task: Assignment) -> Written:
        draft = await write(task)
        draft["style"] = draft["style"] or style
        draft["asked_style"] = style_asked_for(state, task.options)
        return draft, {"finish": draft["finish"], "characters": len(draft["text"])}

    return writing(f"answer_{style}", styled, settings, evidence)


def style_asked_for(state: AnswerInput, options: Options) -> str:
    """See `asked_style`."""
    return asked_style(state["intent"], state.get("metadata", {}), options)


def answer_structured(
    settings: Settings, templates: AnswerTemplates, evidence: EvidenceStore
) -> Node[AnswerInput, AnswerUpdate]:
    """The structured style: the evidence itself, by template, without a model."""

    async def write(task: Assignment) -> Draft:
        draft = task.structured(templates, listed=settings.synthesis.listing or task.asked_for_style)
        return {**draft, "outcome": "insufficient"} if task.ranking["insufficient"] else draft

    return answering("structured", write, settings, evidence)


def answer_conversational(
    settings: Settings, templates: AnswerTemplates, evidence: EvidenceStore, model: BaseChatModel | None
) -> Node[AnswerInput, AnswerUpdate]:
    """The conversational style: a model writes from the evidence, its labels checked while it streams.

    Without evidence, which happens only when general knowledge is allowed, the answer begins by saying so.
    """

    async def write(task: Assignment) -> Draft:
        language, prompts = task.turn["language"], templates.prompts
        if not task.evidence:
            task = replace(task, prefix=prompts.render("general_knowledge", language=language) + "\n\n")
        draft = await _by_model(task, model, settings, templates)
        if not task.evidence:
            draft["outcome"] = "insufficient"
            draft["notes"] = [prompts.note("general_knowledge", language), *draft["notes"]]
        return draft

    return answering("conversational", write, settings, evidence)


def answer_hybrid(
    settings: Settings, templates: AnswerTemplates, evidence: EvidenceStore, model: BaseChatModel | None
) -> Node[AnswerInput, AnswerUpdate]:
    """The hybrid style: a model's answer, then the evidence it rests on.

    The appendix is the last piece of the stream, so that what was streamed is the whole answer.
    """

    async def write(task: Assignment) -> Draft:
        language = task.turn["language"]
        notes: list[str] = []
        try:
            appendix = templates.provenance(task.variables(templates), language)
        except TemplateInvalid as error:
            problem = error.problems[0]
            notes = [templates.prompts.note("template_failed", language, key=problem.key, reason=problem.message)]
            appendix = templates.built_in().provenance(task.variables(templates), language)
        draft = await _by_model(replace(task, suffix=f"\n\n{appendix}"), model, settings, templates)
        draft["notes"] = [*notes, *draft["notes"]]
        return draft

    return answering("hybrid", write, settings, evidence)


async def _by_model(
    task: Assignment, model: BaseChatModel | None, settings: Settings, templates: AnswerTemplates
) -> Draft:
    return await write_answer(task, model, settings, templates)

"""An answer written by a model, or the structured one when the model cannot."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from groundgraph.answers.answer_prompt import Assignment, answer_id, answer_messages
from groundgraph.answers.citations import GENERAL_KNOWLEDGE, CheckedAnswer, Claim, claims_of
from groundgraph.answers.gated_model import AnswerGate, GatedChatModel, Written, unstreamed
from groundgraph.answers.structured_answer import AnswerTemplates, structured_draft
from groundgraph.core.errors import ModelBudgetSpent, ModelError
from groundgraph.core.failure import Failure, failure_of
from groundgraph.core.turn_values import EMPTY_DRAFT, Draft, ModelCall, Outcome
from groundgraph.models.call_model import call_record, call_with_retries, tokens_left, tokens_of
from groundgraph.models.replies import is_refusal
from groundgraph.prompts import Prompts
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# What a turn keeps for the answer itself when the evidence would use up all of its tokens.
ANSWER_RESERVE = 1024
# What a sentence ends with that asks, and what may stand behind that.
_ASKS, _CLOSING = ("?", "？", "؟"), " *_`\"'”’»)"


async def write_answer(
    task: Assignment, model: BaseChatModel | None, settings: Settings, templates: AnswerTemplates
) -> Draft:
    """The draft.

    Without a model the structured answer stands in with one notice. A model that fails, may not be called any
    more, or writes nothing gives way to the structured answer with a note. One that fails in the middle leaves what
    it wrote, marked as incomplete: it was streamed already.
    """
    prompts, language = templates.prompts, task.turn["language"]
    if model is None:
        return _instead(task, templates, prompts.note("no_model", language))
    try:
        left = tokens_left(settings.limits, task.calls)
    except ModelBudgetSpent as error:
        return _instead(task, templates, prompts.note("model_failed", language, reason=failure_of(error, "model")))
    correction = _correction_messages(task, prompts)
    fitting = answer_messages(
        prompts,
        task.options,
        task.turn,
        task.evidence,
        task.conversation,
        token_limit=max(left - ANSWER_RESERVE, left // 2) - tokens_of(correction),
        clusters=task.clusters,
        divider=task.divider,
        per_source=settings.synthesis.evidence_per_source,
        model=model,
    )
    if fitting is None:
        reason = prompts.note("evidence_cut", language, count=len(task.evidence))
        return _instead(task, templates, reason)
    messages, cut = fitting
    shown = len(task.evidence) - cut
    written, call, fault = await _write(task, model, settings, [*messages, *correction], shown, left)
    failure = failure_of(fault, "model") if fault else None
    notes = [prompts.note("evidence_cut", language, count=cut)] if cut else []
    if written.missing is not None:
        draft = _abstained(task, written, templates, notes)
    elif not written.text.strip() and not written.refused:
        why = failure or failure_of(ModelError("it wrote nothing"), "model")
        notes.append(prompts.note("model_failed", language, reason=why))
        draft = _instead(task, templates, *notes)
    else:
        draft = _draft(task, written, failure, templates, notes)
    draft["calls"] = [call]
    return draft


def _correction_messages(task: Assignment, prompts: Prompts) -> list[BaseMessage]:
    """The first answer and what is wrong with it, for a second attempt."""
    if task.correction is None:
        return []
    faults = prompts.render("repair_answer", faults=task.correction.faults).strip()
    return [AIMessage(task.correction.earlier), HumanMessage(faults)]


async def _write(
    task: Assignment,
    model: BaseChatModel,
    settings: Settings,
    messages: list[BaseMessage],
    shown: int,
    left: int,
) -> tuple[Written, ModelCall, ModelError | None]:
    """What was written, the record of the call, and how it failed, if it did."""
    started = time.perf_counter()
    prompt_tokens = tokens_of(messages)
    tries: list[GatedChatModel] = []

    def attempt() -> Any:
        gated = GatedChatModel(
            inner=model,
            gate=AnswerGate(task.evidence, shown),
            message_id=answer_id(task.turn),
            prefix=task.prefix,
            suffix=task.suffix,
            max_output_tokens=max(1, left - prompt_tokens),
        )
        tries.append(gated)
        return gated.ainvoke(messages, unstreamed() if settings.holds_answers else None)

    failure: ModelError | None = None
    try:
        await call_with_retries(
            attempt,
            limit=settings.deadlines.model,
            attempts=settings.limits.attempts,
            service=model,
            may_retry=lambda: not tries[-1].written.text,
        )
    except ModelError as error:
        failure = error
        for gated in tries:
            gated.close()
    written = tries[-1].written if tries else Written()
    if (written.refused or written.missing is not None) and not written.text:
        failure = None
    call = _record("repair" if task.correction else "answer", model, written, prompt_tokens, len(tries), started)
    if failure:
        call["error"] = str(failure)
    return written, call, failure


def _record(
    role: str, model: BaseChatModel, written: Written, prompt_tokens: int, tries: int, started: float
) -> ModelCall:
    counted = written.output_tokens is not None
    return call_record(
        role,
        model,
        input_tokens=written.input_tokens if counted else prompt_tokens,
        output_tokens=written.output_tokens if counted else tokens_of([AIMessage(written.text)]),
        estimated=not counted,
        attempts=tries,
        elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
    )


def _draft(
    task: Assignment, written: Written, failure: Failure | None, templates: AnswerTemplates, notes: list[str]
) -> Draft:
    finish = "error" if failure else "refusal" if written.refused else written.finish
    language, note = task.turn["language"], templates.prompts.note
    outcome = outcome_of(written, finish, must_cite=_must_cite(task))
    if outcome == "insufficient" and finish == "stop":
        notes = [note("abstained", language, missing=""), *notes]
    elif outcome == "answered" and task.evidence and _leaves_evidence(task, written):
        outcome, notes = "insufficient", [note("general_knowledge", language), *notes]
    reasons = {
        "error": lambda: note("answer_incomplete", language, reason=failure),
        "refusal": lambda: note("refused", language),
        "length": lambda: note("answer_truncated", language),
    }
    return {
        **EMPTY_DRAFT,
        "text": written.text if written.text.strip() else written.refusal or note("refused", language),
        "outcome": outcome,
        "finish": finish,
        "order": written.order,
        "removed": written.removed,
        "removed_links": written.removed_links,
        "notes": notes + ([reasons[finish]()] if finish in reasons else []),
        "written": written.by_model,
        "body": written.by_model,
    }


def _leaves_evidence(task: Assignment, written: Written) -> bool:
    """Whether every sentence is marked as general knowledge, where that is allowed."""
    answer = CheckedAnswer(written.text[: written.by_model], "", {}, general=GENERAL_KNOWLEDGE)
    return task.options.allow_parametric is True and not answer.claims


def _must_cite(task: Assignment) -> bool:
    return task.options.require_citations and task.options.allow_parametric is not True


def outcome_of(written: Written, finish: str, *, must_cite: bool) -> Outcome:
    """Whether what a model wrote is an answer: neither a refusal, nor a question in place of one, nor the beginning of
    one that cites nothing yet.

    Where it was to cite and cites nothing, it is none when every sentence says what the evidence does not say, or
    declines. For a question its last sentence tells then, else all of them; what ends without a full stop is an item of
    a list that goes with them.
    """
    claims = claims_of(written.text[: written.by_model])
    cited = any(claim.labels for claim in claims)
    if finish == "refusal" or (finish == "error" and must_cite):
        return "answered" if cited else "insufficient"
    uncited = must_cite and not cited
    if uncited and finish == "stop" and claims and _says_no_answer(claims):
        return "insufficient"
    return "clarify" if _asks_back(claims, by_last=uncited) else "answered"


def _asks_back(claims: Sequence[Claim], *, by_last: bool) -> bool:
    """Whether each of `claims` is a question, or the last that is no item of a list."""
    texts = [claim.text.rstrip(_CLOSING) for claim in claims]
    if by_last:
        texts = [text for text in texts if not text[-1:].isalnum()][-1:]
    return bool(texts) and all(text.endswith(_ASKS) for text in texts)


def _says_no_answer(claims: Sequence[Claim]) -> bool:
    """Whether each of `claims` says what the evidence does not say, or declines."""
    # Loaded with the first answer that cites nothing.
    from groundgraph.answers.check_support import says_missing

    return all(says_missing(claim) or is_refusal(claim.text, "") for claim in claims)


def _abstained(task: Assignment, written: Written, templates: AnswerTemplates, notes: list[str]) -> Draft:
    """What a model leaves that finds no answer in the evidence: its own words, if it wrote any beside the line that
    says so, else what comes closest."""
    language = task.turn["language"]
    told = templates.prompts.note("abstained", language, missing=written.missing)
    asking = Written(text=written.missing or "", by_model=len(written.missing or ""))
    if not written.text.strip() and outcome_of(asking, "stop", must_cite=_must_cite(task)) == "clarify":
        return _draft(task, replace(written, text=asking.text, by_model=asking.by_model), None, templates, notes)
    if written.text.strip():
        draft = _draft(task, written, None, templates, [told, *notes])
    else:
        # A template of the user's would take the evidence for an answer.
        draft = structured_draft(
            templates.built_in(), task.variables(templates.built_in()), language, doubt=(), needs=task.needs
        )
        draft["notes"] = [told, *notes]
    return {**draft, "outcome": "insufficient"}


def _instead(task: Assignment, templates: AnswerTemplates, *notes: str) -> Draft:
    draft = task.structured(templates)
    draft["notes"] = [*notes, *draft["notes"]]
    return draft

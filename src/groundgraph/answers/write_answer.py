"""An answer written by a model, or the structured one when the model cannot: what the model is given, and what came
of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from groundgraph.answers.answer_gate import ABSTENTION, AnswerGate
from groundgraph.answers.check_support import says_missing
from groundgraph.answers.citations import GENERAL_KNOWLEDGE, CheckedAnswer, Claim, claims_of, reference
from groundgraph.answers.conversation import as_said
from groundgraph.answers.gated_model import GatedChatModel, Written
from groundgraph.answers.structured_answer import AnswerTemplates, Shown, structured_draft, template_variables
from groundgraph.core.errors import ModelBudgetSpent, ModelError
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import Failure, failure_of
from groundgraph.core.turn_values import (
    EMPTY_DRAFT,
    EMPTY_RANKING,
    ClusterValue,
    Divider,
    Draft,
    Flag,
    ModelCall,
    Outcome,
    Ranking,
    Turn,
)
from groundgraph.models.call_model import call_record, call_with_retries, tokens_left, tokens_of
from groundgraph.models.replies import is_refusal, prompt_messages, unstreamed
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Options
from groundgraph.settings.settings import Settings
from groundgraph.text.words import words

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


# What an answer is to be written from.


def answer_id(turn: Turn) -> str:
    """The id of the turn's answer message."""
    return f"answer-{turn['id']}"


@dataclass(frozen=True)
class Correction:
    """What a model wrote before, with the labels that it knows, and what is wrong with it."""

    earlier: str
    faults: Sequence[Flag]


@dataclass(frozen=True)
class Assignment:
    """What is to be written: everything but the model. The evidence is that of the ranking."""

    turn: Turn
    options: Options
    evidence: Sequence[SourceResult]
    conversation: Sequence[BaseMessage]
    metadata: Mapping[str, Any]
    intent: Mapping[str, Any]
    calls: Sequence[ModelCall]
    ranking: Ranking = field(default_factory=lambda: EMPTY_RANKING)
    prefix: str = ""
    suffix: str = ""
    correction: Correction | None = None

    @property
    def asked_for_style(self) -> bool:
        """Whether this turn or its session names a style, so that it is not just the configured one."""
        return bool(
            self.turn["options"].get("style") or self.intent.get("output_style") or self.metadata.get("synthesis_style")
        )

    @property
    def opening(self) -> str:
        """The reply to a message that is nothing but small talk, empty for every other."""
        return self.turn["small_talk"]["text"] if self.turn["small_talk"] else ""

    def variables(self, templates: AnswerTemplates, *, listed: bool = True) -> dict[str, Any]:
        """What `templates` are given: of the evidence no more than the built-in ones print, unless the user has own."""
        printed: Shown = "listing" if listed or self.opening else "quotes"
        return template_variables(
            self.evidence,
            message=self.turn["question"],
            metadata=self.metadata,
            intent=self.intent,
            citation_format=self.options.citation_format,
            ranking=self.ranking,
            shown="all" if templates.has_own else printed,
        )

    def structured(self, templates: AnswerTemplates, *, listed: bool = False) -> Draft:
        """The structured answer; with `listed`, what was found besides its quotes stands below it."""
        variables, language = self.variables(templates, listed=listed), self.turn["language"]
        return structured_draft(templates, variables, language, self.ranking, opening=self.opening, listed=listed)


@dataclass(frozen=True)
class AnswerPrompt:
    """What a model is given, however much of the evidence it is shown.

    Attributes:
        prompts: hold its words.
        options: of the turn.
        turn: that is answered.
        ranking: of the evidence.
        per_source: whether the evidence of each source is a message of its own, in the order of their first pieces.
        model: is asked, where that is known.
    """

    prompts: Prompts
    options: Options
    turn: Turn
    ranking: Ranking = field(default_factory=lambda: EMPTY_RANKING)
    per_source: bool = False
    model: BaseChatModel | None = None

    def messages(
        self, evidence: Sequence[SourceResult], conversation: Sequence[BaseMessage], token_limit: int
    ) -> tuple[list[BaseMessage], int] | None:
        """System prompt, conversation, evidence and question; and how many pieces of evidence did not fit.

        When they are too many tokens, the conversation goes first, then evidence from the end. None when even the first
        piece of evidence does not fit: an answer without it would be made up.

        The same turn gives the same bytes, whenever and wherever it is resumed: nothing here depends on a clock or on
        the order of a set, and the fence around the evidence is the turn's.
        """
        earlier = [as_said(message) for message in conversation]
        system, question = _system_text(self.prompts, self.options), self.turn["question"]
        # Mid-size models forget a line of the system prompt behind so much evidence.
        citing = self.options.require_citations
        reminder = self.prompts.render("answer_reminder", require_citations=citing).strip()
        shown = len(evidence)
        while True:
            blocks = self._blocks(evidence[:shown])
            blocks[-1] += f"\n\n{reminder}"
            messages = prompt_messages(system, *blocks, question, before=earlier, model=self.model, name="evidence")
            excess = tokens_of(messages) - token_limit
            if excess <= 0:
                return messages, len(evidence) - shown
            if earlier:
                earlier = earlier[2:]
            elif shown <= 1:
                return None
            else:
                shown = max(1, _fewer(evidence, shown, excess))

    def _blocks(self, evidence: Sequence[SourceResult]) -> list[str]:
        labelled = list(enumerate(evidence, 1))
        names = dict.fromkeys(result.source_name for result in evidence) if self.per_source else {}
        blocks = [[(label, one) for label, one in labelled if one.source_name == name] for name in names]
        return [self._text(block) for block in blocks or [labelled]]

    def _text(self, evidence: Sequence[tuple[int, SourceResult]]) -> str:
        clusters, form = self.ranking["clusters"], self.options.citation_format
        opens = {one["labels"][0]: one for one in clusters}
        closes = {_last_shown(one, len(evidence)) for one in clusters}
        dividing = _dividing(self.ranking["divider"], evidence)
        passages = [
            {
                "label": label,
                "divider": dividing.get(label, ""),
                "source_name": result.source_name,
                "reference": reference(result, form),
                "text": result.content,
                "opens": opens.get(label),
                "closes": label in closes,
            }
            for label, result in evidence
        ]
        # A turn that an earlier version began has its id alone.
        fence = self.turn["fence"] or self.turn["id"]
        return self.prompts.render("answer_evidence", fence=fence, passages=passages, citation_format=form).strip()


def _fewer(evidence: Sequence[SourceResult], shown: int, excess: int) -> int:
    """How many pieces remain when about `excess` tokens are taken from the end; at least one less than `shown`."""
    while excess > 0 and shown > 0:
        shown -= 1
        excess -= max(1, len(evidence[shown].content) // 4)
    return shown


def _system_text(prompts: Prompts, options: Options) -> str:
    return prompts.render(
        "answer_system",
        require_citations=options.require_citations,
        citation_format=options.citation_format,
        allow_parametric=options.allow_parametric,
        abstention="" if options.allow_parametric is True else ABSTENTION,
        instruction=options.instruction,
    ).strip()


def _last_shown(cluster: ClusterValue, shown: int) -> int:
    """The label behind which a cluster closes; one of which the token limit cut off the end, behind what is left."""
    return max((label for label in cluster["labels"] if label <= shown), default=cluster["labels"][0])


def _dividing(divider: Divider | None, evidence: Sequence[tuple[int, SourceResult]]) -> dict[int, str]:
    """The line of `divider` by the label that it stands before, if any of `evidence` stands behind it."""
    behind = [label for label, _ in evidence if divider and label > divider["at"]]
    return {behind[0]: divider["text"]} if divider and behind else {}


# Writing it.

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
    per_source = settings.synthesis.evidence_per_source
    prompt = AnswerPrompt(prompts, task.options, task.turn, task.ranking, per_source, model)
    token_limit = max(left - ANSWER_RESERVE, left // 2) - tokens_of(correction)
    fitting = prompt.messages(task.evidence, task.conversation, token_limit)
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
    outcome = "insufficient" if _only_says_again(task, written) else outcome
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


def _only_says_again(task: Assignment, written: Written) -> bool:
    """Whether it is the question, word for word, which asks nothing back."""
    return list(words(written.text[: written.by_model])) == list(words(task.turn["question"]))


def _leaves_evidence(task: Assignment, written: Written) -> bool:
    """Whether every sentence is marked as general knowledge, where that is allowed."""
    answer = CheckedAnswer(written.text[: written.by_model], "", {}, general=GENERAL_KNOWLEDGE)
    return task.options.allow_parametric is True and not answer.claims


def _must_cite(task: Assignment) -> bool:
    return task.options.require_citations and task.options.allow_parametric is not True


def outcome_of(written: Written, finish: str, *, must_cite: bool) -> Outcome:
    """Whether what a model wrote is an answer: neither a refusal, nor a question in place of one, nor the beginning of
    one that cites nothing yet.

    Where it was to cite, it is none when every sentence says what the evidence does not say, with a label or without,
    or, where it cites nothing, declines. For a question its last sentence tells then, else all of them; what ends
    without a full stop is an item of a list that goes with them.
    """
    claims = claims_of(written.text[: written.by_model])
    cited = any(claim.labels for claim in claims)
    if finish == "refusal" or (finish == "error" and must_cite):
        return "answered" if cited else "insufficient"
    uncited = must_cite and not cited
    if must_cite and finish == "stop" and claims and _says_no_answer(claims, cited=cited):
        return "insufficient"
    return "clarify" if _asks_back(claims, by_last=uncited) else "answered"


def _asks_back(claims: Sequence[Claim], *, by_last: bool) -> bool:
    """Whether each of `claims` is a question, or the last that is no item of a list."""
    texts = [claim.text.rstrip(_CLOSING) for claim in claims]
    if by_last:
        texts = [text for text in texts if not text[-1:].isalnum()][-1:]
    return bool(texts) and all(text.endswith(_ASKS) for text in texts)


def _says_no_answer(claims: Sequence[Claim], *, cited: bool) -> bool:
    """Whether each of `claims` says what the evidence does not say, or declines and cites nothing."""
    return all(says_missing(claim) or (not cited and is_refusal(claim.text, "")) for claim in claims)


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
        doubtful: Ranking = {**task.ranking, "doubt": [], "doubted": None}
        built_in = templates.built_in()
        draft = structured_draft(built_in, task.variables(built_in, listed=False), language, doubtful)
        draft["notes"] = [told, *notes]
    return {**draft, "outcome": "insufficient"}


def _instead(task: Assignment, templates: AnswerTemplates, *notes: str) -> Draft:
    """The structured answer in place of a model's: of evidence that only a model could have answered from, what comes
    closest, and by no template of the user's, which would take it for an answer."""
    closest = task.ranking["insufficient"]
    draft = task.structured(templates.built_in() if closest else templates)
    draft["notes"] = [*notes, *draft["notes"]]
    return {**draft, "outcome": "insufficient"} if closest else draft

"""Asking back where what was found answers differently by something that the question leaves open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NotRequired

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.answers.choices import Open, asked_back_in, names_one, numbered, open_by_field, open_by_model
from groundgraph.answers.conversation import asked_before, recent_conversation
from groundgraph.answers.label_gate import escape_labels
from groundgraph.answers.link_gate import LinkGate, LinkTargets
from groundgraph.answers.provenance import reworded
from groundgraph.core.evidence import SourceResult
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.intent import IntentState
from groundgraph.core.turn_values import EMPTY_DRAFT, Choice, Draft, Ranking, Turn
from groundgraph.models.call_model import ChainModel
from groundgraph.nodes.answer_styles import AnswerInput, style_asked_for
from groundgraph.nodes.node import Node, Stage, StageInput, asked, evidence_scope, model_stage, skipped
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context, options_in_force
from groundgraph.settings.settings import Settings
from groundgraph.text.words import fold

STEP = "ask_back"


class AskBackUpdate(TypedDict):
    """What the step writes: its report, and the draft that asks where something is open."""

    intent: IntentState
    draft: NotRequired[Draft]


@dataclass(frozen=True)
class AskBack:
    """Finds what is left open, and asks.

    Attributes:
        settings: name the fields.
        model: looks for what no field holds; None for none.
        prompts: hold the words.
        evidence: where the references of the ranking lead.
    """

    settings: Settings
    model: ChainModel | None
    prompts: Prompts
    evidence: EvidenceStore

    async def look(self, state: AnswerInput, results: Sequence[SourceResult]) -> Stage:
        """What the stage reports: the choices, or why there are none.

        Raises:
            ModelError: the model failed.
        """
        question = asked(state)
        messages, turns = state.get("messages", []), self.settings.intent.max_context_turns
        earlier = recent_conversation(messages, state["turn"], turns)
        if any(fold(one["question"]) == fold(question) for one in map(asked_back_in, earlier) if one):
            return skipped("it was asked back about before")
        said = [question, *_said(messages, state["turn"], turns)]
        if found := self._by_field(state, question, said, results):
            return _asking("field", found)
        if self.model is None:
            return skipped("no field leaves anything open")
        found = _left_open(await open_by_model(self.model, question, results), said)
        return _asking("model", found) if found else skipped("nothing is left open")

    def _by_field(
        self, state: AnswerInput, question: str, said: Sequence[str], results: Sequence[SourceResult]
    ) -> list[Open]:
        """The values of the first field that leaves something open."""
        # As the words that found the evidence put it.
        put = next(iter(reworded(state["intent"])), question)
        filtered = {field for own in state["intent"]["filters"].values() for field in own}
        asks = self.settings.synthesis.ask_back
        for field in asks.fields if asks else ():
            if field not in filtered and (found := _left_open(open_by_field(field, put, results), said)):
                return found
        return []

    def draft(self, choices: list[Choice], places: list[int], language: str) -> Draft:
        """The answer that asks for one of `choices`; `places` are those of its labels in the ranking."""
        rows = [{"label": escape_labels(one["label"]), "citations": one["citations"]} for one in choices]
        by_number = numbered([one["label"] for one in choices])
        text = self.prompts.render("clarify", language=language, choices=rows, numbered=by_number).strip()
        # A label is text of the evidence, or of a model, and leads nowhere.
        gate = LinkGate(LinkTargets())
        text = gate.feed(text, final=True)
        finished: Draft = {**EMPTY_DRAFT, "text": text, "style": "fixed", "outcome": "clarify", "finish": "stop"}
        return {**finished, "order": places, "removed_links": gate.removed}


def ask_back(
    settings: Settings, model: BaseChatModel | None, prompts: Prompts, evidence: EvidenceStore
) -> Node[AnswerInput, AskBackUpdate]:
    """The node. By a declared field no model is needed; one that fails leaves the turn as it was.

    Args:
        settings: the section `synthesis.ask_back`.
        model: looks for what no field holds; None for none.
        prompts: the prompt files.
        evidence: where the references of the ranking lead.
    """
    asking = AskBack(settings, ChainModel.of(settings, prompts, model) if model else None, prompts, evidence)

    async def ask_back(state: AnswerInput, runtime: Runtime[Context]) -> AskBackUpdate:
        options = state["turn"]["options"]
        scope = evidence_scope(settings, runtime, options)
        results = await evidence.results(runtime.store, state["ranking"]["refs"], state.get("bodies"), scope=scope)

        async def work(_: StageInput, __: Runtime[Context]) -> Stage:
            return await asking.look(state, results)

        stage = model_stage(STEP, work, prompts, without={}, note="ask_back_failed")
        intent = (await stage(state, runtime=runtime))["intent"]
        report = intent["stages"][STEP]
        if not report.get("choices"):
            return {"intent": intent}
        draft = asking.draft(report["choices"], report["places"], state["turn"]["language"])
        in_force = options_in_force(settings, options, runtime.context)
        return {"intent": intent, "draft": {**draft, "asked_style": style_asked_for(state, in_force)}}

    return ask_back


def _said(messages: Sequence[BaseMessage], turn: Turn, turns: int) -> list[str]:
    """What the last turns said: answers but for those that ask back, and what was asked or chosen."""
    earlier = recent_conversation(messages, turn, turns)
    answers = [str(message.text) for message in earlier if message.type == "ai" and asked_back_in(message) is None]
    return [*answers, *(one.said for one in asked_before(messages, turn, turns))]


def _left_open(found: list[Open], said: Sequence[str]) -> list[Open]:
    """`found`, unless there is nothing to choose or something that was `said` chooses already."""
    return found if len(found) > 1 and not names_one([one.label for one in found], said) else []


def _asking(by: str, found: Sequence[Open]) -> Stage:
    places = list(dict.fromkeys(place for one in found for place in one.places))
    choices: list[Choice] = [
        {
            "label": one.label,
            "field": one.field,
            "value": one.value,
            "citations": [places.index(place) + 1 for place in one.places],
        }
        for one in found
    ]
    return Stage({"by": by, "choices": choices, "places": places})


class AsksBackInput(TypedDict, total=False):
    """What decides whether the step runs, and whether it has asked."""

    turn: Turn
    ranking: Ranking
    draft: Draft


def asks_back(choose: Callable[[AsksBackInput], Awaitable[str]]) -> Callable[[AsksBackInput], Awaitable[str]]:
    """`choose`, but `STEP` for a turn that has something to answer from and was not asked back about."""

    async def decided(state: AsksBackInput) -> str:
        ranking, turn = state["ranking"], state["turn"]
        weak = ranking["style"] is None or ranking["insufficient"] or ranking["needs"]
        chosen = turn["chosen"] is not None and turn["chosen"]["choice"] is not None
        settled = chosen or turn["small_talk"] or turn["path"] == "state_facts"
        return await choose(state) if weak or settled or not ranking["refs"] else STEP

    return decided


def asked_or(choose: Callable[[AsksBackInput], Awaitable[str]]) -> Callable[[AsksBackInput], Awaitable[str]]:
    """`ask` when the step has asked, else what `choose` says."""

    async def decided(state: AsksBackInput) -> str:
        return "ask" if state["draft"]["text"] else await choose(state)

    return decided

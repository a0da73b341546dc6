"""An answer with little support waits until a person approves, refuses or replaces it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from typing_extensions import TypedDict

from groundgraph.answers.citations import labels_in
from groundgraph.answers.gated_model import by_hand, labelled_places
from groundgraph.core.errors import ReviewImpossible
from groundgraph.core.evidence import EvidenceRecord, SourceResult
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.turn_values import Check, Decision, Draft, Ranking, Review, Turn
from groundgraph.nodes.node import Node, evidence_scope, signed_in
from groundgraph.nodes.turn_lineage import running_saver
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context, options_in_force
from groundgraph.settings.settings import Settings

# What a person decides about an answer, and what they are asked.


class ReviewDecision(BaseModel):
    """What becomes of an answer that waits."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="Review")

    decision: Decision = Field(description="approve: the answer goes out; refuse: it is withheld; replace: see text")
    text: str = Field(
        "", max_length=32_000, description="with replace: the answer in its place, with the numbers of the evidence"
    )
    comment: str = Field("", max_length=4_000, description="kept in the record of the turn; no reader sees it")

    @model_validator(mode="after")
    def _replace_has_a_text(self) -> Self:
        if (self.decision == "replace") != bool(self.text.strip()):
            raise ValueError("text belongs to the decision 'replace', and only to it")
        return self


def read_decision(given: Any) -> tuple[ReviewDecision | None, str]:
    """The decision in what came in; None, with what is wrong with it, when it is none."""
    try:
        return ReviewDecision.model_validate(given), ""
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, one['loc'])) or 'review'}: {one['msg'].removeprefix('Value error, ')}"
            for one in error.errors(include_url=False, include_input=False)
        ]
        return None, "; ".join(problems)


# What a person needs to see of a piece of evidence stands in its source; this much is kept in the checkpoint.
SHOWN_CHARS = 1200
CANNOT_WAIT = (
    "An answer with little support waits for a person (human_review.support_below), and without a thread nobody can go "
    "on with it. Run the graph with a checkpointer and a thread_id, or switch human_review off."
)


class ReviewAnswerInput(TypedDict, total=False):
    """What the step reads."""

    turn: Turn
    ranking: Ranking
    bodies: dict[str, EvidenceRecord]
    draft: Draft
    check: Check


class ReviewAnswerUpdate(TypedDict):
    """What the step writes."""

    draft: Draft


def review_answer(
    settings: Settings, prompts: Prompts, evidence: EvidenceStore
) -> Node[ReviewAnswerInput, ReviewAnswerUpdate]:
    """The node. The run stops here and goes on with the decision, on the same evidence; see `ReviewDecision`.

    What is no decision is answered by the same question, with what was wrong, so that the turn stays open.
    """

    async def review_answer(state: ReviewAnswerInput, runtime: Runtime[Context]) -> ReviewAnswerUpdate:
        if not _can_wait(runtime):
            raise ReviewImpossible(CANNOT_WAIT)
        # Nobody goes on in another scope with a turn, and reads its evidence by that.
        options_in_force(settings, state["turn"]["options"], runtime.context)
        draft, check = state["draft"], state["check"]
        scope = evidence_scope(settings, runtime, state["turn"]["options"])
        results = await evidence.results(runtime.store, state["ranking"]["refs"], state.get("bodies"), scope=scope)
        order = labelled_places(draft["order"], len(results))
        question = _question(state, settings, [results[place - 1] for place in order])
        decision, asked = _decided(question)
        review: Review = {"decision": decision.decision, "score": check["score"], "asked": asked}
        if decision.comment:
            review["comment"] = decision.comment
        if user := signed_in(runtime):
            review["reviewer"] = user["identity"]
        runtime.stream_writer({"stage": "review_answer", **review})
        if decision.decision == "replace":
            listing = draft["text"][draft["written"] :] if draft["written"] else ""
            draft = by_hand(draft, decision.text, listing, results)
            # What was noted about the words of the model is not true of these.
            draft["notes"] = [prompts.note("answer_replaced", state["turn"]["language"])]
        elif decision.decision == "approve":
            runtime.stream_writer({"stage": "answer_released"})
        return {"draft": {**draft, "review": review}}

    return review_answer


def _can_wait(runtime: Runtime[Context]) -> bool:
    """Whether the steps of this run are kept on a thread; without a saver LangGraph stops it all the same."""
    info = runtime.execution_info
    return running_saver() is not None and info is not None and info.thread_id is not None


def _question(state: ReviewAnswerInput, settings: Settings, results: Sequence[SourceResult]) -> dict[str, Any]:
    """What the person sees: everything to decide by, evidence under the labels of the answer."""
    check, draft = state["check"], state["draft"]
    return {
        "turn_id": state["turn"]["id"],
        "question": state["turn"]["question"],
        "answer": draft["text"],
        "support": check["score"],
        "support_below": settings.human_review.support_below,
        "flags": check["flags"],
        "evidence": [
            {
                "label": label,
                "source_name": result.source_name,
                "source_id": result.source_id,
                "text": result.content[:SHOWN_CHARS],
            }
            for label, result in enumerate(results, 1)
        ],
    }


def _decided(question: dict[str, Any]) -> tuple[ReviewDecision, int]:
    """The decision, and how often was asked for it."""
    asked, problem = 0, ""
    while True:
        asked += 1
        told = {**question, "problem": problem} if problem else question
        decision, problem = read_decision(interrupt(told, response_schema=ReviewDecision.model_json_schema()))
        problem = problem or _unknown_labels(decision, len(question["evidence"]))
        if decision is not None and not problem:
            return decision, asked


def _unknown_labels(decision: ReviewDecision | None, known: int) -> str:
    unknown = [label for label in labels_in(decision.text if decision else "") if label > known]
    listed = ", ".join(f"[{label}]" for label in unknown)
    return f"text: {listed} refers to no evidence; there are {known} pieces of it" if unknown else ""

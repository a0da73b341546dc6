"""An answer with little support waits until a person approves, refuses or replaces it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from typing_extensions import TypedDict

from groundgraph.answers.answer_gate import by_hand, labelled_places, says_something
from groundgraph.answers.citations import labels_in
from groundgraph.core.errors import ReviewImpossible
from groundgraph.core.evidence import EvidenceRecord, SourceResult
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.turn_values import Check, Decision, Draft, Ranking, Review, Turn
from groundgraph.nodes.check_citations import flags_of
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

    What is no decision is answered by the same question, with what was wrong, so that the turn stays open. Words of a
    person that a policy of the citation check refuses come back here from the check.
    """

    async def review_answer(state: ReviewAnswerInput, runtime: Runtime[Context]) -> ReviewAnswerUpdate:
        if not _can_wait(runtime):
            raise ReviewImpossible(CANNOT_WAIT)
        # Nobody goes on in another scope with a turn, and reads its evidence by that.
        options_in_force(settings, state["turn"]["options"], runtime.context)
        draft = state["draft"]
        scope = evidence_scope(settings, runtime, state["turn"]["options"])
        results = await evidence.results(runtime.store, state["ranking"]["refs"], state.get("bodies"), scope=scope)
        order = labelled_places(draft["order"], len(results))
        question = _question(state, settings, [results[place - 1] for place in order])
        listing = draft["text"][draft["written"] :] if draft["written"] else ""

        def replaced(text: str) -> Draft:
            return by_hand(draft, text, listing, results)

        decision, asked = _decided(question, _refused(state, settings), replaced)
        review = _review(decision, asked, state, runtime)
        runtime.stream_writer({"stage": "review_answer", **review})
        # What was noted about the words of the model, or of a person before, is not true of other words, or of none.
        if decision.decision == "replace":
            draft = {**replaced(decision.text), "notes": [prompts.note("answer_replaced", state["turn"]["language"])]}
        elif decision.decision == "approve":
            runtime.stream_writer({"stage": "answer_released"})
        elif draft["review"]:
            draft = {**draft, "notes": []}
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


def _review(decision: ReviewDecision, asked: int, state: ReviewAnswerInput, runtime: Runtime[Context]) -> Review:
    """The review for the record; of words that were refused on the way to it only how often was asked."""
    earlier: Review = state["draft"]["review"] or {"score": state["check"]["score"], "asked": 0}
    review: Review = {
        "decision": decision.decision, "score": earlier["score"], "asked": earlier["asked"] + asked
    }  # fmt: skip
    if decision.comment:
        review["comment"] = decision.comment
    if user := signed_in(runtime):
        review["reviewer"] = user["identity"]
    return review


def _decided(question: dict[str, Any], refused: str, replaced: Callable[[str], Draft]) -> tuple[ReviewDecision, int]:
    """The decision, and how often was asked for it.

    Args:
        question: what the person sees.
        refused: why the words that they see, which are a person's, cannot go out; empty when they can.
        replaced: makes a draft of theirs.
    """
    asked, problem = 0, refused
    while True:
        asked += 1
        told = {**question, "problem": problem} if problem else question
        decision, problem = read_decision(interrupt(told, response_schema=ReviewDecision.model_json_schema()))
        if decision is None:
            continue
        if decision.decision == "replace":
            problem = _unknown_labels(decision.text, len(question["evidence"])) or _says_nothing(
                replaced(decision.text)
            )
        elif decision.decision == "approve":
            problem = refused
        if not problem:
            return decision, asked


def _unknown_labels(text: str, known: int) -> str:
    unknown = [label for label in labels_in(text) if label > known]
    listed = ", ".join(f"[{label}]" for label in unknown)
    return f"text: {listed} refers to no evidence; there are {known} pieces of it" if unknown else ""


def _says_nothing(draft: Draft) -> str:
    told = "text: it says nothing without what no answer may hold, such as thoughts and unseen characters"
    return "" if says_something(draft["text"][: draft["written"]]) else told


def _refused(state: ReviewAnswerInput, settings: Settings) -> str:
    """Why the words of a person that came back from the check cannot go out; empty where a model's wait."""
    flags = flags_of("refuse", state["check"]["flags"], settings.citation_check) if state["draft"]["review"] else []
    listed = "; ".join(f"{flag['kind']}: {flag['detail']}" for flag in flags)
    return f"text: citation_check refuses it ({listed}); replace it again, or refuse the answer" if flags else ""

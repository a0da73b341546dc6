"""A second opinion of the citation check: a judge reads the sentences of an answer beside what they cite,
also where the words are the same, but for a "not"."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import HumanMessage

from groundgraph.answers.citations import CheckedAnswer, Claim, named_text, without_fences
from groundgraph.answers.provenance import retrieval_calls
from groundgraph.core.chain import SupportJudge
from groundgraph.core.errors import ModelError
from groundgraph.core.failure import Failure, described, failure_of
from groundgraph.core.turn_values import Flag, ModelCall, SecondOpinion
from groundgraph.ingest.judge import BATCH
from groundgraph.models.call_model import chain_calls_left, collect_chain_calls, tokens_of, tokens_spent
from groundgraph.nodes.answer_styles import AnswerInput
from groundgraph.resilience.blocking import call_chain
from groundgraph.resilience.bounds import within_turn
from groundgraph.settings.settings import Settings

EVEN_ODDS = 0.5
# What a label before a full stop or a comma leaves.
_LABELS_GAP = re.compile(r" (?=[.,;:!?](?:\s|$))")


def judged_claims(answer: CheckedAnswer) -> list[Claim]:
    """The sentences that a judge can be asked about, in order: all but headings, blocks of code, questions and what
    leads to a list. Which of them speak of the evidence itself, it can tell better than a list of words."""
    return [claim for claim in answer.claims if claim.labels or _says_something(without_fences(claim.text).strip())]


def _says_something(text: str) -> bool:
    plain = text.rstrip("*_ ")
    return any(map(str.isalpha, plain)) and plain[-1] not in ":?" and not plain.startswith("#")


def judged_pair(answer: CheckedAnswer, claim: Claim) -> tuple[str, str]:
    """What `claim` rests on, and its text on one line, as it reads without its labels."""
    return "\n\n".join(map(named_text, answer.rests_on(claim))), _LABELS_GAP.sub("", " ".join(claim.text.split()))


def check_entailment(claims: Sequence[Claim], scores: Sequence[float | None], by: str) -> list[Flag]:
    """A flag `not_entailed` for every one of `claims` that the judge `by` scored below even odds."""
    return [
        claim.flag("not_entailed", f"by {by}, its evidence does not say it ({score:.0%})")
        for claim, score in zip(claims, scores, strict=True)
        if score is not None and score < EVEN_ODDS
    ]


# The prompt of a chat model that judges, which is the role of its calls too.
ROLE = "judge_support"
# Tokens of instructions and reply that come with each pair, in batches of ten.
_BESIDE = 40


@dataclass(frozen=True)
class Opinion:
    """What the judge found; `failure` is why it found nothing, and `calls` are those of its model."""

    report: SecondOpinion
    flags: list[Flag] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    failure: Failure | None = None


@dataclass(frozen=True)
class AskJudge:
    """Asks `judge` about the sentences of an answer, the first ones when a cap leaves no more.

    Attributes:
        judge: gives the scores.
        by: who that is, for the record.
        calls_model: whether it calls a chat model, once for `BATCH` pairs.
        settings: the caps.
    """

    judge: SupportJudge
    by: str
    calls_model: bool
    settings: Settings

    async def __call__(self, answer: CheckedAnswer, state: AnswerInput) -> Opinion:
        """The opinion on `answer`; a judge that fails has none, and says why."""
        earlier = state["check"]["second_opinion"] if state["draft"]["repaired"] else None
        claims = judged_claims(answer)
        chosen, tokens = self._within_caps([(claim, judged_pair(answer, claim)) for claim in claims], state, earlier)
        report = self._report(earlier, len(chosen), tokens, len(claims) - len(chosen))
        if not chosen:
            return Opinion(report)
        with collect_chain_calls() as calls:
            try:
                scores = await self._scores(answer.question, [pair for _, pair in chosen])
            except Exception as error:  # the judge may be of the user's own
                failure = failure_of(error, "model")
                return Opinion({**report, "error": described(error)}, calls=calls, failure=failure)
        report["undecided"] += scores.count(None)
        return Opinion(report, check_entailment([claim for claim, _ in chosen], scores, self.by), calls)

    def _report(self, earlier: SecondOpinion | None, sentences: int, tokens: int, over_cap: int) -> SecondOpinion:
        before: Any = earlier or {}
        return {
            "by": self.by,
            "sentences": before.get("sentences", 0) + sentences,
            "tokens": before.get("tokens", 0) + tokens,
            "over_cap": over_cap,
            "undecided": before.get("undecided", 0),
        }

    def _within_caps(
        self, pairs: list[tuple[Claim, tuple[str, str]]], state: AnswerInput, earlier: SecondOpinion | None
    ) -> tuple[list[tuple[Claim, tuple[str, str]]], int]:
        """As many of `pairs` as may be judged, and their tokens."""
        own, before = self.settings.citation_check.second_opinion, earlier or {"sentences": 0, "tokens": 0}
        most, room = own.max_sentences - before["sentences"], own.max_tokens - before["tokens"]
        if self.calls_model:
            calls = _calls_of(state)
            most = min(most, BATCH * self._calls_left(calls, state))
            room = min(room, self.settings.limits.tokens - tokens_spent(calls))
        tokens = 0
        for count, (_, pair) in enumerate(pairs):
            cost = tokens_of([HumanMessage("\n".join(pair))]) + _BESIDE
            if count >= most or tokens + cost > room:
                return pairs[:count], tokens
            tokens += cost
        return pairs, tokens

    def _calls_left(self, calls: Sequence[ModelCall], state: AnswerInput) -> int:
        limits, check = self.settings.limits, self.settings.citation_check
        # What repairs an answer must not be short of its call.
        kept = "repair" in check.policies.values() and not state["draft"]["repaired"]
        made = sum(call["role"] == ROLE for call in calls)
        left = min(check.second_opinion.max_calls - made, limits.model_calls - len(calls) - kept)
        chains = chain_calls_left()
        return max(0, left if chains is None else min(left, chains))

    async def _scores(self, question: str, pairs: list[tuple[str, str]]) -> list[float | None]:
        # Each call of a chat model has a limit of its own.
        deadlines = self.settings.deadlines
        limit = deadlines.turn if self.calls_model else deadlines.model
        given = await within_turn(limit, call_chain(self.judge, question, pairs))
        scores = [None if score is None else float(score) for score in given]
        if len(scores) != len(pairs) or any(score is not None and math.isnan(score) for score in scores):
            raise ModelError(f"it gave {len(scores)} scores for {len(pairs)} sentences, or one that is no number")
        if all(score is None for score in scores):
            raise ModelError("it judged none of the sentences")
        return scores


def _calls_of(state: AnswerInput) -> list[ModelCall]:
    """The calls of models that the turn has made so far."""
    own = (state["intent"]["calls"], state["ranking"]["calls"], state["draft"]["calls"])
    return [*retrieval_calls(state["retrievals"]), *(call for calls in own for call in calls)]

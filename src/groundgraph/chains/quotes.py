"""Quotes first: the sentences of the evidence that best answer a question, verbatim and labelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundgraph.chains.answer_cues import asked_for, holds
from groundgraph.chains.sentence_index import joined_stems, question_weights, sentences_of
from groundgraph.core.evidence import SourceResult

MAX_QUOTES = 3
# Nothing is quoted unless a sentence, with what it stands under, holds this share of the question.
LEAST_SHARE = 0.1
# A sentence of another piece of evidence than the best one's is quoted when its worth is this share of that one's.
RELATIVE_CUT = 0.7
# What a stem of the question counts that the title or the heading path holds in place of the sentence.
TOPIC = 0.5
# A text tends to begin with what it is about: the first sentence gains this much, the n-th an n-th of it.
LEAD = 0.1
# What a sentence gains that holds the kind of thing that is asked for: a number, a name.
CUE = 0.1
# What each place in the ranking costs: the fourth piece of evidence counts about half of the first.
RANK_DISCOUNT = 0.3


@dataclass(frozen=True)
class Quote:
    """A sentence of the evidence with label `label`; `start` and `end` are offsets in that evidence's content.

    `score` is the idf-weighted share of the question's stems that it holds, or by half that its title or heading path
    holds, discounted by the rank of its evidence; `held` are the stems that it holds itself.
    """

    label: int
    text: str
    start: int
    end: int
    score: float
    held: frozenset[str]


@dataclass(frozen=True)
class _Candidate:
    """A quote with what it is worth beside the others."""

    quote: Quote
    worth: float


def select_quotes(question: str, evidence: Sequence[SourceResult], limit: int = MAX_QUOTES) -> list[Quote]:
    """At most `limit` sentences, in the order of the evidence; deterministic, without a model.

    An answer mostly stands in several sentences of one piece of evidence. So those of the piece that holds the best
    sentence have only to be the best that are left, and those of other pieces must come close to it.
    """
    candidates = _candidates(question, evidence)
    if not any(candidate.quote.score >= LEAST_SHARE for candidate in candidates):
        return []
    best = max(candidates, key=lambda candidate: candidate.worth)
    close = [
        candidate
        for candidate in candidates
        if candidate.quote.label == best.quote.label
        or (candidate.quote.held and candidate.worth >= RELATIVE_CUT * best.worth)
    ]
    chosen = sorted(close, key=lambda candidate: -candidate.worth)[:limit]
    return sorted((candidate.quote for candidate in chosen), key=lambda quote: (quote.label, quote.start))


def _candidates(question: str, evidence: Sequence[SourceResult]) -> list[_Candidate]:
    """The sentences that can be quoted and have to do with the question, of equal ones the first."""
    weights = question_weights(question, (result.content for result in evidence))
    total = sum(weight for _, weight in weights)
    if not total:
        return []
    asked = asked_for(question)
    found: dict[str, _Candidate] = {}
    stems = frozenset(stem for stem, _ in weights)
    for label, result in enumerate(evidence, 1):
        named = stems & _named(result)
        discount = 1 / (1 + RANK_DISCOUNT * (label - 1))
        for place, sentence in enumerate(sentences_of(result.content), 1):
            held = stems & sentence.stems
            if not sentence.quotable or not (held or named):
                continue
            own = result.content[sentence.start : sentence.end]
            if own in found:
                continue
            share = (
                sum(weight if stem in held else TOPIC * weight if stem in named else 0.0 for stem, weight in weights)
                / total
            )
            if not share:
                continue
            quote = Quote(label, own, sentence.start, sentence.end, min(1.0, share) * discount, held)
            found[own] = _Candidate(quote, (share + LEAD / place + CUE * holds(own, asked)) * discount)
    return list(found.values())


def _named(result: SourceResult) -> frozenset[str]:
    """The stems of what the evidence stands under."""
    return joined_stems([str(result.metadata.get(name) or "") for name in ("title", "section")])

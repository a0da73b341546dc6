"""Quotes first: the sentences of the evidence that best answer a question, verbatim and labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundgraph.chains.sentence_index import Weights, question_weights, sentences_of, weights_held
from groundgraph.core.evidence import SourceResult

MAX_QUOTES = 3
# A sentence is quoted when it is at least this good compared with the best one.
RELATIVE_CUT = 0.6
# What each place in the ranking costs: the tenth piece of evidence counts about half of the first.
RANK_DISCOUNT = 0.1
# What a stem that an earlier quote holds still counts.
REPEATED = 0.5


@dataclass(frozen=True)
class Quote:
    """A sentence of the evidence with label `label`; `start` and `end` are offsets in that evidence's content.

    `score` is the idf-weighted share of the question's stems that it holds, discounted by the rank of its evidence;
    `held` are those stems.
    """

    label: int
    text: str
    start: int
    end: int
    score: float
    held: frozenset[str]


def select_quotes(question: str, evidence: Sequence[SourceResult], limit: int = MAX_QUOTES) -> list[Quote]:
    """At most `limit` sentences, in the order of the evidence; deterministic, without a model.

    Of the sentences that come close to the best one, those are taken that add most to what is quoted already.
    """
    weights = question_weights(question, (result.content for result in evidence))
    candidates = _candidates(evidence, weights)
    chosen: list[Quote] = []
    covered: frozenset[str] = frozenset()
    while candidates and len(chosen) < limit:
        left = {stem: weight * (REPEATED if stem in covered else 1.0) for stem, weight in weights}
        best = max(candidates, key=lambda quote: _gain(quote, left))
        chosen.append(best)
        covered |= best.held
        candidates.remove(best)
    return sorted(chosen, key=lambda quote: (quote.label, quote.start))


def _gain(quote: Quote, weights: Mapping[str, float]) -> float:
    return sum(weights[stem] for stem in quote.held) * _discount(quote.label)


def _discount(label: int) -> float:
    return 1 / (1 + RANK_DISCOUNT * (label - 1))


def _candidates(evidence: Sequence[SourceResult], weights: Weights) -> list[Quote]:
    total = sum(weight for _, weight in weights)
    if not total:
        return []
    scored = [
        (held / total * _discount(label), label, result.content, sentence)
        for label, result in enumerate(evidence, 1)
        for held, sentence in zip(weights_held(result.content, weights), sentences_of(result.content), strict=True)
        if held and sentence.quotable
    ]
    cut = max((score for score, *_ in scored), default=0.0) * RELATIVE_CUT
    asked = frozenset(stem for stem, _ in weights)
    best: dict[str, Quote] = {}
    for score, label, text, sentence in scored:
        if score >= cut:
            own = text[sentence.start : sentence.end]
            best.setdefault(own, Quote(label, own, sentence.start, sentence.end, score, sentence.stems & asked))
    return list(best.values())

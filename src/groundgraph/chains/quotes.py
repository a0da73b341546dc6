"""Quotes first: the sentences of the evidence that best answer a question, verbatim and labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundgraph.chains.sentence_index import Weights, question_weights, sentences_of, weights_held
from groundgraph.core.evidence import SourceResult

MAX_QUOTES = 3
# A sentence is quoted when it is at least this good compared with the best one.
RELATIVE_CUT = 0.6
# And when it holds this share of the question, so that a stray word in common is no answer.
LEAST_SHARE = 0.3
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
    best_of = [_best_quotable(result.content, weights) for result in evidence]
    best = max((held * _discount(label) for label, held in enumerate(best_of, 1)), default=0.0)
    cut = max(best * RELATIVE_CUT, total * LEAST_SHARE)
    asked = frozenset(stem for stem, _ in weights)
    found: dict[str, Quote] = {}
    for label, (result, best) in enumerate(zip(evidence, best_of, strict=True), 1):
        if best * _discount(label) < cut:
            continue
        for held, sentence in zip(weights_held(result.content, weights), sentences_of(result.content), strict=True):
            score = held * _discount(label)
            if score >= cut and sentence.quotable:
                own = result.content[sentence.start : sentence.end]
                share = min(1.0, score / total)
                found.setdefault(own, Quote(label, own, sentence.start, sentence.end, share, sentence.stems & asked))
    return list(found.values())


def _best_quotable(text: str, weights: Weights) -> float:
    held = zip(weights_held(text, weights), sentences_of(text), strict=True)
    return max((weight for weight, sentence in held if sentence.quotable), default=0.0)

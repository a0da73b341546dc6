"""Quotes first: the sentences of the evidence that best answer a question, verbatim and labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundgraph.chains.sentence_index import Sentence, question_weights, sentences_of
from groundgraph.core.evidence import SourceResult
from groundgraph.core.lexical import coverage
from groundgraph.core.text import words

MAX_QUOTES = 3
MAX_QUOTE_CHARS = 600
# A sentence is quoted when it is at least this good compared with the best one.
RELATIVE_CUT = 0.6
# What each place in the ranking costs: the tenth piece of evidence counts about half of the first.
RANK_DISCOUNT = 0.1


@dataclass(frozen=True)
class Quote:
    """A sentence of the evidence with label `label`; `start` and `end` are offsets in that evidence's content."""

    label: int
    text: str
    start: int
    end: int
    score: float


def select_quotes(question: str, evidence: Sequence[SourceResult], limit: int = MAX_QUOTES) -> list[Quote]:
    """At most `limit` sentences, in the order of the evidence; deterministic, without a model.

    A sentence scores the idf-weighted share of the question's stems that it holds, discounted by the rank of its evidence.
    Sentences are taken greedily by what they add: a stem that an earlier quote holds counts half.
    """
    weights = question_weights(question, (result.content for result in evidence))
    if not any(weights.values()):
        return []
    candidates = _candidates(evidence, weights)
    best = max((quote.score for quote, _ in candidates), default=0.0)
    chosen: list[Quote] = []
    covered: frozenset[str] = frozenset()
    while candidates and len(chosen) < limit and best > 0:
        left = {stem: weight * (0.5 if stem in covered else 1.0) for stem, weight in weights.items()}
        quote, sentence = max(
            candidates, key=lambda pair: (_gain(pair, left), -pair[0].label, -pair[0].start)
        )
        candidates = [pair for pair in candidates if pair[0].text != quote.text]
        if quote.score >= RELATIVE_CUT * best:
            chosen.append(quote)
            covered |= sentence.stems & weights.keys()
        elif not _any_good(candidates, best):
            break
    return sorted(chosen, key=lambda quote: (quote.label, quote.start))


def _gain(pair: tuple[Quote, Sentence], weights: Mapping[str, float]) -> float:
    quote, sentence = pair
    held = sum(weight for stem, weight in weights.items() if stem in sentence.stems)
    return held / (1 + RANK_DISCOUNT * (quote.label - 1))


def _any_good(candidates: Sequence[tuple[Quote, Sentence]], best: float) -> bool:
    return any(quote.score >= RELATIVE_CUT * best for quote, _ in candidates)


def _candidates(
    evidence: Sequence[SourceResult], weights: Mapping[str, float]
) -> list[tuple[Quote, Sentence]]:
    found: list[tuple[Quote, Sentence]] = []
    for label, result in enumerate(evidence, 1):
        for sentence in sentences_of(result.content):
            score = coverage(weights, sentence.stems) / (1 + RANK_DISCOUNT * (label - 1))
            if score > 0 and _is_quotable(result.content[sentence.start : sentence.end]):
                text = result.content[sentence.start : sentence.end]
                found.append((Quote(label, text, sentence.start, sentence.end, score), sentence))
    return found


def _is_quotable(text: str) -> bool:
    """Headings, table rows, code and very long passages are no sentences that answer anything."""
    if len(text) > MAX_QUOTE_CHARS or text.startswith(("#", "|", "```", "    ")) or "|--" in text:
        return False
    return sum(1 for _ in words(text)) >= 4

"""Quotes first: the sentences of the evidence that best answer a question, verbatim and labelled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from groundgraph.answers.sentence_index import (
    Sentence,
    Weights,
    question_weights,
    running_lines,
    sentences_of,
    stems_of,
    weights_held,
)
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import FoundQuote
from groundgraph.text.original import Original
from groundgraph.text.words import LANGUAGES, WORD, language_data, stems, words

# What kind of thing a question asks for, whether a sentence holds one, and what it names; by surface alone.

Asked = Literal["number", "name"]
_DIGIT = re.compile(r"\d")


@lru_cache(maxsize=1024)
def asked_for(question: str) -> Asked | None:
    """`number` for a question such as "when" or "how many", `name` for "who" or "where", None for any other."""
    spoken = " ".join(words(question))
    for kind, phrases in _phrases():
        if any(f" {phrase} " in f" {spoken} " for phrase in phrases):
            return kind
    return None


def holds(text: str, asked: Asked | None) -> bool:
    """Whether `text` holds a digit for `number`, or for `name` a capital letter that does not only begin it."""
    if asked == "number":
        return _DIGIT.search(text) is not None
    if asked == "name":
        return any(found.group()[0].isupper() for found in list(WORD.finditer(text))[1:])
    return False


@lru_cache(maxsize=1024)
def named_stems(question: str) -> frozenset[str]:
    """The stems of the names in `question`: words that begin with a capital letter and are not its first one; none in a
    question that is written in capitals."""
    if question == question.upper():
        return frozenset()
    behind = list(WORD.finditer(question))[1:]
    return frozenset(stem for match in behind if match.group()[0].isupper() for stem in stems(match.group()))


@cache
def _phrases() -> tuple[tuple[Asked, tuple[str, ...]], ...]:
    kinds: tuple[Asked, ...] = ("number", "name")
    return tuple(
        (
            kind,
            tuple(
                " ".join(words(phrase))
                for language in LANGUAGES
                for phrase in language_data(language, "asks_for", kind)
            ),
        )
        for kind in kinds
    )


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
# From this relevance on, a piece that shares no word with the question was still found for it. Only of these sources a
# relevance means the same for every question.
FOUND_OTHERWISE = 0.4
JUDGED = ("knowledge_base", "cascade")
_ENDS = (".", "!", "?", "…")


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


class _Candidate(NamedTuple):
    """A sentence that can be quoted, and what it is worth beside the others. A turn has hundreds, and quotes three."""

    label: int
    sentence: Sentence
    text: str
    score: float
    worth: float
    holds_some: bool


def select_quotes(question: str, evidence: Sequence[SourceResult], limit: int = MAX_QUOTES) -> list[Quote]:
    """At most `limit` sentences, the one that is worth most first; deterministic, without a model.

    An answer mostly stands in several sentences of one piece of evidence. So those of the piece that holds the best
    sentence have only to be the best that are left, and those of other pieces must come close to it.
    """
    weights = question_weights(question, (result.content for result in evidence))
    stems, total = frozenset(stem for stem, _ in weights), sum(weight for _, weight in weights)
    candidates = _candidates(_Question(weights, stems, total, asked_for(question)), evidence)
    if not any(candidate.score >= LEAST_SHARE for candidate in candidates):
        return _in_other_words(evidence)
    best = max(candidates, key=lambda candidate: candidate.worth)
    close = [
        candidate
        for candidate in candidates
        if candidate.label == best.label or (candidate.holds_some and candidate.worth >= RELATIVE_CUT * best.worth)
    ]
    # Of equal ones the first in the evidence: the candidates stand in its order.
    chosen = sorted(close, key=lambda candidate: -candidate.worth)[:limit]
    return [_quote(candidate, stems) for candidate in chosen]


def found_quote(label: int, result: SourceResult, start: int, end: int) -> FoundQuote:
    """Characters `start` to `end` of the content of `result`, with their offsets in the original where it is known."""
    offset = Original(result).origin or 0
    return {"label": label, "text": result.content[start:end], "start": offset + start, "end": offset + end}


def _in_other_words(evidence: Sequence[SourceResult]) -> list[Quote]:
    """The first sentence of the best piece that was found by a text written for it, by a transformed query or by its
    vector, and shares no word with the question; none otherwise."""
    for label, result in enumerate(evidence, 1):
        if result.source_type in JUDGED and result.relevance >= FOUND_OTHERWISE:
            own = sentences_of(result.content, running_lines(result))
            return [
                Quote(label, result.content[one.start : one.end], one.start, one.end, 0.0, frozenset())
                for one in own
                if one.quotable
            ][:1]
    return []


def _quote(chosen: _Candidate, asked: frozenset[str]) -> Quote:
    sentence = chosen.sentence
    return Quote(chosen.label, chosen.text, sentence.start, sentence.end, chosen.score, asked & sentence.stems)


@dataclass(frozen=True)
class _Question:
    """What sentences are held against: the stems with their weights and these added up, and what is asked for."""

    weights: Weights
    stems: frozenset[str]
    total: float
    asked: Asked | None


def _candidates(question: _Question, evidence: Sequence[SourceResult]) -> list[_Candidate]:
    """The sentences that can be quoted and have to do with the question, of equal ones the first."""
    found: dict[str, _Candidate] = {}
    if question.weights:
        for label, result in enumerate(evidence, 1):
            for candidate in _candidates_in(label, result, question):
                found.setdefault(candidate.text, candidate)
    return list(found.values())


def _candidates_in(label: int, result: SourceResult, question: _Question) -> Iterator[_Candidate]:
    content, named, weights = result.content, _named(result) & question.stems, question.weights
    running, discount = running_lines(result), 1 / (1 + RANK_DISCOUNT * (label - 1))
    own_sentences = sentences_of(content, running)
    # A sentence that is all there is, however short, is no fragment.
    whole = len(own_sentences) == 1 and content.rstrip().endswith(_ENDS)
    held = zip(own_sentences, weights_held(content, weights, running), strict=True)
    for place, (sentence, weight) in enumerate(held, 1):
        if (sentence.quotable or whole) and (weight or named):
            text, only_named = content[sentence.start : sentence.end], named - sentence.stems
            topic = _weight_of(only_named, weights) if only_named else 0.0
            share = (weight + TOPIC * topic) / question.total
            worth = (share + LEAD / place + CUE * holds(text, question.asked)) * discount
            yield _Candidate(label, sentence, text, min(1.0, share) * discount, worth, weight > 0)


def _weight_of(stems: frozenset[str], weights: Weights) -> float:
    # In the order of the weights: so every run gives the same sum.
    return sum([weight for stem, weight in weights if stem in stems])


def _named(result: SourceResult) -> frozenset[str]:
    """The stems of what the evidence stands under."""
    metadata = result.metadata
    return stems_of(str(metadata.get("title") or "")) | stems_of(str(metadata.get("section") or ""))

"""The sentences of evidence, each with its stems; analysed once per text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from groundgraph.chains.prose_gate import CODE
from groundgraph.core.lexical import idf
from groundgraph.core.text import query_stems, sentences, stems, words

Weights = tuple[tuple[str, float], ...]
"""The question's stems with their weights, as a key under which what was found can be kept."""

# What Markdown puts before the sentence of a list item or a quotation.
_MARKER = re.compile(r"(?:[-*+•>]\s+)+(?=\S)")
_SYMBOL = re.compile(r"[{}()\[\]=<>;|\\/@+*%$_]")
# The share of symbols beyond which a text is code rather than a sentence.
MAX_SYMBOLS = 0.08
MIN_QUOTABLE_WORDS = 4
# "You can set it on a client, which makes it the default:" says something, "For example:" does not.
MIN_INTRODUCTION_WORDS = 10
MAX_QUOTABLE_CHARS = 600


@dataclass(frozen=True)
class Sentence:
    """One sentence of a text: its offsets, the distinct stems of its content words, and whether it can stand alone."""

    start: int
    end: int
    stems: frozenset[str]
    quotable: bool


@lru_cache(maxsize=4096)
def sentences_of(text: str) -> tuple[Sentence, ...]:
    """The sentences of `text` in order."""
    code = [found.span() for found in CODE.finditer(text) if found.group().startswith("```")]
    return tuple(_sentence(text, start, end, code) for start, end in sentences(text))


def _sentence(text: str, start: int, end: int, code: list[tuple[int, int]]) -> Sentence:
    marker = _MARKER.match(text, start, end)
    start = marker.end() if marker else start
    own = text[start:end]
    in_code = any(start < last and first < end for first, last in code)
    return Sentence(start, end, frozenset(stems(own)), not in_code and _is_quotable(own))


def _is_quotable(text: str) -> bool:
    """Headings, table rows, code, short introductions and very long passages answer nothing by themselves."""
    if len(text) > MAX_QUOTABLE_CHARS or text.startswith(("#", "|", "    ")) or "|--" in text or "```" in text:
        return False
    if len(_SYMBOL.findall(text)) > MAX_SYMBOLS * len(text):
        return False
    least = MIN_INTRODUCTION_WORDS if text[-1] == ":" else MIN_QUOTABLE_WORDS
    return sum(1 for _ in words(text)) >= least


@lru_cache(maxsize=4096)
def stems_of(text: str) -> frozenset[str]:
    """The distinct stems of the content words of `text`."""
    return frozenset(stems(text))


@lru_cache(maxsize=4096)
def _sentence_frequencies(text: str) -> Counter[str]:
    return Counter(stem for sentence in sentences_of(text) for stem in sentence.stems)


def question_weights(question: str, texts: Iterable[str]) -> Weights:
    """The question's stems, each with its idf among the sentences of `texts`; one that none holds counts as rare."""
    return _question_weights(question, tuple(sorted(texts, key=hash)))


# A turn asks for the same weights for its quotes, its snippets and its citations, each with the texts in an order of
# its own, which makes no difference; a text knows its hash.
@lru_cache(maxsize=64)
def _question_weights(question: str, texts: tuple[str, ...]) -> Weights:
    weight = sentence_weights(texts)
    return tuple((stem, weight(stem)) for stem in query_stems(question))


def sentence_weights(texts: Iterable[str]) -> Callable[[str], float]:
    """The idf of a stem among the sentences of `texts`; one that none holds counts as rare."""
    listed = list(texts)
    total = sum(len(sentences_of(text)) for text in listed)
    frequencies = [_sentence_frequencies(text) for text in listed]
    known: dict[str, float] = {}

    def weight(stem: str) -> float:
        if stem not in known:
            known[stem] = idf(total, max(1, sum(one.get(stem, 0) for one in frequencies)))
        return known[stem]

    return weight


@lru_cache(maxsize=4096)
def weights_held(text: str, weights: Weights) -> tuple[float, ...]:
    """For each sentence of `text`, the sum of the weights of the stems that it holds."""
    by_stem = dict(weights)
    return tuple(sum(by_stem[stem] for stem in sentence.stems & by_stem.keys()) for sentence in sentences_of(text))


@lru_cache(maxsize=4096)
def best_sentence(text: str, weights: Weights) -> Sentence | None:
    """The sentence of `text` that covers most of `weights`, one that can be quoted before one that cannot.

    The first one of equals; None when there is none.
    """
    found = list(zip(sentences_of(text), weights_held(text, weights), strict=True))
    candidates = [pair for pair in found if pair[0].quotable and pair[1]] or found
    return max(candidates, key=lambda pair: pair[1])[0] if candidates else None


@lru_cache(maxsize=4096)
def snippet(text: str, weights: Weights, limit: int = 300) -> str:
    """At most `limit` characters of `text` on one line around its best sentence, cut between words."""
    if len(text) <= limit:
        return " ".join(text.split())
    best = best_sentence(text, weights)
    start = best.start if best else 0
    end = min(len(text), start + limit * 2)
    return _clipped(" ".join(text[start:end].split()), limit, before=start > 0, after=end < len(text))


def _clipped(line: str, limit: int, *, before: bool, after: bool) -> str:
    room = limit - before
    if len(line) > room or after:
        cut = line[: room - 1]
        line = (cut.rsplit(" ", 1)[0] if " " in cut and len(line) > room - 1 else cut) + "…"
    return "…" + line if before else line


def joined_stems(texts: Sequence[str]) -> frozenset[str]:
    """The distinct stems of several texts together."""
    return frozenset[str]().union(*map(stems_of, texts))

"""The sentences of evidence, each with its stems; analysed once per text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from groundgraph.core.lexical import coverage, idf
from groundgraph.core.text import query_stems, sentences, stems


@dataclass(frozen=True)
class Sentence:
    """One sentence of a text: its offsets and the distinct stems of its content words."""

    start: int
    end: int
    stems: frozenset[str]


@lru_cache(maxsize=4096)
def sentences_of(text: str) -> tuple[Sentence, ...]:
    """The sentences of `text` in order."""
    return tuple(Sentence(start, end, frozenset(stems(text[start:end]))) for start, end in sentences(text))


@lru_cache(maxsize=4096)
def stems_of(text: str) -> frozenset[str]:
    """The distinct stems of the content words of `text`."""
    return frozenset(stems(text))


def question_weights(question: str, texts: Iterable[str]) -> dict[str, float]:
    """The question's stems, each with its idf among the sentences of `texts`."""
    pool = [sentence.stems for text in texts for sentence in sentences_of(text)]
    return {stem: idf(len(pool), sum(stem in held for held in pool)) for stem in query_stems(question)}


def best_sentence(text: str, weights: Mapping[str, float]) -> Sentence | None:
    """The sentence of `text` that covers most of `weights`; the first one of equals, None when there is none."""
    found = sentences_of(text)
    return max(found, key=lambda sentence: coverage(weights, sentence.stems)) if found else None


def snippet(text: str, weights: Mapping[str, float], limit: int = 300) -> str:
    """At most `limit` characters of `text` on one line around its best sentence, cut between words."""
    best = best_sentence(text, weights)
    start = best.start if best and len(text) > limit else 0
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

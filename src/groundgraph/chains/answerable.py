"""Whether a question can be answered, from the evidence alone and without a model.

Per piece of evidence, words: the share of the question that it holds, each stem weighted by how rare it is and counted
the more the more often it occurs. That is BM25 with k1 = 1 and b = 1 (Robertson and Zaragoza 2009), divided by its
upper bound, so that it lies between 0 and 1 and means the same for short and long questions. The idf is taken among the
pieces of evidence and `BACKGROUND` more that hold none of the stems, or else a stem that all of a few pieces hold would
weigh nothing. Where the source gives the cosine of the question and the piece, that counts too: both in one piece.

A logistic curve turns the best piece into a probability: 0.5 is even odds on the public half of clapnq (150 questions
with an answer, 150 without, one text each). `python -m groundgraph.evals.calibrate` fits the constants again. The words
know nothing of meaning, and cosines of other models than the one below may run in another range, so look at the figures
of your own data before you raise the threshold.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from groundgraph.core.evidence import SourceResult
from groundgraph.core.lexical import bm25, idf
from groundgraph.core.text import query_stems, stems

# Pieces that stand for everything that was not found.
BACKGROUND = 20
# Fitted with the 50 best pieces by words. The score alone orders with an AUC of .828.
WORDS_SLOPE, WORDS_START = 8.0, -3.9
# Fitted with the 50 best pieces by words and by the cosines of all-MiniLM-L6-v2, the question vectors made by
# `tests/support/minilm.py`: AUC .882, .878 cross-validated.
# A cosine counts twice as much as a share of words.
COSINE_WEIGHT = 2.0
BOTH_SLOPE, BOTH_START = 4.5, -7.3


@dataclass(frozen=True)
class Agreement:
    """How well one piece of evidence fits a question: the share of its words, 0 to 1, and the cosine where known."""

    words: float
    cosine: float | None = None

    @property
    def probability(self) -> float:
        """The calibrated chance that the piece answers the question."""
        if self.cosine is None:
            return _logistic(WORDS_SLOPE * self.words + WORDS_START)
        return _logistic(BOTH_SLOPE * (self.words + COSINE_WEIGHT * self.cosine) + BOTH_START)


def answerable(question: str, evidence: Sequence[SourceResult]) -> float:
    """The chance that `evidence` answers `question`, 0 to 1, 0.5 at even odds.

    0 without evidence, and when it shares no word with the question and no cosine is known.

    Args:
        question: in words.
        evidence: its titles and sections count as text; the cosine is its `scores["vector"]`.
    """
    agreements = [one for one in agreement(question, evidence) if one.words or one.cosine is not None]
    return max((one.probability for one in agreements), default=0.0)


def agreement(question: str, evidence: Sequence[SourceResult]) -> list[Agreement]:
    """How well each piece of `evidence` fits `question`."""
    counts = [_counts(result.content, *_names(result)) for result in evidence]
    lengths = [count.total() for count in counts]
    average = sum(lengths) / len(lengths) if lengths else 0.0
    weights = _weights(query_stems(question), counts)
    return [
        Agreement(_share(weights, count, length, average), result.scores.get("vector"))
        for result, count, length in zip(evidence, counts, lengths, strict=True)
    ]


def _weights(asked: Sequence[str], counts: Sequence[Counter[str]]) -> dict[str, float]:
    pieces = len(counts) + BACKGROUND
    return {stem: idf(pieces, max(1, sum(stem in count for count in counts))) for stem in asked}


def _share(weights: Mapping[str, float], count: Counter[str], length: int, average: float) -> float:
    """BM25 as a share of what it is when every stem of the question occurs without end."""
    bound = sum(2 * weight for weight in weights.values())
    held = sum(
        weight * bm25(count[stem], length, average, k1=1, b=1) for stem, weight in weights.items() if count[stem]
    )
    return held / bound if bound else 0.0


def _names(result: SourceResult) -> tuple[str, str]:
    return str(result.metadata.get("title") or ""), str(result.metadata.get("section") or "")


@lru_cache(maxsize=4096)
def _counts(content: str, title: str, section: str) -> Counter[str]:
    named = (name for name in (title, section) if name not in content)
    return Counter(stems("\n".join([*named, content])))


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))

"""The order of what was found, the same for every store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from groundgraph.core.evidence import SourceResult

# One ranking out of words and vectors (decision 3: by relative score).
#
# Both scores are known for every candidate, whichever list it came from, so none is punished for standing outside the
# other list's beginning. Each score is measured from what a chunk gets that has nothing to do with the question, which
# is no common word for BM25 and the average cosine of the base, to what the best candidate gets; the two shares are
# added by weight. So the order of the best does not depend on how many candidates there are, as it would with the
# usual min-max, and models whose cosines all lie close together fuse as well as others. Bruch, Gai and Ingber, "An
# Analysis of Fusion Functions for Hybrid Retrieval" (2023), find such sums of scores better than reciprocal ranks.


def fused_scores(
    lexical: Sequence[float], cosines: Sequence[float | None], *, average_cosine: float, vector_weight: float
) -> list[float]:
    """The fused score of each candidate, at most 1.

    Args:
        lexical: BM25 scores, 0 or more, on any scale.
        cosines: None for a candidate that has no vectors; it then counts as an average one.
        average_cosine: of all chunks that could have been found.
        vector_weight: share of the cosines, 0 to 1.
    """
    words = _shares(lexical, 0.0)
    near = _shares([average_cosine if cosine is None else cosine for cosine in cosines], average_cosine)
    return [(1 - vector_weight) * word + vector_weight * cosine for word, cosine in zip(words, near, strict=True)]


def _shares(scores: Sequence[float], zero: float) -> list[float]:
    """Each score as its share of the way from `zero` to the best; all 0 when none is better than `zero`."""
    span = max(scores, default=zero) - zero
    return [(score - zero) / span if span > 0 else 0.0 for score in scores]


# What may be found: a chunk, a row, an object, with what its words and its vector say of it.


class Passage(NamedTuple):
    """A candidate.

    Attributes:
        key: what identifies it in its store, and can be ordered: what scores the same stands in the order of these.
        lexical: how well its words fit, on any scale, 0 or more.
        share: how much of the question its words hold, 0 to 1.
        cosine: of its best text with the question; None without vectors.
        payload: what the store needs to show it.
    """

    key: Any
    lexical: float
    share: float
    cosine: float | None = None
    payload: Any = None

    @property
    def nearness(self) -> float | None:
        """The cosine, 0 to 1."""
        return None if self.cosine is None else min(1.0, max(0.0, self.cosine))

    @property
    def relevance(self) -> float:
        """The better of the share of words and the cosine: either is a reason to show a passage."""
        return self.share if self.cosine is None else max(self.share, self.nearness or 0.0)


@dataclass(frozen=True)
class Pool:
    """Candidates whose scores are on one scale.

    Attributes:
        passages: in any order, each key once.
        average_cosine: of all passages that could have been found; None when words alone were asked.
        vector_weight: the share of the cosines in the order, 0 to 1.
    """

    passages: Sequence[Passage]
    average_cosine: float | None = None
    vector_weight: float = 0.0


# Several ranked lists of one source as one.


def take_turns(lists: Sequence[Sequence[SourceResult]]) -> list[SourceResult]:
    """The results of several queries, all first ones first; what two of them found keeps its best relevance."""
    best: dict[tuple[str, str], SourceResult] = {}
    for rank in range(max(map(len, lists), default=0)):
        for found in lists:
            if rank < len(found):
                result = found[rank]
                known = best.setdefault(result.passage, result)
                if known.relevance < result.relevance:
                    best[result.passage] = result
    return list(best.values())


class RankedPassage(NamedTuple):
    """A passage that was found.

    Attributes:
        key: as for `Passage`.
        score: by which the results are ordered: that of its words, or the fused score.
        relevance: 0 to 1.
        match_score: the cosine, 0 to 1, where there are vectors, else the relevance by words.
        scores: `lexical`, and with vectors `vector` and `fused`.
        payload: as for `Passage`.
    """

    key: Any
    score: float = 0.0
    relevance: float = 0.0
    match_score: float = 0.0
    scores: Mapping[str, float] = MappingProxyType({})
    payload: Any = None


def rank(pools: Iterable[Pool], *, threshold: float = 0.0, top_k: int | None = None) -> Iterator[RankedPassage]:
    """The passages of all `pools` with relevance `threshold` or more, the best first, made as they are taken.

    The order is that of the score; what scores the same is ordered by the share of words, then by key. The cosines are
    in the score, and some engines give them with a noise that should decide nothing.

    Args:
        pools: each with scores of its own.
        threshold: the least relevance.
        top_k: the most passages; None for all.
    """
    scored = [
        (-score, -passage.share, passage.key, passage, pool.average_cosine is not None)
        for pool in pools
        for passage, score in zip(pool.passages, _scores(pool), strict=True)
        # No relevance is below 0, and a store in memory has thousands of candidates.
        if threshold <= 0 or passage.relevance >= threshold
    ]
    scored.sort(key=itemgetter(0, 1, 2))
    for score, _, _, passage, fused in islice(scored, None if top_k is None else max(0, top_k)):
        yield _ranked(passage, -score, fused)


def _scores(pool: Pool) -> Sequence[float]:
    lexical = [passage.lexical for passage in pool.passages]
    if pool.average_cosine is None:
        return lexical
    return fused_scores(
        lexical,
        [passage.cosine for passage in pool.passages],
        average_cosine=pool.average_cosine,
        vector_weight=pool.vector_weight,
    )


def _ranked(passage: Passage, score: float, fused: bool) -> RankedPassage:
    near = passage.nearness
    scores = {"lexical": passage.lexical}
    if passage.cosine is not None:
        scores["vector"] = passage.cosine
    if fused:
        scores["fused"] = score
    match_score = passage.share if near is None else near
    return RankedPassage(passage.key, score, passage.relevance, match_score, scores, passage.payload)

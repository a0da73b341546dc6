"""The order of what was found, the same for every store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Any

from groundgraph.search.fuse import fused_scores
from groundgraph.search.passage import Passage, Pool


@dataclass(frozen=True)
class RankedPassage:
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
    scores: Mapping[str, float] = field(default_factory=dict)
    payload: Any = field(default=None, repr=False)


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

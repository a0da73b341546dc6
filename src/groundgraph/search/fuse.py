"""One ranking out of words and vectors (decision 3: by relative score).

Both scores are known for every candidate, whichever list it came from, so none is punished for standing outside the
other list's beginning. Each score is measured from what a chunk gets that has nothing to do with the question, which is
no common word for BM25 and the average cosine of the base, to what the best candidate gets; the two shares are added by
weight. So the order of the best does not depend on how many candidates there are, as it would with the usual min-max,
and models whose cosines all lie close together fuse as well as others. Bruch, Gai and Ingber, "An Analysis of Fusion
Functions for Hybrid Retrieval" (2023), find such sums of scores better than reciprocal ranks.
"""

from __future__ import annotations

from collections.abc import Sequence


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

"""Words and vectors together: the candidates of both, with both scores, in one order."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from groundgraph.sources.knowledge_base.allowed import AllowedChunks
from groundgraph.sources.knowledge_base.found import Found, by_both, by_words
from groundgraph.sources.knowledge_base.search import MIN_CANDIDATES, candidates, question_of, scores_of, search
from groundgraph.sources.knowledge_base.vectors import Vectors

# The nearest chunks by vector that are candidates, when fewer are asked for. Those beyond them that have words in
# common with the question are candidates by their words.
NEAREST = 64


@dataclass(frozen=True)
class VectorQuery:
    """The vector of a query, the vectors of the base, and the share that nearness has in the order."""

    vector: Any
    base: Vectors
    weight: float


def find(
    connection: sqlite3.Connection,
    text: str,
    vector: VectorQuery | None,
    *,
    top_k: int,
    score_threshold: float,
    allowed: AllowedChunks | None,
) -> list[Found]:
    """The best chunks with relevance `score_threshold` or more, at most `top_k`, the best first.

    With vectors, relevance is the better of the share of words and the cosine: either is a reason to show a chunk.
    """
    if vector is None:
        hits = search(connection, text, top_k=top_k, score_threshold=score_threshold, allowed=allowed)
        return by_words(hits)
    found = _fused(connection, text, vector, top_k, allowed)
    return [one for one in found if one.relevance >= score_threshold][:top_k]


def _fused(
    connection: sqlite3.Connection, text: str, vector: VectorQuery, top_k: int, allowed: AllowedChunks | None
) -> list[Found]:
    question = question_of(connection, text)
    # Words that have no weight in the order need not be searched for.
    hits = candidates(connection, question, top_k, allowed=allowed) if vector.weight < 1 else []
    lexical = {hit.chunk_id: hit for hit in hits[: max(MIN_CANDIDATES, top_k)]}
    nearness = vector.base.nearness(vector.vector, allowed)
    cosines = nearness.nearest(max(NEAREST, top_k))
    lexical |= scores_of(connection, question, cosines.keys() - lexical.keys())
    cosines |= nearness.of([chunk for chunk in lexical if chunk not in cosines])
    return by_both(lexical, cosines, average_cosine=nearness.average, vector_weight=vector.weight)

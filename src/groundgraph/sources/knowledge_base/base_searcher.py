"""What searches the chunks of a knowledge base, whatever they are stored in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from groundgraph.core.chain import Match
from groundgraph.core.knowledge_store import BaseIdentity


@dataclass(frozen=True)
class Search:
    """One text to search for.

    Attributes:
        text: its words.
        vector: its unit vector, None to search by words alone.
        model: the embedding model that the vector is from.
        vector_weight: the share of the vectors in the order.
        filters: checked conditions.
        top_k: most results.
        score_threshold: least relevance.
    """

    text: str
    vector: Any
    model: str
    vector_weight: float
    filters: Mapping[str, Any]
    top_k: int
    score_threshold: float


class BaseSearcher(Protocol):
    """All methods are coroutines, and none blocks the event loop.

    Each raises `SourceError` when the base is not there or cannot answer.
    """

    @property
    def place(self) -> str:
        """Where the base is, for messages."""

    async def vector_identity(self) -> BaseIdentity | None:
        """The embedding model and dimension of the base's vectors; None when it has none."""

    async def run(self, searches: Sequence[Search]) -> list[list[Match]]:
        """What each of `searches` finds, all in one state of the base, the best first.

        Raises:
            EmbeddingModelChanged: a vector is not of the base's model or dimension.
        """

    async def metadata_fields(self) -> set[str]:
        """The names that results carry (R12)."""

    async def counts(self) -> dict[str, int]:
        """How many `documents` and `chunks` there are."""

    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        """See `GroundedSource.texts_between`."""

    async def close(self) -> None:
        """Release what is held; the next search opens it again."""

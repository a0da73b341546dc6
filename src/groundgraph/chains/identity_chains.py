"""The chains that do nothing (K4). Other parts rely on that, so their name cannot be registered again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundgraph.core.chain import Match
from groundgraph.core.document import Chunk, Document
from groundgraph.core.evidence import SourceResult


@dataclass(frozen=True)
class ContentAsMatchingText:
    """The content alone as the only matching text."""

    signature: str = "identity 1"
    generated: bool = False

    async def __call__(self, chunk: Chunk, qualifying_text: str) -> list[str]:  # noqa: ARG002 - the protocol's
        """The text of `chunk`."""
        return [chunk.text]


@dataclass(frozen=True)
class ContentAsQualifyingText:
    """The content of each chunk as its qualifying text."""

    signature: str = "identity 1"

    async def __call__(self, document: Document, chunks: Sequence[Chunk]) -> list[str]:  # noqa: ARG002
        """The text of each of `chunks`."""
        return [chunk.text for chunk in chunks]


class VerbatimQuery:
    """The query as it was typed."""

    async def __call__(self, query: str) -> str:
        """`query`."""
        return query


class IdentityReranker:
    """The score 1.0 for everything."""

    async def __call__(self, query: str, candidates: Sequence[SourceResult]) -> list[float]:  # noqa: ARG002
        """1.0 for each of `candidates`."""
        return [1.0] * len(candidates)


class KeepEverything:
    """Filters nothing."""

    async def __call__(self, query: str, matches: Sequence[Match]) -> list[bool]:  # noqa: ARG002
        """True for each of `matches`."""
        return [True] * len(matches)

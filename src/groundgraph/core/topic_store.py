"""What a store offers to a topic index: its headings, its passages in the order of their documents, its vectors."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from groundgraph.core.evidence import SourceResult


class Place(NamedTuple):
    """Where a passage stands.

    Attributes:
        id: its `source_id`.
        document: which document it is from; headings of two documents are never taken for one.
        headings: the titles above it, the outermost first; empty when there is none.
    """

    id: str
    document: str
    headings: tuple[str, ...]


@dataclass(frozen=True)
class Outline:
    """All passages of a store.

    Attributes:
        revision: which state of the store it is.
        places: those of one document together and in its order.
    """

    revision: Hashable
    places: Sequence[Place] = field(repr=False)


@dataclass(frozen=True)
class PassageVectors:
    """The vectors that an ingest wrote.

    Attributes:
        revision: which state of the store it is.
        ids: the `source_id` of each passage.
        rows: float32 array of shape (passages, dimension), one unit vector each.
    """

    revision: Hashable
    ids: Sequence[str] = field(repr=False)
    rows: Any = field(repr=False)


class TopicStore(Protocol):
    """The reading side of a source, for a topic index. No method blocks the event loop.

    Filters are checked conditions on declared fields; whatever takes them gives nothing that they exclude. All methods
    raise `SourceError` when the store cannot answer.
    """

    @property
    def embeds(self) -> bool:
        """Whether questions can be turned into vectors."""

    async def revision(self) -> Hashable:
        """Which state the store is in; it changes with whatever `outline` and `vectors` depend on."""

    async def outline(self) -> Outline:
        """All passages with their headings."""

    async def kept(self, filters: Mapping[str, Any]) -> frozenset[str]:
        """The ids of the passages that satisfy `filters`."""

    async def seeds(
        self, question: str, *, limit: int, filters: Mapping[str, Any], by_vector: bool
    ) -> Sequence[SourceResult]:
        """The best `limit` passages for `question`, the best first; by vectors alone with `by_vector`, else as the
        source itself searches."""

    async def question_vector(self, question: str) -> Any:
        """The unit vector of `question`, a float32 array of shape (dimension,); None when there is none."""

    async def vectors(self) -> PassageVectors | None:
        """The vectors of all passages; None when the store holds none."""

    async def passages(self, ids: Sequence[str], filters: Mapping[str, Any]) -> Mapping[str, SourceResult]:
        """Those of `ids` that are there and satisfy `filters`."""


@runtime_checkable
class PartedTopicStore(Protocol):
    """What a `TopicStore` is besides when it keeps tenants apart: only a part of it is ever read."""

    def part(self, filters: Mapping[str, Any]) -> TopicStore:
        """The store of the tenant that `filters` name, the same object while it is in use.

        Raises:
            ScopeMissing: they name none.
        """

"""What a topic index is asked, and what it answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from groundgraph.core.latest import Latest
from groundgraph.settings.topics import TopicIndexOptions

# Keeping what was worked out of a store until the store changes.

T = TypeVar("T")

_KEPT = 4


class OncePerRevision(Generic[T]):
    """Makes a value once for each key, also when several threads ask for it at the same time; keeps the last few."""

    def __init__(self) -> None:
        self._kept: Latest[Hashable, T] = Latest(_KEPT)
        self._making = threading.Lock()

    def known(self, key: Hashable) -> T | None:
        """The value that was made for `key`, if it is still kept."""
        return self._kept.get(key)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value for `key`, made by `make` when there is none. Blocks; raises whatever `make` raises."""
        with self._making:
            return self._kept.get_or_make(key, make)


@dataclass(frozen=True)
class Asked:
    """One question.

    Attributes:
        question: in words.
        options: in force for this turn.
        score_threshold: the least score of what an index begins with.
        filters: checked conditions; nothing that they exclude may be found.
    """

    question: str
    options: TopicIndexOptions
    score_threshold: float
    filters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """One passage of a topic.

    Attributes:
        id: of the passage.
        relevance: 0 to 1.
        scores: the numbers that a search gave it, if one found it.
    """

    id: str
    relevance: float
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Topic:
    """Passages that belong together, in the order in which they are to be read.

    Attributes:
        title: what they are about, in words; empty for a passage that stands alone.
        score: by which topics are ordered, any scale.
        passages: at least one.
    """

    title: str
    score: float
    passages: Sequence[Found]


class TopicIndex(Protocol):
    """Finds topics in a store."""

    async def resolve(self, asked: Asked) -> list[Topic]:
        """The topics that the question is about, the best first; no passage is in two of them.

        Raises:
            SourceError: the store cannot answer, or lacks what the index works with.
        """

    def titles(self, topics: Sequence[Topic], texts: Sequence[Sequence[str]], options: TopicIndexOptions) -> list[str]:
        """What each of `topics` is about, given the texts of its passages."""

"""What a topic index is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from groundgraph.core.topic_settings import TopicIndexOptions


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

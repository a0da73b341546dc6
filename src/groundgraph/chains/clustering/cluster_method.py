"""A way of clustering."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from groundgraph.chains.clustering.similarity import Similarities


@dataclass(frozen=True)
class ClusterMethod:
    """One way of clustering: from a question and texts to their similarities, and its bounds; `pays` when it asks a
    model."""

    name: str
    compare: Callable[[str, Sequence[str]], Awaitable[Similarities]]
    threshold: float
    min_size: int
    pays: bool = False

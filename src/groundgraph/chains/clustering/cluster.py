"""From results to labelled clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundgraph.chains.clustering.group import group
from groundgraph.chains.clustering.label import labels
from groundgraph.chains.clustering.similarity import Similarities


@dataclass(frozen=True)
class Cluster:
    """Results that belong together.

    Attributes:
        label: its most telling words.
        score: how well it fits the question, 0 to 1.
        members: the places of its results in the ranking, in their order.
    """

    label: str
    score: float
    members: tuple[int, ...]


def clusters(texts: Sequence[str], near: Similarities, *, threshold: float, min_size: int) -> list[Cluster]:
    """The clusters of `texts` with at least `min_size` members, the best score first, then the best member.

    A text that is in none stays by itself: nothing is dropped.

    Args:
        texts: in the order of their ranking.
        near: how similar the texts are to each other, and groups of them to the question.
        threshold: the least mean similarity to the others of a cluster.
        min_size: of a cluster.
    """
    groups = [members for members in group(near.between, len(texts), threshold) if len(members) >= min_size]
    named = labels([[texts[place] for place in members] for members in groups], texts)
    found = [
        Cluster(label, round(min(1.0, max(0.0, near.to_question(members))), 4), tuple(members))
        for label, members in zip(named, groups, strict=True)
    ]
    return sorted(found, key=lambda cluster: (-cluster.score, cluster.members[0]))

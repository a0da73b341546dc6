"""Clusters of vectors, the same ones whatever order the vectors come in (X4).

Leaders as in Hartigan, "Clustering Algorithms" (1975), chapter 3: in the order of their ids, each vector that is not
near enough to a leader becomes one; then every vector goes to the leader that it is nearest to. Two passes, and no
random start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

# More vectors, or more clusters, would keep a processor busy for minutes.
MAX_VECTORS = 50_000
MAX_CLUSTERS = 15_000
# Vectors that are compared with all leaders at once.
_BLOCK = 512


class TooMuchToCluster(Exception):
    """There are more vectors than `MAX_VECTORS`, or more clusters than `MAX_CLUSTERS`; the message tells which."""


@dataclass(frozen=True)
class Clusters:
    """Groups of vectors. Every vector is in exactly one.

    Attributes:
        members: for each cluster the rows of its vectors, ascending, the leader among them; clusters by their leaders.
        leaders: for each cluster the row of its leader. Every member has the threshold's cosine to it, or more.
        centroids: array of shape (clusters, dimension): the mean of the members, of unit length.
    """

    members: Sequence[Any] = field(repr=False)
    leaders: Sequence[int] = field(repr=False)
    centroids: Any = field(repr=False)


def leader_clusters(ids: Sequence[str], rows: Any, threshold: float) -> Clusters:
    """The clusters of `rows`.

    The time grows with the number of vectors times that of clusters.

    Args:
        ids: the name of each vector, no two the same.
        rows: float32 array of shape (vectors, dimension), unit vectors.
        threshold: the least cosine of a member to its leader.

    Raises:
        TooMuchToCluster: it would take minutes.
    """
    import numpy as np

    if len(ids) > MAX_VECTORS:
        raise TooMuchToCluster(f"it has {len(ids)} passages, and at most {MAX_VECTORS} can be clustered")

    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    leaders = _leaders(rows, order, threshold)
    nearest = _nearest_leader(rows, order, leaders)
    by_cluster = np.argsort(nearest, kind="stable")
    ends = np.searchsorted(nearest[by_cluster], np.arange(1, len(leaders)))
    members = np.split(by_cluster, ends) if leaders else []
    return Clusters(members, leaders, _centroids(rows, members))


def _leaders(rows: Any, order: Any, threshold: float) -> list[int]:
    import numpy as np

    found = np.empty((len(order), rows.shape[1] if len(order) else 0), dtype=np.float32)
    leaders: list[int] = []
    for start in range(0, len(order), _BLOCK):
        block = order[start : start + _BLOCK]
        near = rows[block] @ found[: len(leaders)].T if leaders else np.empty((len(block), 0), dtype=np.float32)
        far = block[near.max(axis=1) < threshold] if leaders else block
        before = len(leaders)
        for row in far.tolist():
            # Those of the same block became leaders after the comparison above.
            fresh = found[before : len(leaders)]
            if not len(fresh) or float((fresh @ rows[row]).max()) < threshold:
                found[len(leaders)] = rows[row]
                leaders.append(row)
        if len(leaders) > MAX_CLUSTERS:
            raise TooMuchToCluster(
                f"its passages make more than {MAX_CLUSTERS} clusters at cluster_threshold {threshold:g}"
            )
    return leaders


def _nearest_leader(rows: Any, order: Any, leaders: Sequence[int]) -> Any:
    """For each of `rows` the number of the leader that it is nearest to."""
    import numpy as np

    nearest, towards = np.empty(len(rows), dtype=np.int64), rows[leaders].T
    # In the order of the ids too: the last digit of a product may depend on what it is computed together with.
    for start in range(0, len(order), _BLOCK):
        block = order[start : start + _BLOCK]
        # Of equally near ones the first.
        nearest[block] = (rows[block] @ towards).argmax(axis=1)
    return nearest


def _centroids(rows: Any, members: Sequence[Any]) -> Any:
    import numpy as np

    means = np.array([rows[own].mean(axis=0) for own in members], dtype=np.float32).reshape(len(members), rows.shape[1])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return means / np.where(lengths > 0, lengths, 1)

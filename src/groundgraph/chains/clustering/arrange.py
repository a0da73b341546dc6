"""The order in which clusters and single results are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from groundgraph.chains.clustering.cluster import Cluster
from groundgraph.chains.zigzag import zigzag


def arrange(count: int, clusters: Sequence[Cluster], *, both_ends: bool = False) -> tuple[list[int], list[Cluster]]:
    """The places below `count` in the order of showing, and the clusters with their members' places in that order.

    Members of a cluster stand together, a cluster where its best member stood. With `both_ends` the best two stand at
    the two ends: the best two results, or with clusters the best two of clusters and single results; inside the last
    cluster the best member stands last.
    """
    of = {member: cluster for cluster in clusters for member in cluster.members}
    units: list[list[int]] = []
    for place in range(count):
        cluster = of.get(place)
        if cluster is None:
            units.append([place])
        elif place == min(cluster.members):
            units.append(sorted(cluster.members))
    if both_ends:
        units = _ends(units)
    order = [place for unit in units for place in unit]
    new = {place: number for number, place in enumerate(order)}
    moved = [replace(one, members=tuple(sorted(new[member] for member in one.members))) for one in clusters]
    return order, moved


def _ends(units: list[list[int]]) -> list[list[int]]:
    if len(units) == 1:
        return [zigzag(units[0])]
    turned = zigzag(units)
    return [*turned[:-1], turned[-1][::-1]] if turned else []

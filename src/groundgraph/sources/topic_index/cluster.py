"""The index over clusters of similar passages (X4)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundgraph.core.blocking import run_blocking
from groundgraph.core.degraded import degraded
from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.topic_settings import TopicIndexOptions
from groundgraph.core.topic_store import PassageVectors, TopicStore
from groundgraph.sources.topic_index.asked import Asked, Found, Topic
from groundgraph.sources.topic_index.labels import labels
from groundgraph.sources.topic_index.leader_clusters import Clusters, TooMuchToCluster, leader_clusters
from groundgraph.sources.topic_index.once_per_revision import OncePerRevision


@dataclass(frozen=True)
class _Clustered:
    """The passages of one revision in clusters."""

    vectors: PassageVectors = field(repr=False)
    clusters: Clusters = field(repr=False)


_EXCLUDED = -2.0


class ClusterIndex:
    """Finds the clusters that are near to a question. It works with the vectors of an ingest and embeds nothing but the
    question; clusters are made once for each state of the store, by the first question after it.

    Args:
        store: whose passages have vectors.
        name: of the source, for messages.
    """

    def __init__(self, store: TopicStore, name: str) -> None:
        self._store = store
        self._name = name
        self._clusters: OncePerRevision[_Clustered] = OncePerRevision()

    async def resolve(self, asked: Asked) -> list[Topic]:
        """The clusters that `asked` is about, and in each the passages, the nearest first.

        The best passage of all is among them, whether it is in a cluster or not.

        Raises:
            SourceUnavailable: the store or the question has no vectors, or there are too many to cluster.
            SourceError: the store cannot answer.
        """
        clustered = await self._clustered(asked.options.cluster_threshold)
        if not len(clustered.vectors.ids):
            return []
        query = await self._store.question_vector(asked.question)
        if query is None:
            return await self._by_words(asked)
        kept = await self._store.kept(asked.filters) if asked.filters else None
        return await run_blocking(_topics, clustered, query, kept, asked)

    def titles(self, topics: Sequence[Topic], texts: Sequence[Sequence[str]], options: TopicIndexOptions) -> list[str]:
        """See `TopicIndex.titles`; the words that tell one cluster from the others.

        They are taken from the passages that are shown, so a title never holds a word of a passage that a filter keeps
        from the user.
        """
        found = labels(
            texts,
            top_terms=options.label_top_terms,
            min_word_length=options.label_min_word_length,
            stopwords=options.label_stopwords,
        )
        return [label if len(topic.passages) > 1 else "" for topic, label in zip(topics, found, strict=True)]

    async def _by_words(self, asked: Asked) -> list[Topic]:
        """What a search finds for a question in a language that the embedding model does not know, for example."""
        degraded(self._name, "topic_index", "the question has no vector; its words were searched for")
        limit = min(asked.options.max_results_per_cluster, asked.options.max_total_results)
        seeds = await self._store.seeds(asked.question, limit=limit, filters=asked.filters, by_vector=False)
        return [
            Topic("", seed.relevance, [Found(seed.source_id, seed.relevance, seed.scores)])
            for seed in seeds
            if seed.relevance >= asked.score_threshold
        ]

    async def _clustered(self, threshold: float) -> _Clustered:
        revision = await self._store.revision()
        known = self._clusters.known((revision, threshold))
        if known is not None:
            return known
        vectors = await self._store.vectors()
        if vectors is None:
            raise self._unavailable("it holds no vectors. Configure `embeddings` and run `groundgraph ingest`")
        key: Hashable = (vectors.revision, threshold)

        def make() -> _Clustered:
            return _Clustered(vectors, leader_clusters(vectors.ids, vectors.rows, threshold))

        try:
            return await run_blocking(self._clusters.get, key, make)
        except TooMuchToCluster as error:
            raise self._unavailable(
                f"{error}. Use `type: heading_tree`, lower cluster_threshold, or leave `topic_index` out"
            ) from error

    def _unavailable(self, reason: str) -> SourceUnavailable:
        return SourceUnavailable(f"The topic index of '{self._name}' cannot be used: {reason}.")


def _topics(clustered: _Clustered, query: Any, kept: frozenset[str] | None, asked: Asked) -> list[Topic]:
    import numpy as np

    options, ids = asked.options, clustered.vectors.ids
    cosines = clustered.vectors.rows @ np.asarray(query, dtype=np.float32)
    if kept is not None:
        cosines[[number for number, one in enumerate(ids) if one not in kept]] = _EXCLUDED
    best = min(range(len(ids)), key=lambda row: (-cosines[row], ids[row]))
    if cosines[best] < asked.score_threshold:
        return []
    nearness = clustered.clusters.centroids @ np.asarray(query, dtype=np.float32)
    groups = _near_groups(clustered, nearness, cosines, asked)
    if not any(best in rows for rows in groups):
        groups.append([best])
    # By their nearest passages: the topic with the best one is the first, and no limit cuts it off.
    groups.sort(key=lambda rows: (-cosines[rows[0]], ids[rows[0]]))
    topics: list[Topic] = []
    room = options.max_total_results
    for rows in groups:
        shown = [Found(ids[row], _share(cosines[row]), {"vector": float(cosines[row])}) for row in rows[:room]]
        if shown:
            topics.append(Topic("", shown[0].relevance, shown))
        room -= len(shown)
    return topics


def _near_groups(clustered: _Clustered, nearness: Any, cosines: Any, asked: Asked) -> list[list[int]]:
    """The rows of the `top_clusters` nearest clusters, of each the nearest first."""
    options, clusters, ids = asked.options, clustered.clusters, clustered.vectors.ids
    groups: list[list[int]] = []
    for number in (-nearness).argsort(kind="stable").tolist():
        if len(groups) == options.top_clusters or nearness[number] < options.centroid_score_threshold:
            break
        members = clusters.members[number].tolist()
        if len(members) < options.min_cluster_size:
            continue
        allowed = [row for row in members if cosines[row] > _EXCLUDED]
        ranked = sorted(allowed, key=lambda row: (-cosines[row], ids[row]))
        if ranked and cosines[ranked[0]] >= asked.score_threshold:
            groups.append(ranked[: options.max_results_per_cluster])
    return groups


def _share(cosine: Any) -> float:
    return min(1.0, max(0.0, float(cosine)))

"""The index over clusters of similar passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from groundgraph.core.errors import SourceUnavailable
from groundgraph.core.failure import degraded
from groundgraph.resilience.blocking import run_blocking
from groundgraph.search.topics import PassageVectors, TopicStore
from groundgraph.settings.topics import TopicIndexOptions
from groundgraph.sources.topic_index.asked import Asked, Found, OncePerRevision, Topic
from groundgraph.text.words import fold, idf, stem, stop_words, words

# The words that tell a group of texts from others.


def labels(
    groups: Sequence[Sequence[str]], *, top_terms: int, min_word_length: int, stopwords: Sequence[str] | None = None
) -> list[str]:
    """A label for each of `groups`: its most telling words, joined by commas; empty when it has none.

    A word counts by the number of the group's texts that hold it, times how rare it is in those of the other groups.
    Forms of one word count together and are shown as the most frequent of them.

    Args:
        groups: the texts of each group.
        top_terms: words in a label, at most.
        min_word_length: shorter words, and numbers, are left out.
        stopwords: left out as well; those that groundgraph knows when None.
    """
    skip = stop_words() if stopwords is None else set(words(fold(" ".join(stopwords))))

    def forms(text: str) -> Counter[str]:
        return Counter(
            word for word in words(text) if len(word) >= min_word_length and word not in skip and not word.isdigit()
        )

    counted = [[forms(text) for text in texts] for texts in groups]
    everything = [{stem(word) for word in text} for texts in counted for text in texts]
    held = Counter(chain.from_iterable(everything))
    return [_label(texts, held, len(everything), top_terms) for texts in counted]


def _label(texts: Sequence[Counter[str]], held: Counter[str], total: int, top_terms: int) -> str:
    holding = Counter(one for text in texts for one in {stem(word) for word in text})
    others = total - len(texts)
    ranked = sorted(holding, key=lambda one: (-holding[one] * idf(others, held[one] - holding[one]), one))
    every_form: Counter[str] = sum(texts, Counter())
    shown: list[str] = []
    for one in ranked[:top_terms]:
        own = [word for word in every_form if stem(word) == one]
        shown.append(min(own, key=lambda word: (-every_form[word], word)))
    return ", ".join(shown)


# Clusters of vectors, the same ones whatever order the vectors come in.
#
# Leaders as in Hartigan, "Clustering Algorithms" (1975), chapter 3: in the order of their ids, each vector that is not
# near enough to a leader becomes one; then every vector goes to the leader that it is nearest to. Two passes, and no
# random start.

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

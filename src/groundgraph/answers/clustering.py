"""From results to labelled clusters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Protocol, TypeVar

from groundgraph.answers.sentence_index import joined_stems, stems_of
from groundgraph.core.embedder import Embedder
from groundgraph.text.words import coverage, query_stems, stem, stems, stop_words, words

# Texts are similar when an embedding model puts them close together.


class EmbeddingSimilarity:
    """The cosine of two texts' vectors, 0 for an obtuse angle.

    A group is as near to the question as the mean of its vectors is.
    """

    def __init__(self, question: Any, vectors: Any) -> None:
        self._question = question
        self._vectors = vectors
        self._cosines = (vectors @ vectors.T).tolist()

    @classmethod
    async def of(cls, embedder: Embedder, question: str, texts: Sequence[str]) -> EmbeddingSimilarity:
        """The similarities by `embedder`, which is asked for the question once and for the texts in batches.

        Raises:
            EmbeddingFailed: the model gave no usable vectors; its own exceptions are passed on.
        """
        asked = await embedder.embed_query(question)
        return cls(asked, await embedder.embed_batches(texts))

    def between(self, one: int, other: int) -> float:
        """See `Similarities.between`."""
        return max(0.0, float(self._cosines[one][other]))

    def to_question(self, members: Sequence[int]) -> float:
        """See `Similarities.to_question`."""
        import numpy as np

        middle = self._vectors[list(members)].mean(axis=0)
        length = float(np.linalg.norm(middle))
        return max(0.0, float(middle @ self._question) / length) if length else 0.0


# Grouping by mean similarity.


def group(similarity: Callable[[int, int], float], count: int, threshold: float) -> list[list[int]]:
    """The numbers below `count` in groups, each number in exactly one; sequential average-link clustering.

    In their order, each joins the group to whose members it is most similar on average, when that is at least
    `threshold` (of equals the earliest group), else it begins one. A similarity that is no number counts as 0. Takes
    each pair once, so n * n / 2 calls.
    """
    groups: list[list[int]] = []
    for number in range(count):
        means = [sum(_known(similarity(number, member)) for member in members) / len(members) for members in groups]
        best = max(range(len(groups)), key=means.__getitem__, default=None)
        if best is not None and means[best] >= threshold:
            groups[best].append(number)
        else:
            groups.append([number])
    return groups


def _known(value: float) -> float:
    return value if value == value else 0.0  # noqa: PLR0124 - NaN is the only number unlike itself


# What a cluster is about, in its own words.

TERMS = 3
MIN_LETTERS = 3


def labels(groups: Sequence[Sequence[str]], texts: Sequence[str]) -> list[str]:
    """For each group of texts its three most telling words, joined by ", "; an empty string for one without words.

    A stem counts by tf * idf: the share of the group's texts that hold it, times ln((1 + n) / (1 + df)) + 1 over all
    `texts`. It is shown in the form that is most frequent in the group. Deterministic: of equals the more frequent
    one, then the first in the alphabet.
    """
    held = Counter(one for text in texts for one in {stem(word) for word in _terms(text)})
    return [", ".join(_telling(group, held, len(texts))) for group in groups]


def _telling(group: Sequence[str], held: Counter[str], total: int) -> list[str]:
    forms: dict[str, Counter[str]] = {}
    in_texts: Counter[str] = Counter()
    for text in group:
        found = _terms(text)
        in_texts.update({stem(word) for word in found})
        for word in found:
            forms.setdefault(stem(word), Counter())[word] += 1

    def worth(one: str) -> tuple[float, int, str]:
        idf = math.log((1 + total) / (1 + held[one])) + 1
        return (-in_texts[one] / len(group) * idf, -forms[one].total(), one)

    return [min(forms[one], key=lambda word: (-forms[one][word], word)) for one in sorted(forms, key=worth)[:TERMS]]


def _terms(text: str) -> list[str]:
    """The words of `text` that can stand in a label: no stop words, no numbers, nothing very short."""
    skip = stop_words()
    return [word for word in words(text) if word not in skip and len(word) >= MIN_LETTERS and not word.isdigit()]


# What a way of clustering has to tell.


class Similarities(Protocol):
    """How similar texts are, by their places."""

    def between(self, one: int, other: int) -> float:
        """The similarity of two texts, 0 to 1, the same in both directions."""

    def to_question(self, members: Sequence[int]) -> float:
        """The similarity of a group of texts to the question, 0 to 1."""


# Texts are similar when they share many of their words.


class TermOverlap:
    """The Dice coefficient 2 |A and B| / (|A| + |B|) of two texts' stems (Dice 1945); 0 for texts without words.

    A group is as near to the question as the share of the question's stems that its texts hold together.
    """

    def __init__(self, question: str, texts: Sequence[str]) -> None:
        self._texts = texts
        self._stems = [stems_of(text) for text in texts]
        self._asked = dict.fromkeys(query_stems(question), 1.0)

    def between(self, one: int, other: int) -> float:
        """See `Similarities.between`."""
        a, b = self._stems[one], self._stems[other]
        return 2 * len(a & b) / (len(a) + len(b)) if a or b else 0.0

    def to_question(self, members: Sequence[int]) -> float:
        """See `Similarities.to_question`."""
        return coverage(self._asked, joined_stems([self._texts[member] for member in members]))


# Texts are similar when they share words that few other results have.

Vector = Mapping[str, float]


class TfIdf:
    """The cosine of two texts' vectors of tf * idf over stems; 0 for a text without words.

    tf is the count of a stem in the text; idf = ln((1 + n) / (1 + df)) + 1 over the n texts, smoothed as in
    scikit-learn, so that a stem that all texts hold still counts. A group is as near to the question as the sum of its
    unit vectors is.
    """

    def __init__(self, question: str, texts: Sequence[str]) -> None:
        counts = [Counter(stems(text)) for text in texts]
        held = Counter(stem for count in counts for stem in count)
        self._idf = {stem: math.log((1 + len(texts)) / (1 + number)) + 1 for stem, number in held.items()}
        self._vectors = [self._unit(count) for count in counts]
        # What no text holds cannot make one of them nearer than another.
        self._question = self._unit({stem: 1 for stem in query_stems(question) if stem in held})

    def between(self, one: int, other: int) -> float:
        """See `Similarities.between`."""
        return _dot(self._vectors[one], self._vectors[other])

    def to_question(self, members: Sequence[int]) -> float:
        """See `Similarities.to_question`."""
        total: Counter[str] = Counter()
        for member in members:
            total.update(self._vectors[member])
        return _dot(_scaled(total), self._question)

    def _unit(self, counts: Mapping[str, int]) -> Vector:
        return _scaled({stem: count * self._idf[stem] for stem, count in counts.items()})


def _scaled(vector: Vector) -> Vector:
    length = math.sqrt(math.fsum(value * value for value in vector.values()))
    return {stem: value / length for stem, value in vector.items()} if length else {}


def _dot(one: Vector, other: Vector) -> float:
    small, large = sorted((one, other), key=len)
    return min(1.0, math.fsum(value * large[stem] for stem, value in small.items() if stem in large))


# The best results at both ends, where a model reads most carefully.

T = TypeVar("T")


def zigzag(ranked: Sequence[T]) -> list[T]:
    """1, 3, 5 ... 6, 4, 2 for a ranking 1, 2, 3 ...: the first and the second stand at the two ends.

    The order of LongContextReorder in langchain-community, after "Lost in the Middle" (Liu et al. 2023).
    """
    return [*ranked[::2], *ranked[1::2][::-1]]


# A way of clustering.


@dataclass(frozen=True)
class ClusterMethod:
    """One way of clustering: from a question and texts to their similarities, and its bounds; `pays` when it asks a
    model."""

    name: str
    compare: Callable[[str, Sequence[str]], Awaitable[Similarities]]
    threshold: float
    min_size: int
    pays: bool = False


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


# The order in which clusters and single results are shown.


def arrange(count: int, clusters: Sequence[Cluster], *, both_ends: bool = False) -> tuple[list[int], list[Cluster]]:
    """The places below `count` in the order of showing, and the clusters with their members' places in that order.

    Members of a cluster stand together, a cluster where its best member stood. With `both_ends` the best two stand at
    the two ends: the best two results, or with clusters the best two of clusters and single results; inside the last
    cluster the best member stands last.
    """
    together = {member: cluster.members for cluster in clusters for member in cluster.members}
    # A dictionary keeps each where it was met first: a cluster by its best member.
    units = list(map(list, dict.fromkeys(together.get(place, (place,)) for place in range(count))))
    order = list(chain.from_iterable(_ends(units) if both_ends else units))
    new = {place: number for number, place in enumerate(order)}
    moved = [replace(one, members=tuple(sorted(new[member] for member in one.members))) for one in clusters]
    return order, moved


def _ends(units: list[list[int]]) -> list[list[int]]:
    if len(units) == 1:
        return [zigzag(units[0])]
    turned = zigzag(units)
    return [*turned[:-1], turned[-1][::-1]] if turned else []

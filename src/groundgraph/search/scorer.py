"""How well the words of a text fit a question, and how much of the question they hold.

The first number orders: BM25 with an idf that is never negative, plus a bonus for question words that stand together,
as in the sequential dependence model (Metzler and Croft 2005): for each pair of neighbours in the question,
`PROXIMITY_WEIGHT` times the smaller idf when the text has them side by side, and as much again when they lie within
`WINDOW` words. On five public sets the bonus was worth .003 to .006 of nDCG@10. The second is the relevance by words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from groundgraph.core.failure import degraded_by
from groundgraph.search.rank import Passage
from groundgraph.text.words import bm25, detect_language, idf, words

if TYPE_CHECKING:
    from groundgraph.core.embedder import Embedder


# The words of a question among the texts that are asked.

# A pasted page is no question: so many of its stems are searched for.
MAX_STEMS = 64
# Rarer than one text in twenty, a stem counts no more for relevance: how rare a stem is within rare ones is mostly
# accident, and one unusual word of a question would otherwise outweigh all the others together.
RARE_SHARE = 0.05


@dataclass(frozen=True)
class Question:
    """The stems of a question where it is asked.

    Attributes:
        stems: the distinct stems in order.
        df: for each stem that some text holds, how many do; the rarest first.
        texts: the number of texts: chunks, their matching texts, rows of a table.
        average_length: the mean number of stems of a text.
    """

    stems: Sequence[str]
    df: Mapping[str, int]
    texts: int
    average_length: float

    def ranking_weights(self) -> dict[str, float]:
        """The idf of each stem."""
        return {stem: idf(self.texts, self.df.get(stem, 0)) for stem in self.stems}

    def relevance_weights(self) -> dict[str, float]:
        """The idf of each stem, bounded as `RARE_SHARE` says; a stem that no text holds counts as rare."""
        rare = int(self.texts * RARE_SHARE)
        return {stem: idf(self.texts, max(rare, self.df.get(stem, 0))) for stem in self.stems}


# How many texts hold a word, out of what a server's BM25 scores the best of them for that word alone.
#
# A server that counts them reads all of them; its score tells the same in a millisecond.


def frequency_of(weight: float, texts: int) -> int:
    """The n of `texts` that hold a word whose idf is `weight`: ln(1 + (N - n + 0.5) / (n + 0.5)) solved for n."""
    return max(1, min(texts, round((texts + 1) / math.exp(weight) - 0.5)))


# The vector of a question, or the reason why it is searched by words alone.


def wants_vector(embedder: Embedder | None, text: str) -> bool:
    """Whether `text` has words, and the model knows their language."""
    return embedder is not None and any(words(text)) and embedder.speaks(detect_language(text))


async def query_vector(embedder: Embedder, text: str, source: str) -> Any:
    """The unit vector of `text`; None when the model fails, which is told as a degradation of `source`."""
    try:
        return await embedder.embed_query(text)
    except Exception as error:
        degraded_by(source, "vectors", error)
        return None


K1 = 0.9
PROXIMITY_WEIGHT = 0.25
WINDOW = 8


@dataclass(frozen=True)
class Rule:
    """How a kind of source judges words. A text has a body and what stands above it.

    Attributes:
        above_weight: how often a word above counts in the term frequency.
        by_rarity: a stem weighs by its idf in the relevance, else as much as any other.
        above_share: what a stem that stands only above counts in the relevance, 0 to 1.
        floor: the least relevance.
    """

    above_weight: int = 2
    by_rarity: bool = True
    above_share: float = 1.0
    floor: float = 0.0


# Chunks below their headings.
CHUNKS = Rule()


class Scorer:
    """Judges texts by one question.

    Args:
        question: the question.
        rule: that of the source.
    """

    def __init__(self, question: Question, rule: Rule = CHUNKS) -> None:
        self._rule = rule
        self._weights = question.ranking_weights()
        self._shares = question.relevance_weights() if rule.by_rarity else dict.fromkeys(question.stems, 1.0)
        self._total = sum(self._shares.values())
        self._stems = frozenset(self._weights)
        self._pairs = list(pairwise(question.stems))
        self._average_length = question.average_length

    def passage(
        self, key: Any, body: Sequence[str], above: Sequence[str], cosine: float | None = None, payload: Any = None
    ) -> Passage:
        """The passage `key` whose stems are these."""
        in_body, in_above = self._stems.intersection(body), self._stems.intersection(above)
        # What vectors alone found often holds none of the words, which is told sooner than a score of 0 is computed.
        lexical = self.score(body, above) if in_body or in_above else 0.0
        return Passage(key, lexical, self._share(in_body, in_above), cosine, payload)

    def best_texts(self, rows: Iterable[tuple[Any, str, str]]) -> dict[Any, Passage]:
        """By key the passages, each as good as the best of its texts.

        Args:
            rows: of each text the key of its passage, its stems and those of what stands above it.
        """
        best: dict[Any, Passage] = {}
        for key, body, above in rows:
            one = self.passage(key, body.split(), above.split())
            known = best.get(key)
            if known:
                one = Passage(key, max(one.lexical, known.lexical), max(one.share, known.share))
            best[key] = one
        return best

    def relevance(self, body: Iterable[str], above: Iterable[str] = ()) -> float:
        """The weighted share of the question's stems that the text holds, 0 to 1; at least the floor of the rule."""
        return self._share(self._stems.intersection(body), self._stems.intersection(above))

    def _share(self, body: frozenset[str], above: frozenset[str]) -> float:
        if not self._total:
            return self._rule.floor
        only_above = self._rule.above_share
        held = sum(
            weight if stem in body else weight * only_above
            for stem, weight in self._shares.items()
            if stem in body or stem in above
        )
        return max(self._rule.floor, held / self._total)

    def score(self, body: Sequence[str], above: Sequence[str]) -> float:
        """BM25 over body and what stands above it, plus the bonus for words that stand together; 0 or more."""
        positions = self._positions(body)
        in_above = Counter(stem for stem in above if stem in self._weights)
        length = len(body) + len(above)
        score = self._proximity(positions)
        for stem, weight in self._weights.items():
            frequency = len(positions.get(stem, ())) + self._rule.above_weight * in_above.get(stem, 0)
            if frequency:
                score += weight * bm25(frequency, length, self._average_length, k1=K1)
        return score

    def _positions(self, body: Sequence[str]) -> dict[str, list[int]]:
        positions: dict[str, list[int]] = {}
        for position, stem in enumerate(body):
            if stem in self._weights:
                positions.setdefault(stem, []).append(position)
        return positions

    def _proximity(self, positions: Mapping[str, list[int]]) -> float:
        bonus = 0.0
        for left, right in self._pairs:
            if left in positions and right in positions:
                ordered, near = _together(positions[left], positions[right])
                bonus += (ordered + near) * min(self._weights[left], self._weights[right])
        return PROXIMITY_WEIGHT * bonus


def _together(left: Sequence[int], right: Sequence[int]) -> tuple[bool, bool]:
    """Whether a `right` directly follows a `left`, and whether two of them are less than `WINDOW` apart."""
    following = set(right)
    if any(position + 1 in following for position in left):
        return True, True
    merged = sorted([*((position, 0) for position in left), *((position, 1) for position in right)])
    return False, any(a[1] != b[1] and b[0] - a[0] < WINDOW for a, b in pairwise(merged))


# Which stems a search begins with.
#
# A question goes to an index as OR over its stems, never as AND. What costs time is not finding texts but ranking each
# of them, so when the stems of a question are in very many texts, only texts are ranked that hold one of its rarer
# stems (the seeds); within those, all stems count.

# Texts that one search ranks, as far as the seeds let it choose.
RANKED_TEXTS = 8_000
MIN_SEEDS = 2


def seeds_of(question: Question, kept: int | None, most: int | None = None) -> list[str]:
    """The rarest stems that together are in at most `most` texts, but at least `MIN_SEEDS`.

    Args:
        question: as it is asked.
        kept: the number of texts that a filter keeps, None without a filter.
        most: `RANKED_TEXTS` when None.
    """
    most = RANKED_TEXTS if most is None else most
    share = kept / question.texts if kept and question.texts else 1.0
    seeds: list[str] = []
    ranked = 0.0
    for stem, df in question.df.items():
        ranked += df * share
        if ranked > most and len(seeds) >= MIN_SEEDS:
            break
        seeds.append(stem)
    return seeds


def by_seeds(
    scorer: Scorer,
    question: Question,
    seeds: Sequence[str],
    look: Callable[[Sequence[str]], Sequence[Passage]],
    *,
    top_k: int,
    threshold: float = 0.0,
) -> Sequence[Passage]:
    """What `look` finds for the seeds; for all stems of `question` when too few of that reach the threshold.

    Args:
        scorer: of the question.
        question: as it is asked.
        seeds: from `seeds_of`.
        look: gives the passages that hold one of some stems.
        top_k: how many are enough.
        threshold: the relevance that they need.
    """
    passages = look(seeds)
    if len(seeds) == len(question.df) or sum(one.share >= threshold for one in passages) >= top_k:
        return passages
    # What only the other stems find holds none of the seeds.
    others = question.df.keys() - set(seeds)
    return look(list(question.df)) if scorer.relevance(others) >= threshold else passages

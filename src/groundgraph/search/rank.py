"""The order of what was found, the same for every store."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import dropwhile, islice, pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import degraded_by
from groundgraph.text.follow_up import codes_in, question_weight, subject_of
from groundgraph.text.words import (
    LAST_CHARACTER,
    MOST_FORMS,
    SAME_BEGINNING,
    bm25,
    detect_language,
    idf,
    last_parts,
    nearest_forms,
    slip_range,
    with_forms,
    words,
)

if TYPE_CHECKING:
    from groundgraph.core.embedder import Embedder


# One ranking out of words and vectors (decision 3: by relative score).
#
# Both scores are known for every candidate, whichever list it came from, so none is punished for standing outside the
# other list's beginning. Each score is measured from what a chunk gets that has nothing to do with the question, which
# is no common word for BM25 and the average cosine of the base, to what the best candidate gets; the two shares are
# added by weight. So the order of the best does not depend on how many candidates there are, as it would with the
# usual min-max, and models whose cosines all lie close together fuse as well as others. Bruch, Gai and Ingber, "An
# Analysis of Fusion Functions for Hybrid Retrieval" (2023), find such sums of scores better than reciprocal ranks.


def fused_scores(
    lexical: Sequence[float], cosines: Sequence[float | None], *, average_cosine: float, vector_weight: float
) -> list[float]:
    """The fused score of each candidate, at most 1.

    Args:
        lexical: BM25 scores, 0 or more, on any scale.
        cosines: None for a candidate that has no vectors; it then counts as an average one.
        average_cosine: of all chunks that could have been found.
        vector_weight: share of the cosines, 0 to 1.
    """
    words = _shares(lexical, 0.0)
    near = _shares([average_cosine if cosine is None else cosine for cosine in cosines], average_cosine)
    return [(1 - vector_weight) * word + vector_weight * cosine for word, cosine in zip(words, near, strict=True)]


def _shares(scores: Sequence[float], zero: float) -> list[float]:
    """Each score as its share of the way from `zero` to the best; all 0 when none is better than `zero`."""
    span = max(scores, default=zero) - zero
    return [(score - zero) / span if span > 0 else 0.0 for score in scores]


# What may be found: a chunk, a row, an object, with what its words and its vector say of it.


class Passage(NamedTuple):
    """A candidate.

    Attributes:
        key: what identifies it in its store, and can be ordered: what scores the same stands in the order of these.
        lexical: how well its words fit, on any scale, 0 or more.
        share: how much of the question its words hold, 0 to 1.
        cosine: of its best text with the question; None without vectors.
        payload: what the store needs to show it.
        own_lexical: `lexical` without what only orders: other forms of words that stand nowhere, and a heading that is
            a name of one word; None where there is no such thing.
    """

    key: Any
    lexical: float
    share: float
    cosine: float | None = None
    payload: Any = None
    own_lexical: float | None = None

    @property
    def told(self) -> float:
        """How well its words fit, as it is told: another form orders, and is no sign that a text answers."""
        return self.lexical if self.own_lexical is None else self.own_lexical

    @property
    def nearness(self) -> float | None:
        """The cosine, 0 to 1."""
        return None if self.cosine is None else min(1.0, max(0.0, self.cosine))

    @property
    def relevance(self) -> float:
        """The better of the share of words and the cosine: either is a reason to show a passage."""
        return self.share if self.cosine is None else max(self.share, self.nearness or 0.0)


@dataclass(frozen=True)
class Pool:
    """Candidates whose scores are on one scale.

    Attributes:
        passages: in any order, each key once.
        average_cosine: of all passages that could have been found; None when words alone were asked.
        vector_weight: the share of the cosines in the order, 0 to 1.
    """

    passages: Sequence[Passage]
    average_cosine: float | None = None
    vector_weight: float = 0.0


# Several ranked lists of one source as one.


def take_turns(lists: Sequence[Sequence[SourceResult]]) -> list[SourceResult]:
    """The results of several queries, all first ones first; what two of them found keeps its best relevance."""
    best: dict[tuple[str, str], SourceResult] = {}
    for rank in range(max(map(len, lists), default=0)):
        for found in lists:
            if rank < len(found):
                result = found[rank]
                known = best.setdefault(result.passage, result)
                if known.relevance < result.relevance:
                    best[result.passage] = result
    return list(best.values())


class RankedPassage(NamedTuple):
    """A passage that was found.

    Attributes:
        key: as for `Passage`.
        score: by which the results are ordered: that of its words, or the fused score.
        relevance: 0 to 1.
        match_score: the cosine, 0 to 1, where there are vectors, else the relevance by words.
        scores: `lexical`, how well its words fit beyond what is common; with vectors `vector` and `fused`.
        payload: as for `Passage`.
    """

    key: Any
    score: float = 0.0
    relevance: float = 0.0
    match_score: float = 0.0
    scores: Mapping[str, float] = MappingProxyType({})
    payload: Any = None


# What many passages of a base share with a question says little of any one: of how well the words of a passage fit, so
# much of how well those of the tenth best do is taken off when that is told (the order stays).
COMMON_PLACE, COMMON_SHARE = 10, 0.5


def rank(pools: Collection[Pool], *, threshold: float = 0.0, top_k: int | None = None) -> Iterator[RankedPassage]:
    """The passages of all `pools` with relevance `threshold` or more, the best first, made as they are taken.

    The order is that of the score; what scores the same is ordered by the share of words, then by key. The cosines are
    in the score, and some engines give them with a noise that should decide nothing.

    Args:
        pools: each with scores of its own.
        threshold: the least relevance.
        top_k: the most passages; None for all.
    """
    scored = [
        (-score, -passage.share, passage.key, passage, pool.average_cosine is not None)
        for pool in pools
        for passage, score in zip(pool.passages, _scores(pool), strict=True)
        # No relevance is below 0, and a store in memory has thousands of candidates.
        if threshold <= 0 or passage.relevance >= threshold
    ]
    scored.sort(key=itemgetter(0, 1, 2))
    common = _common(pools)
    for score, _, _, passage, fused in islice(scored, None if top_k is None else max(0, top_k)):
        yield _ranked(passage, max(0.0, passage.told - common), -score, fused)


def _common(pools: Iterable[Pool]) -> float:
    """What is taken off, of candidates below the threshold too."""
    best = sorted([passage.told for pool in pools for passage in pool.passages], reverse=True)
    return COMMON_SHARE * best[COMMON_PLACE - 1] if len(best) >= COMMON_PLACE else 0.0


def _scores(pool: Pool) -> Sequence[float]:
    lexical = [passage.lexical for passage in pool.passages]
    if pool.average_cosine is None:
        return lexical
    return fused_scores(
        lexical,
        [passage.cosine for passage in pool.passages],
        average_cosine=pool.average_cosine,
        vector_weight=pool.vector_weight,
    )


def _ranked(passage: Passage, lexical: float, score: float, fused: bool) -> RankedPassage:
    near = passage.nearness
    scores = {"lexical": lexical}
    if passage.cosine is not None:
        scores["vector"] = passage.cosine
    if fused:
        scores["fused"] = score
    match_score = passage.share if near is None else near
    return RankedPassage(passage.key, score, passage.relevance, match_score, scores, passage.payload)


# How well the words of a text fit a question, and how much of the question they hold.
#
# The first number orders: BM25 with an idf that is never negative, plus a bonus for question words that stand together,
# as in the sequential dependence model (Metzler and Croft 2005): for each pair of neighbours in the question,
# `PROXIMITY_WEIGHT` times the smaller idf when the text has them side by side, and as much again when they lie within
# `WINDOW` words. On five public sets the bonus was worth .003 to .006 of nDCG@10. It is told as a share of the weight
# of the question: a text of average length that holds each word once has 1, whatever the question and the base, so it
# also says whether the question can be answered. The second is the relevance by words.

# The words of a question among the texts that are asked.

# A pasted page is no question: so many of its stems are searched for.
MAX_STEMS = 64
# Rarer than one text in twenty, a stem counts no more for relevance: how rare a stem is within rare ones is mostly
# accident, and one unusual word of a question would otherwise outweigh all the others together.
RARE_SHARE = 0.05
# A code of the question, such as E042, that so few texts hold, or `RARE_SHARE` of them, carries it: a text that
# holds it is no less relevant than this, whatever else is said around it.
FEW_TEXTS, CODE_RELEVANCE = 5, 0.5


@dataclass(frozen=True)
class Question:
    """The stems of a question where it is asked.

    Attributes:
        stems: the distinct stems in order.
        df: for each stem that some text holds, how many do; the rarest first.
        texts: the number of texts: chunks, their matching texts, rows of a table.
        average_length: the mean number of stems of a text.
        names: the stems of each name of code in it, as `wording.code_name_stems` gives them.
        forms: for each stem that some text holds in place of one of `stems` that none does, that one.
    """

    stems: Sequence[str]
    df: Mapping[str, int]
    texts: int
    average_length: float
    names: Sequence[Sequence[str]] = ()
    forms: Mapping[str, str] = field(default_factory=dict)

    @property
    def held(self) -> list[str]:
        """The stems that a text may hold: those of `df`, with forms in place of what stands nowhere."""
        formed = frozenset(self.forms.values())
        return [*(stem for stem in self.df if stem not in formed), *self.forms]

    @property
    def weight(self) -> float:
        """See `question_weight`."""
        return question_weight(self.stems, self.df, self.texts)

    def without(self, stems: Collection[str]) -> Question:
        """The question where no text holds `stems`."""
        return replace(self, df={stem: count for stem, count in self.df.items() if stem not in stems})

    def with_forms(self, vocabulary: Callable[[str], Mapping[str, int]]) -> Question:
        """The question with the `MOST_FORMS` nearest forms of each word that no text holds.

        Args:
            vocabulary: of a stem what may be a form of it, each with the number of texts that hold it.
        """
        forms: dict[str, str] = {}
        df = dict(self.df)
        for stem in with_forms(self.stems):
            known = vocabulary(stem) if stem not in self.df else {}
            if near := nearest_forms(stem, known.keys() - set(self.stems))[:MOST_FORMS]:
                forms |= dict.fromkeys(near, stem)
                df[stem] = sum(map(known.__getitem__, near))
        return replace(self, df=df, forms=forms) if forms else self

    def ranking_weights(self) -> dict[str, float]:
        """The idf of each stem."""
        return {stem: idf(self.texts, self.df.get(stem, 0)) for stem in self.stems}

    def relevance_weights(self) -> dict[str, float]:
        """The idf of each stem, bounded as `RARE_SHARE` says; a stem that no text holds counts as rare, and not at all
        when it only says how several others are asked for."""
        rare = int(self.texts * RARE_SHARE)
        subject = subject_of(self.stems, self.df)
        asked = subject if len(subject) > 1 else self.stems
        return {stem: idf(self.texts, max(rare, self.df.get(stem, 0))) for stem in asked}

    def carrying_codes(self) -> list[frozenset[str]]:
        """The stems of each code that few texts hold."""
        # One that most texts hold, as in the manual of the X2, says nothing of any.
        few = min(max(FEW_TEXTS, int(self.texts * RARE_SHARE)), self.texts // 2)
        return [code for code in codes_in(self.stems) if 0 < min(self.df.get(stem, 0) for stem in code) <= few]


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


async def query_vector(embedder: Embedder, text: str, source: str, part: str = "vectors") -> Any:
    """The unit vector of `text`; None when the model fails, which is told as a degradation of `source`, that it went on
    without `part`."""
    try:
        return await embedder.embed_query(text)
    except Exception as error:
        degraded_by(source, part, error)
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
# What it adds to the score of a chunk that its lowest heading is all that the question asks about.
HEADED = 0.5


_ENTRIES = "\n\n"


def written_above(headings: Sequence[Sequence[str]], terms: Sequence[Sequence[str]]) -> str:
    """What stands above a text, as a store keeps it for `Scorer.best_texts`: the lowest heading behind a line end, and
    behind a blank line the terms of its entries, which are no words that a search finds.

    Args:
        headings: the stems of the title and of each heading.
        terms: those of each term.
    """
    *higher, lowest = map(" ".join, headings)
    told = "\n".join([" ".join(higher), lowest])
    return _ENTRIES.join([told, "\n".join(["=" + "=".join(term) for term in terms])]) if terms else told


def stems_in(above: str) -> list[str]:
    """The stems of title and headings in what `written_above` gives."""
    return above.partition(_ENTRIES)[0].split()


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
        self._codes = question.carrying_codes() if rule.by_rarity else []
        self._stems = frozenset(self._weights)
        self._pairs = list(pairwise(question.stems))
        names = [tuple(name) for name in question.names if self._stems.issuperset(name)]
        self._names = [name for name in names if len(name) > 1]
        # Names of one word, such as GZipMiddleware or GitHub.
        self._words = [name for name in names if len(name) == 1]
        self._average_length = question.average_length
        self._whole = question.weight or 1.0
        self._subject = frozenset(subject_of(question.stems, question.df))
        self._forms = question.forms

    def passage(
        self, key: Any, body: Sequence[str], above: Sequence[str], cosine: float | None = None, payload: Any = None
    ) -> Passage:
        """The passage `key` whose stems are these."""
        own = self.score(body, above) if self._forms else None
        if self._forms:
            # What is a form of a word of the question counts as that.
            body, above = ([self._forms.get(stem, stem) for stem in text] for text in (body, above))
        in_body, in_above = self._stems.intersection(body), self._stems.intersection(above)
        # What vectors alone found often holds none of the words, which is told sooner than a score of 0 is computed.
        lexical = self._score(body, above, in_body, in_above) if in_body or in_above else 0.0
        return Passage(key, lexical, self._share(in_body, in_above), cosine, payload, own)

    def best_texts(self, rows: Iterable[tuple[Any, str, str]]) -> dict[Any, Passage]:
        """By key the passages, each as good as the best of its texts.

        Args:
            rows: of each text the key of its passage, its stems, and what stands above it as `written_above` gives it.
        """
        best: dict[Any, Passage] = {}
        for key, body, above in rows:
            one = self.passage(key, body.split(), stems_in(above))
            if self._is_headed(above, self._names):
                one = self._lifted(one)
            elif self._words and self._is_headed(above, self._words):
                # A word is also the name of a product, and its page no answer to all that is asked about it.
                one = one._replace(lexical=one.lexical + HEADED, own_lexical=one.told)
            known = best.get(key)
            if known:
                own = max(one.told, known.told) if self._forms or self._words else None
                one = Passage(key, max(one.lexical, known.lexical), max(one.share, known.share), own_lexical=own)
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
        carried = any(code <= body | above for code in self._codes)
        return max(self._rule.floor, held / self._total, CODE_RELEVANCE if carried else 0.0)

    def score(self, body: Sequence[str], above: Sequence[str]) -> float:
        """BM25 over body and what stands above it, plus the bonus for words that stand together, by the weight of the
        question; 0 or more."""
        return self._score(body, above, self._stems.intersection(body), self._stems.intersection(above))

    def _score(
        self, body: Sequence[str], above: Sequence[str], in_body: frozenset[str], in_above: frozenset[str]
    ) -> float:
        # A search looks through a hundred texts of a hundred stems: what goes through a text runs in C.
        length = len(body) + len(above)
        score = self._proximity(body, in_body) if len(in_body) > 1 else 0.0
        for stem, weight in self._weights.items():
            frequency = body.count(stem) if stem in in_body else 0
            if stem in in_above:
                frequency += self._rule.above_weight * above.count(stem)
            if frequency:
                score += weight * bm25(frequency, length, self._average_length, k1=K1)
        score += sum(self._named(name, body) or self._named(name, above) for name in self._names)
        return score / self._whole

    def _is_headed(self, above: str, names: Collection[Sequence[str]]) -> bool:
        """Whether the lowest heading or the term of an entry says what the question asks about, or is one of `names` in
        it, and nothing else: "Refresh tokens" over what answers "What is a refresh token?", which speaks of them less
        often than what uses them."""
        headings, _, terms = above.partition(_ENTRIES)
        higher, _, lowest = headings.rpartition("\n")
        # The number of a section says nothing of what it is about.
        own, over = list(dropwhile(str.isdecimal, lowest.split())), higher.split()
        said = [term.split("=")[1:] for term in terms.split()]
        return self._is_topic(own, over, names) or any(self._is_topic(one, [*over, *own], names) for one in said)

    def _is_topic(self, said: Sequence[str], above: Sequence[str], names: Collection[Sequence[str]]) -> bool:
        own = {self._forms.get(stem, stem) for stem in said}
        about = own <= self._subject and self._subject <= own.union(above)
        return bool(said) and (about or tuple(said) in names)

    def _lifted(self, passage: Passage) -> Passage:
        own = passage.own_lexical
        return passage._replace(lexical=passage.lexical + HEADED, own_lexical=own if own is None else own + HEADED)

    def _named(self, name: Sequence[str], text: Sequence[str]) -> float:
        """What it adds that `text` holds the name of code: as much again as its words. They are common by themselves,
        as are those of `invalid_client`."""
        size = len(name)
        held = any(tuple(text[at : at + size]) == name for at in _places(text, name[0]))
        return sum(map(self._weights.__getitem__, name)) if held else 0.0

    def _proximity(self, body: Sequence[str], held: frozenset[str]) -> float:
        bonus = 0.0
        for left, right in self._pairs:
            if left in held and right in held:
                ordered, near = _together(_places(body, left), _places(body, right))
                bonus += (ordered + near) * min(self._weights[left], self._weights[right])
        return PROXIMITY_WEIGHT * bonus


def _places(body: Sequence[str], stem: str) -> list[int]:
    """Where `stem` stands in `body`."""
    places: list[int] = []
    with suppress(ValueError):
        while True:
            places.append(body.index(stem, places[-1] + 1 if places else 0))
    return places


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
    question: Question, seeds: Sequence[str], look: Callable[[Sequence[str]], Sequence[Passage]], *, top_k: int
) -> Sequence[Passage]:
    """What `look` finds for the seeds; for all stems of `question` when those are fewer passages than `top_k`.

    Args:
        question: as it is asked.
        seeds: from `seeds_of`.
        look: gives the passages that hold one of some stems.
        top_k: how many are enough.
    """
    passages = look(seeds)
    enough = len(seeds) == len(question.df) or len(passages) >= top_k
    return passages if enough else look(list(question.df))


def add_frequencies(connection: sqlite3.Connection, key: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Add to `df` of the table `terms`; what is in no text any more is taken out.

    Args:
        connection: within a transaction.
        key: the columns of its primary key.
        rows: values of `key`, each with how many texts more hold it, less when negative.
    """
    columns, places = ", ".join(key), ", ".join("?" * len(key))
    connection.executemany(
        f"INSERT INTO terms ({columns}, df) VALUES ({places}, ?) "
        f"ON CONFLICT ({columns}) DO UPDATE SET df = df + excluded.df",
        rows,
    )
    same = " AND ".join(f"{column} = ?" for column in key)
    gone = [row[:-1] for row in rows if row[-1] < 0]
    connection.executemany(f"DELETE FROM terms WHERE {same} AND df <= 0", gone)


def near_terms(connection: sqlite3.Connection, stem: str) -> dict[str, int]:
    """Of the table `terms` what may be a form of `stem`, each with how many texts hold it."""
    first, last, least, most = slip_range(stem)
    begun = stem[:SAME_BEGINNING]
    rows = connection.execute(
        "SELECT term, sum(df) FROM terms WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ? GROUP BY term "
        "UNION SELECT term, sum(df) FROM terms WHERE term >= ? AND term < ? GROUP BY term "
        "UNION SELECT term, sum(df) FROM terms WHERE term IN (SELECT value FROM json_each(?)) GROUP BY term",
        (first, last, least, most, begun, begun + LAST_CHARACTER, json.dumps(last_parts(stem))),
    )
    return dict(rows.fetchall())

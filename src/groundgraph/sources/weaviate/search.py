"""One text in one collection: words and vectors asked at once, and fused here.

Weaviate's own hybrid search makes its scores relative to the query, so that nonsense scores as high as an answer. Here
both absolute scores are kept, for each candidate, whichever of the two lists it came from: the cosine, and the share of
the question's stems as an embedded knowledge base computes it. `rank` puts them in one order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from groundgraph.search.rank import CHUNKS, Pool, Question, Scorer, stems_in
from groundgraph.sources.weaviate.address import queries
from groundgraph.sources.weaviate.shape import PropertyMapping
from groundgraph.sources.weaviate.statistics import Statistics, cosines
from groundgraph.text.wording import code_name_stems
from groundgraph.text.words import WORD, normalized, query_stems, spelled_forms, stem, stems, words

if TYPE_CHECKING:
    from weaviate.collections import CollectionAsync


# A question in the terms of a collection: what is sent to its text index, and how its stems are weighted.

# A pasted page is no question; of its words the first are searched for.
MAX_TERMS = 64


@dataclass(frozen=True)
class Terms:
    """The words of a question.

    Attributes:
        stems: the distinct stems of its content words, in order.
        sent: for each stem the terms under which the text index holds it: the stem itself where stems are stored,
            else the words of the question that have it, since Weaviate knows no stems.
        names: the stems of each name of code.
    """

    stems: Sequence[str]
    sent: dict[str, list[str]]
    names: Sequence[Sequence[str]]

    def query(self) -> str:
        """What the text index is asked for; empty when there is nothing to ask."""
        return " ".join(self.terms())

    def terms(self) -> list[str]:
        """All terms, each once."""
        return list(dict.fromkeys(term for terms in self.sent.values() for term in terms))[:MAX_TERMS]

    def weighed(self, statistics: Statistics, average_length: float) -> Question:
        """The question with the frequencies of its stems; with several terms the most frequent one counts."""
        df = {stem: max((statistics.frequency(term) for term in terms), default=0) for stem, terms in self.sent.items()}
        held = {stem: count for stem, count in df.items() if count}
        return Question(self.stems, held, statistics.objects, average_length, self.names)


def terms_of(text: str, *, stored_stems: bool, tokenization: str = "") -> Terms:
    """The terms of `text`, for an index that divides texts so."""
    found = query_stems(text)[:MAX_TERMS]
    if stored_stems:
        return Terms(found, {own: [own] for own in found}, code_name_stems(text))
    sent: dict[str, list[str]] = {own: [] for own in found}
    # As they are written: Weaviate keeps accents and the letter ё, which stems do not have.
    plain = normalized("NFC", text)
    for written in dict.fromkeys([*WORD.findall(plain), *_between_spaces(plain, tokenization)]):
        for own, word in {stem(word): word for word in words(written)}.items():
            if own in sent:
                sent[own] += [written, *spelled_forms(word)[1:]]
    return Terms(found, sent, code_name_stems(text))


def _between_spaces(text: str, tokenization: str) -> list[str]:
    """What an index that divides texts at spaces only holds as one term, such as `foo_bar`."""
    if tokenization not in ("lowercase", "whitespace"):
        return []
    pieces = [piece.strip(_MARKS) for piece in text.split()]
    if tokenization == "lowercase":
        return pieces
    # It minds capital letters, which begin a sentence or a title.
    return [spelled for piece in pieces for spelled in (piece, piece.lower(), piece[:1].upper() + piece[1:])]


# What stands around a word and is none of it.
_MARKS = ".,;:!?\"'()[]"
_SEARCHED_FOR_GROUPS = 8
# Weaviate gives no more to one request, unless it is told to.
_MOST = 10_000
# What Weaviate gives for an object that is not in a multi-vector index yet is the largest number it knows.
NO_DISTANCE = 1e30
# Distances that are also about how long vectors are: only of unit vectors is the cosine told by them.
_BY_LENGTH = ("dot", "l2-squared")
# A cosine out of what the server calls a distance.
_COSINES: dict[str, Callable[[float], float]] = {
    "cosine": lambda distance: 1 - distance,
    "dot": lambda distance: -distance,
    "l2-squared": lambda distance: 1 - distance / 2,
    "multi": lambda distance: -distance,
}


@dataclass(frozen=True)
class VectorIndex:
    """The vector that is searched.

    Attributes:
        name: of the vector; `default` for an unnamed one.
        metric: its distance, `multi` for a multi-vector.
        by_server: the server makes the query's vector from its text.
    """

    name: str
    metric: str
    by_server: bool = False


@dataclass(frozen=True)
class Search:
    """What is asked.

    Attributes:
        text: the words.
        vector: their unit vector; None to search by words alone, or where the server makes it.
        filter: Weaviate's filter, None for none.
        candidates: how many of each list are looked at.
    """

    text: str
    vector: Any
    filter: Any
    candidates: int


@dataclass(frozen=True)
class CollectionSearch:
    """Searches one collection.

    Attributes:
        mapping: of its properties.
        properties: what results bring.
        index: the vector that is searched; None for none.
        vector_weight: the share of the vectors in the order, 0 to 1.
        per_document: most results of one document; 0 for any number.
        tokenization: how the index divides the text.
    """

    mapping: PropertyMapping
    properties: Sequence[str]
    index: VectorIndex | None
    vector_weight: float
    per_document: int = 0
    tokenization: str = ""

    async def run(self, collection: CollectionAsync[Any, Any], statistics: Statistics, search: Search) -> Pool:
        """The candidates for one text, each with its object; several requests at once."""
        terms = terms_of(search.text, stored_stems=bool(self.mapping.stems), tokenization=self.tokenization)
        by_vector = self.index is not None and (search.vector is not None or self.index.by_server)
        by_words = bool(terms.stems) and (self.vector_weight < 1 or not by_vector)
        lexical, near, _ = await together(
            self._by_words(collection, terms, search, with_vector=by_vector) if by_words else nothing(),
            self._by_vector(collection, search) if by_vector else nothing(),
            _learn(collection, statistics, terms),
        )
        nearness = self._cosines(lexical, near, search.vector) if by_vector else {}
        objects = {one.uuid.int: one for one in [*lexical, *near]}
        return self._pool(objects, terms, statistics, nearness, search.vector, by_vector)

    async def _by_words(
        self, collection: CollectionAsync[Any, Any], terms: Terms, search: Search, *, with_vector: bool
    ) -> Sequence[Any]:
        by_words = partial(
            collection.query.bm25,
            terms.query(),
            query_properties=self.mapping.searched(CHUNKS.above_weight),
            filters=search.filter,
            include_vector=[self.index.name] if self.index and with_vector and search.vector is not None else False,
            return_properties=list(self.properties),
            return_metadata=queries().MetadataQuery(score=True),
        )
        return await self._grouped(by_words, search)

    async def _by_vector(self, collection: CollectionAsync[Any, Any], search: Search) -> Sequence[Any]:
        assert self.index is not None
        common: dict[str, Any] = {
            "target_vector": None if self.index.name == "default" else self.index.name,
            "filters": search.filter,
            "return_properties": list(self.properties),
            "return_metadata": queries().MetadataQuery(distance=True),
        }
        if self.index.by_server:
            by_vector = partial(collection.query.near_text, search.text, **common)
        else:
            vector = search.vector.tolist()
            near = [vector] if self.index.metric == "multi" else vector
            brought = [self.index.name] if self.index.metric in _BY_LENGTH else False
            by_vector = partial(collection.query.near_vector, near, include_vector=brought, **common)
        found = await self._grouped(by_vector, search)
        return [one for one in found if (one.metadata.distance or 0.0) < NO_DISTANCE]

    async def _grouped(self, query: Callable[..., Awaitable[Any]], search: Search) -> list[Any]:
        """What `query` finds, of each document as many objects as are wanted.

        Objects of no document are searched for once more: the server takes them for one document, or leaves them out.
        """
        if not self.per_document:
            return list((await query(limit=search.candidates)).objects)
        document = self.mapping.document
        groups = queries().GroupBy(
            prop=document, objects_per_group=self.per_document, number_of_groups=search.candidates
        )
        # Weaviate groups what a search without groups would give, so that has to be more.
        most = max(search.candidates, min(search.candidates * _SEARCHED_FOR_GROUPS, _MOST))
        grouped, alone = await together(query(limit=most, group_by=groups), query(limit=search.candidates))
        own = [one for one in grouped.objects if one.properties.get(document)]
        return own + [one for one in alone.objects if not one.properties.get(document)]

    def _cosines(self, lexical: Sequence[Any], near: Sequence[Any], query: Any) -> dict[int, float]:
        """The cosine of every candidate that has a vector: told by the server, else computed here."""
        assert self.index is not None
        told = _COSINES[self.index.metric]
        tells = query is None or self.index.metric not in _BY_LENGTH
        known = {one.uuid.int: told(one.metadata.distance or 0.0) for one in near} if tells else {}
        return known if query is None else known | self._computed([*near, *lexical], known, query)

    def _computed(self, found: Sequence[Any], known: Collection[int], query: Any) -> dict[int, float]:
        assert self.index is not None
        others = [one for one in found if one.uuid.int not in known and one.vector.get(self.index.name)]
        values = cosines([one.vector[self.index.name] for one in others], query)
        return dict(zip((one.uuid.int for one in others), values, strict=True))

    def _pool(
        self,
        objects: Mapping[int, Any],
        terms: Terms,
        statistics: Statistics,
        near: Mapping[int, float],
        query: Any,
        by_vector: bool,
    ) -> Pool:
        found_by = [self._stems(one) for one in objects.values()]
        average = sum(len(body) + len(above) for body, above in found_by) / max(1, len(found_by))
        scorer = Scorer(terms.weighed(statistics, average))
        passages = [
            scorer.passage(number, *pair, near.get(number), found)
            for (number, found), pair in zip(objects.items(), found_by, strict=True)
        ]
        if not by_vector:
            return Pool(passages)
        return Pool(passages, 0.0 if query is None else statistics.average_cosine(query), self.vector_weight)

    def _stems(self, found: Any) -> tuple[Sequence[str], Sequence[str]]:
        """The stems of the text, and of what stands above it."""
        mapping, values = self.mapping, found.properties
        if mapping.stems:
            above = values.get(mapping.heading_stems) if mapping.heading_stems else ""
            return (values.get(mapping.stems) or "").split(), stems_in(above or "")
        above = "\n".join(as_text(values.get(name)) for name in (mapping.title, mapping.headings) if name)
        return _stems_of(as_text(values.get(mapping.text))), _stems_of(above) if above else ()


@lru_cache(maxsize=4096)
def _stems_of(text: str) -> tuple[str, ...]:
    """The stems of a text of a collection that stores none; what is found once is often found again."""
    return tuple(stems(text))


def as_text(value: Any) -> str:
    """A property as one text: the parts of a list below each other, nothing for none."""
    if isinstance(value, list):
        return "\n".join(str(part) for part in value)
    return "" if value is None else str(value)


async def _learn(collection: CollectionAsync[Any, Any], statistics: Statistics, terms: Terms) -> None:
    """Read what is not known of the collection yet."""
    work: list[Awaitable[Any]] = []
    if not statistics.is_read:
        work += [statistics.read_objects(collection), statistics.read_sample(collection)]
    # With a single stem every object that holds it covers the whole question, however frequent it is.
    missing = statistics.missing(terms.terms()) if len(terms.stems) > 1 else []
    work += [statistics.read_frequency(collection, term) for term in missing]
    if work:
        await together(*work)


async def nothing() -> list[Any]:
    """What is found where nothing is asked."""
    return []


async def together(*work: Awaitable[Any]) -> list[Any]:
    """The results of all `work`; when one part fails the others are cancelled."""
    tasks = [asyncio.ensure_future(part) for part in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()

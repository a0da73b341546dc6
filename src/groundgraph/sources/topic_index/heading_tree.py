"""The index over the headings of documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from groundgraph.core.errors import ModelError, SourceUnavailable
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import degraded_by
from groundgraph.resilience.blocking import run_blocking
from groundgraph.search.topics import TopicStore
from groundgraph.settings.topics import HeadingMatchSettings, TopicIndexOptions
from groundgraph.sources.topic_index.asked import Asked, Found, OncePerRevision, Topic
from groundgraph.sources.topic_index.outline_tree import OutlineTree, Region, Seed, outline_tree, regions
from groundgraph.text.words import fold, idf, stem, stop_words, words

# Which headings a question names, by their words.

# A word that stands in a heading above says where a heading is, and not what it is about.
ABOVE_SHARE = 0.5


@dataclass(frozen=True)
class HeadingIndex:
    """Which headings hold a stem."""

    tree: OutlineTree
    holders: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, tree: OutlineTree) -> HeadingIndex:
        """The index of all headings of `tree`."""
        holders: dict[str, list[int]] = defaultdict(list)
        for number, heading in enumerate(tree.headings):
            for held in {stem(word) for word in words(heading.title)}:
                holders[held].append(number)
        return cls(tree, holders)

    def matches(
        self, question: str, settings: HeadingMatchSettings, kept: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """The headings that share a content word with `question`, each with its score, the best first.

        The score is the harmonic mean of two shares, weighted by how rare a word is among the headings: of the
        question's words those that the heading holds (one that only a heading above it holds counts half), and of the
        heading's words those that the question holds. Its number ("10.1.") is no word of a heading.

        Args:
            question: in words.
            settings: which words and headings count.
            kept: only headings over one of these passages; None for all.
        """
        asked = content_stems(question, settings)
        candidates = {number for one in asked for number in self.holders.get(one, ())}
        scored = [
            (number, score)
            for number in sorted(candidates)
            if self.tree.headings[number].depth >= settings.min_heading_depth
            and self.tree.holds(number, kept)
            and (score := self._score(number, asked, settings)) > 0
        ]
        # Python's sort is stable: of equal ones the first of the document.
        return sorted(scored, key=lambda pair: -pair[1])

    def _score(self, number: int, asked: Collection[str], settings: HeadingMatchSettings) -> float:
        path = self.tree.path(number)
        own = content_stems(_without_number(self.tree.headings[number].title), settings)
        above = {one for up in path[:-1] for one in content_stems(self.tree.headings[up].title, settings)}
        shared = self._weight(one for one in asked if one in own)
        if not shared:
            return 0.0
        found = shared + ABOVE_SHARE * self._weight(one for one in asked if one in above and one not in own)
        of_question, of_heading = found / self._weight(asked), shared / self._weight(own)
        return 2 * of_question * of_heading / (of_question + of_heading)

    def _weight(self, stems: Iterable[str]) -> float:
        return sum(idf(len(self.tree.headings), len(self.holders.get(one, ()))) for one in stems)


def content_stems(text: str, settings: HeadingMatchSettings) -> list[str]:
    """The distinct stems of the words of `text` that count, in order."""
    own = settings.stopwords
    skip = stop_words() if own is None else {word for given in own for word in words(fold(given))}
    counting = (word for word in words(text) if word not in skip and len(word) >= settings.min_word_length)
    return list(dict.fromkeys(stem(word) for word in counting))


def _without_number(title: str) -> str:
    first, _, rest = title.partition(" ")
    numbers = first.strip("().§").replace(".", "").replace("-", "")
    return rest if rest.strip() and numbers.isdigit() else title


# What belongs to a heading.

Mode = Literal["subtree", "children", "leaves"]


def expanded(tree: OutlineTree, heading: int, mode: Mode, max_depth: int | None = None) -> list[int]:
    """The places of the passages that `heading` stands for, in the order of the document; never none.

    Args:
        tree: of all headings.
        heading: one of them.
        mode: `subtree` takes everything below it; `children` the first passage of each heading directly below it;
            `leaves` the passages of the deepest headings. A heading without others below it gives its own passages.
        max_depth: how many levels below it are looked at; None for all. The headings on the last level count as the
            deepest.
    """
    if mode == "children":
        children = tree.headings[heading].children if max_depth != 0 else []
        # A heading without a text of its own begins with the first passage below it.
        found = [tree.headings[child].first for child in children]
    else:
        wanted = {number for number, deepest in _down(tree, heading, max_depth) if mode == "subtree" or deepest}
        found = _directly_below(tree, heading, wanted)
    return found or _directly_below(tree, heading, {heading}) or [tree.headings[heading].first]


def _directly_below(tree: OutlineTree, heading: int, wanted: Collection[int]) -> list[int]:
    """The passages below `heading` whose deepest heading is one of `wanted`."""
    return [place for place in tree.below(heading) if tree.above[place] in wanted]


def _down(tree: OutlineTree, heading: int, levels: int | None) -> Iterator[tuple[int, bool]]:
    """`heading` and those at most `levels` below it, each with whether none of these stands below it."""
    # Not by recursion: a hostile document may nest deeper than Python does.
    waiting: list[tuple[int, int]] = [(heading, 0)]
    while waiting:
        number, level = waiting.pop()
        children = tree.headings[number].children if levels is None or level < levels else []
        yield number, not children
        waiting += [(child, level + 1) for child in children]


def capped(places: Sequence[int], limit: int, first: Sequence[int]) -> list[int]:
    """At most `limit` of `places`, in order: those of `first`, in their order of preference, and then the foremost."""
    if len(places) <= limit:
        return list(places)
    among = set(places)
    wanted = dict.fromkeys([*(place for place in first if place in among), *places])
    return sorted(list(wanted)[:limit])


# Given the user's instruction, the question and the heading paths, it answers with the places of those that it chooses.
ChooseHeadings = Callable[[str, str, Sequence[tuple[str, ...]]], Awaitable[list[int]]]


@dataclass(frozen=True)
class _Start:
    """What a question leads to before anything is expanded."""

    matched: list[tuple[int, float]]
    seeds: list[Seed]
    results: Mapping[int, SourceResult]


class HeadingTreeIndex:
    """Finds the headings that a question is about and gives everything that stands below them.

    Args:
        store: whose documents have headings.
        name: of the source, for messages.
        choose: asks a model which headings fit; used where the options have a `resolution_prompt`.
    """

    def __init__(self, store: TopicStore, name: str, choose: ChooseHeadings | None = None) -> None:
        self._store = store
        self._name = name
        self._choose = choose
        self._trees: OncePerRevision[HeadingIndex] = OncePerRevision()

    async def resolve(self, asked: Asked) -> list[Topic]:
        """The headings that `asked` is about, and of each what stands below it in the order of the document.

        Raises:
            SourceUnavailable: no passage of the store has a heading.
            SourceError: the store cannot answer.
        """
        index = await self._index()
        tree = index.tree
        if not tree.places:
            return []
        if not tree.headings:
            raise SourceUnavailable(
                f"The topic index of '{self._name}' works with headings, and none of its {len(tree.places)} passages "
                "has one. Use `type: cluster`, or leave `topic_index` out."
            )
        kept = await self._kept(tree, asked)
        start = await self._start(index, asked, kept)
        found = regions(tree, start.matched, start.seeds, asked.options.min_heading_depth)
        if asked.options.resolution_prompt and self._choose:
            found = await self._chosen(self._choose, tree, asked, kept, found) or found
        return await run_blocking(_topics, tree, found, asked, kept, start.results)

    def titles(
        self,
        topics: Sequence[Topic],
        texts: Sequence[Sequence[str]],  # noqa: ARG002 - headings need no texts
        options: TopicIndexOptions,  # noqa: ARG002
    ) -> list[str]:
        """See `TopicIndex.titles`; the heading with those above it."""
        return [topic.title for topic in topics]

    async def _index(self) -> HeadingIndex:
        known = self._trees.known(await self._store.revision())
        if known is not None:
            return known
        outline = await self._store.outline()
        return await run_blocking(self._trees.get, outline.revision, lambda: HeadingIndex.of(outline_tree(outline)))

    async def _kept(self, tree: OutlineTree, asked: Asked) -> frozenset[int] | None:
        if not asked.filters:
            return None
        ids = await self._store.kept(asked.filters)
        return await run_blocking(lambda: frozenset(tree.at[one] for one in ids if one in tree.at))

    async def _start(self, index: HeadingIndex, asked: Asked, kept: frozenset[int] | None) -> _Start:
        options = asked.options
        matched: list[tuple[int, float]] = []
        if options.entry_strategy != "vector":
            found = await run_blocking(index.matches, asked.question, options.heading_match, kept)
            matched = [pair for pair in found if pair[1] >= asked.score_threshold][: options.seed_max_results]
        results: Sequence[SourceResult] = []
        if options.entry_strategy != "heading_match":
            results = await self._store.seeds(
                asked.question,
                limit=options.seed_max_results,
                filters=asked.filters,
                by_vector=options.entry_strategy == "vector",
            )
        least = max(options.seed_score_threshold, asked.score_threshold)
        places = ((index.tree.at.get(one.source_id), one) for one in results if one.relevance >= least)
        good = {place: one for place, one in places if place is not None and _is_kept(place, kept)}
        return _Start(matched, _seeds(good), good)

    async def _chosen(
        self,
        choose: ChooseHeadings,
        tree: OutlineTree,
        asked: Asked,
        kept: frozenset[int] | None,
        found: Sequence[Region],
    ) -> list[Region]:
        """The regions that a model chooses; none when it fails, which is told."""
        options = asked.options
        offered = await run_blocking(
            offered_headings, tree, options.min_heading_depth, options.max_headings_for_llm, kept, found
        )
        if not offered:
            return []
        paths = [tree.titles(number) for number in offered]
        try:
            places = await choose(options.resolution_prompt or "", asked.question, paths)
        except ModelError as error:
            degraded_by(self._name, "heading_choice", error)
            return []
        return _regions_of([offered[place] for place in places], tree, found)


def _is_kept(place: int, kept: frozenset[int] | None) -> bool:
    return kept is None or place in kept


def _seeds(results: Mapping[int, SourceResult]) -> list[Seed]:
    """`results`, by their places, as seeds."""
    strengths = [one.relevance if one.score is None else one.score for one in results.values()]
    best = max(strengths, default=0.0)
    return [
        Seed(place, one.relevance, strength / best if best > 0 else 1.0)
        for (place, one), strength in zip(results.items(), strengths, strict=True)
    ]


def offered_headings(
    tree: OutlineTree, min_depth: int, limit: int, kept: frozenset[int] | None, found: Sequence[Region]
) -> list[int]:
    """At most `limit` headings to choose from, in the order of the documents.

    When there are more, those stay in that something led to, with the headings above them, and then the outer ones.
    """
    near = [number for region in found if region.heading is not None for number in tree.path(region.heading)]
    by_depth = sorted(range(len(tree.headings)), key=lambda number: tree.headings[number].depth)
    wanted: list[int] = []
    for number in dict.fromkeys([*near, *by_depth]):
        if len(wanted) == limit:
            break
        if tree.headings[number].depth >= min_depth and tree.holds(number, kept):
            wanted.append(number)
    return sorted(wanted)


def _regions_of(headings: Sequence[int], tree: OutlineTree, found: Sequence[Region]) -> list[Region]:
    """The chosen `headings` as regions, with the seeds that lie in them."""
    seeds = [place for region in found for place in region.seeds]
    chosen: list[Region] = []
    for number in dict.fromkeys(headings):
        if not any(other in headings for other in tree.path(number)[:-1]):
            own = [place for place in seeds if place in tree.below(number)]
            chosen.append(Region(number, 1.0, True, own))
    return chosen


def _topics(
    tree: OutlineTree,
    found: Sequence[Region],
    asked: Asked,
    kept: frozenset[int] | None,
    results: Mapping[int, SourceResult],
) -> list[Topic]:
    topics: list[Topic] = []
    taken: set[int] = set()
    for region in found:
        room = asked.options.max_expanded_results - len(taken)
        free = [place for place in _places(tree, region, asked) if place not in taken and _is_kept(place, kept)]
        shown = capped(free, room, region.seeds)
        taken.update(shown)
        passages = [
            Found(tree.places[place].id, region.score, results[place].scores if place in results else {})
            for place in shown
        ]
        title = " > ".join(tree.titles(region.heading)) if region.heading is not None else ""
        if passages:
            # Not their score: a rank within two lists says more than a number from either.
            topics.append(Topic(title, 1 / (1 + len(topics)), passages))
    return topics


def _places(tree: OutlineTree, region: Region, asked: Asked) -> list[int]:
    """The passages that a region stands for, in the order of the document; those that led to it always among them."""
    options, places = asked.options, set(region.seeds)
    for part in (region, *region.inner):
        if part.heading is not None:
            depth = options.max_expansion_depth if part.whole else 0
            places.update(expanded(tree, part.heading, options.expansion_mode, depth))
    return sorted(places)

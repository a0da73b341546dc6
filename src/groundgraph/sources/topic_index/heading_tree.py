"""The index over the headings of documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from groundgraph.core.errors import ModelError, SourceUnavailable
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import degraded_by
from groundgraph.resilience.blocking import run_blocking
from groundgraph.search.topics import Outline, Place, TopicStore
from groundgraph.settings.topics import HeadingMatchSettings, TopicIndexOptions
from groundgraph.sources.topic_index.asked import Asked, Found, OncePerRevision, Topic
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


# The headings of a store as trees, one per document, over the passages in their order.


@dataclass
class Heading:
    """A heading. What stands below it is one run of passages.

    Attributes:
        title: its words.
        depth: 0 for the title of a document, a heading that all others stand below; else the level in the tree, from 1.
        parent: the place of the heading above it in `OutlineTree.headings`; None for a root.
        first: the place of its first passage in `OutlineTree.places`.
        last: the place behind its last one.
        children: the headings directly below it, in order.
    """

    title: str
    depth: int
    parent: int | None
    first: int
    last: int
    children: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class OutlineTree:
    """All headings of a store.

    Attributes:
        places: the passages; those of one document together and in its order.
        headings: every heading after the one above it.
        above: for each passage the deepest heading above it; None without one.
        at: for each passage id its place.
    """

    places: Sequence[Place]
    headings: Sequence[Heading]
    above: Sequence[int | None]
    at: dict[str, int]

    def path(self, heading: int) -> list[int]:
        """The headings from the root down to `heading`, that one included."""
        found: list[int] = []
        here: int | None = heading
        while here is not None:
            found.append(here)
            here = self.headings[here].parent
        return found[::-1]

    def titles(self, heading: int) -> tuple[str, ...]:
        """The titles of `path`."""
        return tuple(self.headings[number].title for number in self.path(heading))

    def holds(self, heading: int, kept: Collection[int] | None) -> bool:
        """Whether one of the passages `kept` (None: all) stands below `heading`."""
        return kept is None or any(place in kept for place in self.below(heading))

    def below(self, heading: int) -> range:
        """The places of all passages below `heading`."""
        return range(self.headings[heading].first, self.headings[heading].last)


def outline_tree(outline: Outline) -> OutlineTree:
    """The trees of `outline`.

    A heading ends where the path of a passage no longer holds it: two headings of the same words stay two.
    """
    growing = _Growing()
    for _, places in groupby(outline.places, key=lambda place: place.document):
        growing.document(list(places))
    at = {place.id: number for number, place in enumerate(growing.places)}
    return OutlineTree(growing.places, growing.headings, growing.above, at)


class _Growing:
    def __init__(self) -> None:
        self.places: list[Place] = []
        self.headings: list[Heading] = []
        self.above: list[int | None] = []

    def document(self, places: Sequence[Place]) -> None:
        before = len(self.headings)
        open_now: list[int] = []
        for place in places:
            open_now = self._opened(open_now, place)
            number = len(self.places)
            for heading in open_now:
                self.headings[heading].last = number + 1
            self.above.append(open_now[-1] if open_now else None)
            self.places.append(place)
        self._measure(before)

    def _opened(self, open_now: list[int], place: Place) -> list[int]:
        """The headings above `place`, those among them that `open_now` does not have made anew."""
        same = 0
        while (
            same < min(len(open_now), len(place.headings))
            and self.headings[open_now[same]].title == place.headings[same]
        ):
            same += 1
        opened = open_now[:same]
        for title in place.headings[same:]:
            parent = opened[-1] if opened else None
            opened.append(len(self.headings))
            if parent is not None:
                self.headings[parent].children.append(opened[-1])
            self.headings.append(Heading(title, 0, parent, len(self.places), len(self.places)))
        return opened

    def _measure(self, first: int) -> None:
        """The depths of a document's headings, which are those from `first` on."""
        roots = [heading for heading in self.headings[first:] if heading.parent is None]
        # A single heading over others names the document; one that stands alone is a topic like any other.
        titled = len(roots) == 1 and bool(roots[0].children)
        for heading in self.headings[first:]:
            if heading.parent is None:
                heading.depth = 0 if titled else 1
            else:
                heading.depth = self.headings[heading.parent].depth + 1


# From what a question matches to the parts of documents that answer it.
#
# A region is a heading with what stands below it, or a passage that stands below none. Headings that match by their
# words are regions themselves. A passage that was found stands for the text of its deepest heading, and for everything
# below that heading when no other passage is nearly as good. Where most good passages stand below one heading, in
# several branches of it, that heading is what the question is about, although none of the passages says so alone.

# What is less than half as good as the best says something about another topic.
LEAST_SHARE = 0.5
# Passages almost as good as the best decide together what a question is about: more than half of them, at least four,
# in at least three branches.
STRONG_SHARE = 2 / 3
MOST = 0.5
LEAST_SEEDS = 4
LEAST_BRANCHES = 3


@dataclass(frozen=True)
class Seed:
    """A passage that was found.

    Attributes:
        place: where it stands.
        score: how well it fits, 0 to 1.
        strength: the number by which the search ordered it, as a share of the best one's. Scores may be of different
            kinds within one list (a share of words, a cosine), these are not.
    """

    place: int
    score: float
    strength: float = 1.0


@dataclass
class Region:
    """A part of a document.

    Attributes:
        heading: at its top; None for a passage without one.
        score: of the best that led to it, 0 to 1.
        whole: whether everything below the heading belongs to it, or only the text directly below.
        seeds: the places of the passages that led to it, the best first.
        inner: regions further down that were found as well.
        rank: where the best of what led to it stands among the passages that were found, from 0. A heading stands
            where its score would put it among them.
    """

    heading: int | None
    score: float
    whole: bool
    seeds: list[int] = field(default_factory=list)
    inner: list[Region] = field(default_factory=list)
    rank: int = 0

    def take_in(self, other: Region) -> None:
        """Count what led to `other` as what led to this one."""
        self.score = max(self.score, other.score)
        self.whole = self.whole or (other.whole and other.heading == self.heading)
        self.seeds += [place for place in other.seeds if place not in self.seeds]
        self.rank = min(self.rank, other.rank)


def regions(
    tree: OutlineTree, matched: Sequence[tuple[int, float]], seeds: Sequence[Seed], min_depth: int
) -> list[Region]:
    """The regions that the headings `matched` and the `seeds` lead to, the best first; none lies in another.

    Args:
        tree: of all headings.
        matched: headings with their scores, the best first.
        seeds: passages that were found, the best first.
        min_depth: a heading above this depth is no region.
    """
    found: dict[object, Region] = {}
    for region in (*_of_headings(matched, seeds), *_of_passages(tree, seeds, min_depth)):
        key = region.heading if region.heading is not None else ("passage", *region.seeds)
        if key in found:
            found[key].take_in(region)
        else:
            found[key] = region
    outermost = _outermost(tree, list(found.values()))
    # Python's sort is stable, and headings that match come first.
    return sorted(outermost, key=lambda region: region.rank)


def _of_headings(matched: Sequence[tuple[int, float]], seeds: Sequence[Seed]) -> Iterator[Region]:
    best = max([score for _, score in matched] + [seed.score for seed in seeds], default=0.0)
    for heading, score in matched:
        if score < LEAST_SHARE * best:
            continue
        yield Region(heading, score, True, rank=sum(seed.score > score for seed in seeds))


def _of_passages(tree: OutlineTree, seeds: Sequence[Seed], min_depth: int) -> Iterator[Region]:
    common = common_heading(tree, seeds, min_depth)
    for rank, seed in enumerate(seeds):
        if seed.strength < LEAST_SHARE:
            continue
        above = tree.above[seed.place]
        whole = rank == 0 and above is not None and _has_no_rival(tree, above, seeds)
        if common is not None and seed.place in tree.below(common):
            above, whole = common, True
        elif above is not None and tree.headings[above].depth < min_depth:
            above = None
        yield Region(above, seed.score, whole, [seed.place], rank=rank)


def _has_no_rival(tree: OutlineTree, heading: int, seeds: Sequence[Seed]) -> bool:
    return all(seed.place in tree.below(heading) for seed in _strong(seeds))


def _strong(seeds: Sequence[Seed]) -> list[Seed]:
    return [seed for seed in seeds if seed.strength >= STRONG_SHARE]


def common_heading(tree: OutlineTree, seeds: Sequence[Seed], min_depth: int) -> int | None:
    """The deepest heading that the strong ones of `seeds` have in common; None when they have none."""
    strong = _strong(seeds)
    branches: dict[int, set[int | None]] = defaultdict(set)
    counts: dict[int, int] = defaultdict(int)
    for seed in strong:
        above = tree.above[seed.place]
        path = tree.path(above) if above is not None else []
        for number, below in zip(path, [*path, None][1:], strict=True):
            branches[number].add(below)
            counts[number] += 1
    common = [
        number
        for number, count in counts.items()
        if tree.headings[number].depth >= min_depth
        and count > MOST * len(strong)
        and count >= LEAST_SEEDS
        and len(branches[number]) >= LEAST_BRANCHES
    ]
    return max(common, key=lambda number: (tree.headings[number].depth, -number), default=None)


def _outermost(tree: OutlineTree, found: Sequence[Region]) -> list[Region]:
    """`found` with every region that lies in a whole other one taken into that."""
    by_heading = {region.heading: region for region in found if region.heading is not None and region.whole}
    kept: list[Region] = []
    for region in found:
        path = tree.path(region.heading) if region.heading is not None else []
        outer = next((by_heading[number] for number in path[:-1] if number in by_heading), None)
        # What fits better than the whole stands before it.
        if outer is None or outer.score < region.score:
            kept.append(region)
        else:
            outer.inner.append(region)
            outer.take_in(region)
    return kept

"""One search: each stage scores the sections, and what reaches a threshold is put in one order."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from groundgraph.core.filters import matches
from groundgraph.search.rank import CHUNKS, K1, Question, Scorer
from groundgraph.settings.search import RetrieverSettings, StageName
from groundgraph.sources.cascade.knowledge import Knowledge
from groundgraph.sources.cascade.read_file import Section
from groundgraph.text.lemmatizer import Lemmatizer, lemmas, query_lemmas
from groundgraph.text.words import bm25, words

# Sections by the words that they hold, and by the words of their keywords in the order in which these stand.

Phrase = tuple[str, ...]


@dataclass(frozen=True)
class SectionWords:
    """The lemmas of a section: those of the facts, and those of title and keywords."""

    body: Sequence[str]
    headings: Sequence[str]


class SectionIndex:
    """Finds sections by number, their place in `knowledge.sections`.

    Attributes:
        knowledge: what is indexed.
        lemmas: per section.
        postings: per lemma, the sections that hold it with how often, as `Scorer` counts.
        phrases: the keywords and titles, each with its sections.
        phrase_lengths: per first word, how many words the keywords and titles have that begin with it.
    """

    def __init__(self, knowledge: Knowledge, lemmatizer: Lemmatizer) -> None:
        self.knowledge = knowledge
        self.lemmas: list[SectionWords] = []
        self.postings: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self.phrases: dict[Phrase, set[int]] = defaultdict(set)
        self.phrase_lengths: dict[str, set[int]] = defaultdict(set)
        self._everything = range(len(knowledge.sections))
        for number, section in enumerate(knowledge.sections):
            named = tuple(text for text in (section.title, *section.keywords) if text)
            heading = [lemma for text in named for lemma in lemmas(text, lemmatizer)]
            self._add(number, SectionWords(lemmas(section.content, lemmatizer), heading))
            for text in named:
                phrase = tuple(words(text))
                if phrase:
                    self.phrases[phrase].add(number)
                    self.phrase_lengths[phrase[0]].add(len(phrase))
        self._metadata = [section.metadata() for section in knowledge.sections]
        self._average_length = sum(map(self.length, self._everything)) / max(1, len(self.lemmas))

    def _add(self, number: int, held: SectionWords) -> None:
        self.lemmas.append(held)
        for lemma in held.body:
            self.postings[lemma][number] += 1
        for lemma in held.headings:
            self.postings[lemma][number] += CHUNKS.above_weight

    def length(self, number: int) -> int:
        """How many lemmas a section has."""
        held = self.lemmas[number]
        return len(held.body) + len(held.headings)

    def allowed(self, categories: Collection[str] | None, *filters: Mapping[str, object]) -> Collection[int]:
        """The sections in one of `categories`, None for any, that satisfy each of the checked `filters`."""
        if categories is None and not any(filters):
            return self._everything
        return {
            number
            for number, section in enumerate(self.knowledge.sections)
            if (categories is None or section.category in categories)
            and all(matches(each, self._metadata[number]) for each in filters)
        }

    def question(self, asked: Sequence[str]) -> Question:
        """The lemmas `asked` among all sections: what a section is worth does not depend on categories and filters."""
        df = {lemma: len(self.postings[lemma]) for lemma in asked if lemma in self.postings}
        return Question(asked, df, len(self.lemmas), self._average_length)


# The best sections by BM25 that are ranked in full, the nearest by vector that are looked at.
RANKED = 256
NEAREST = 256
# For relevance the sections count as so many at least: among a few dozen, how rare a word is says little, and one that
# stands in half of them would weigh nothing. So words weigh alike there, and by their rarity in large collections.
LARGE = 1_000
# Of a pasted page that many words are searched for, the rarest.
MAX_LEMMAS = 64


@dataclass
class StageScores:
    """What one stage says of the sections that it looked at, by their number.

    Attributes:
        raw: the raw scores.
        order: the numbers by which the stage alone would order them.
        candidates: how many sections it gave a score; `raw` may hold only the best of them.
        average: of the cosines of all sections, 0 for other stages.
    """

    raw: dict[int, float] = field(default_factory=dict)
    order: dict[int, float] = field(default_factory=dict)
    candidates: int = 0
    average: float = 0.0

    def hits(self, threshold: float) -> set[int]:
        """The sections that reach `threshold`."""
        return {number for number, score in self.raw.items() if score >= threshold}


class Search:
    """One question to one state of the knowledge; every method blocks.

    Args:
        index: the sections.
        text: the question.
        allowed: the sections that may be found, by number.
        settings: how to search.
        lemmatizer: that of `index`.
    """

    def __init__(
        self,
        index: SectionIndex,
        text: str,
        allowed: Collection[int],
        settings: RetrieverSettings,
        lemmatizer: Lemmatizer,
    ) -> None:
        self._index = index
        self._lemmatizer = lemmatizer
        self._words = words(text)
        self.allowed = allowed
        self.settings = settings
        asked = index.question(query_lemmas(text, lemmatizer))
        self.question = _rarest(asked)
        self._weigh(asked)
        self.scorer = Scorer(self.question)
        self.scores: dict[StageName, StageScores] = {}
        self._cosines: Any = None

    def _weigh(self, asked: Question) -> None:
        """What each lemma weighs for relevance; of those that are not searched for, the ones that nothing holds count,
        so that one word in a page about something else stays one word in a page."""
        cut = asked.df.keys() - self.question.df.keys()
        weights = replace(asked, texts=max(asked.texts, LARGE)).relevance_weights()
        self._weights = {lemma: weight for lemma, weight in weights.items() if lemma not in cut}
        self._weight = sum(self._weights.values())
        known = sum(self._weights[lemma] for lemma in self.question.df)
        # What is said around a keyword, such as a greeting, stands in no section and should not count against it in
        # full, as it does in the share of words: see `SearchResult.relevance`.
        self._keyword_factor = math.sqrt(self._weight / known) if known else 1.0

    @property
    def sections(self) -> Sequence[Section]:
        """All sections, by number."""
        return self._index.knowledge.sections

    def run_exact(self) -> StageScores:
        """Counts the keywords and titles of a section that stand in the question, word for word."""
        phrases: dict[int, set[Phrase]] = defaultdict(set)
        for phrase in self._standing():
            for number in self._index.phrases.get(phrase, ()):
                if number in self.allowed:
                    phrases[number].add(phrase)
        raw = {number: float(len(found)) for number, found in phrases.items()}
        shares = {number: self._covered(found) for number, found in phrases.items()}
        self.scores["exact"] = StageScores(raw, shares, len(raw))
        return self.scores["exact"]

    def _standing(self) -> set[Phrase]:
        """The runs of words in the question that may be a keyword, each once."""
        lengths = self._index.phrase_lengths
        return {
            tuple(self._words[place : place + length])
            for place, word in enumerate(self._words)
            for length in lengths.get(word, ())
        }

    def _covered(self, phrases: Collection[Phrase]) -> float:
        """The share of the question's weight that the words of `phrases` have."""
        lemma = self._lemmatizer.lemma
        return self._part({lemma(word) for phrase in phrases for word in phrase} & self._weights.keys())

    def _part(self, lemmas: Iterable[str]) -> float:
        """The share of the question's weight that some of its lemmas have, rounded so that one in five is 0.2."""
        return round(sum(self._weights[lemma] for lemma in lemmas) / self._weight, 9) if self._weight else 0.0

    def run_lemma(self) -> StageScores:
        """The share of the question's lemmas that a section holds; BM25 and nearness of the words order."""
        sums = self._bm25()
        best = heapq.nsmallest(RANKED, sums, key=lambda number: (-sums[number], number))
        raw = {number: self._share(number) for number in best}
        order = {number: self._rank(number) for number in best}
        self.scores["lemma"] = StageScores(raw, order, len(sums))
        return self.scores["lemma"]

    def _bm25(self) -> dict[int, float]:
        sums: dict[int, float] = defaultdict(float)
        average = self.question.average_length
        for lemma, weight in self.question.ranking_weights().items():
            for number, frequency in self._index.postings.get(lemma, {}).items():
                if number in self.allowed:
                    sums[number] += weight * bm25(frequency, self._index.length(number), average, k1=K1)
        return sums

    def _share(self, number: int) -> float:
        return self._part(lemma for lemma in self.question.df if number in self._index.postings[lemma])

    def _rank(self, number: int) -> float:
        held = self._index.lemmas[number]
        return self.scorer.score(held.body, held.headings)

    def run_semantic(self, cosines: Any) -> StageScores:
        """The cosines of question and sections: an array with one number per section, NaN for one without a vector."""
        import numpy as np

        numbers = np.asarray(sorted(self.allowed), dtype=np.intp)
        numbers = numbers[~np.isnan(cosines[numbers])]
        known = cosines[numbers]
        nearest = numbers[np.argsort(-known, kind="stable")[:NEAREST]]
        raw = {number: float(cosines[number]) for number in nearest.tolist()}
        average = float(known.mean()) if len(known) else 0.0
        self.scores["semantic"] = StageScores(raw, raw, len(numbers), average)
        self._cosines = cosines
        return self.scores["semantic"]

    def complete(self) -> None:
        """Gives every section that a stage found the scores of the other stages that ran, so that nothing is punished
        for standing outside the beginning of a list."""
        found = {number for scores in self.scores.values() for number in scores.raw}
        if lemma := self.scores.get("lemma"):
            for number in found - lemma.raw.keys():
                lemma.raw[number], lemma.order[number] = self._share(number), self._rank(number)
        if semantic := self.scores.get("semantic"):
            for number in found - semantic.raw.keys():
                # Not equal to itself: NaN, of a section that has no vector.
                if (cosine := float(self._cosines[number])) == cosine:
                    semantic.raw[number] = cosine

    def relevance(self, number: int) -> float:
        """See `SearchResult.relevance`."""
        exact, lemma, semantic = (self.scores.get(stage, StageScores()) for stage in ("exact", "lemma", "semantic"))
        keywords = exact.order.get(number, 0.0) * self._keyword_factor
        found = (keywords, lemma.raw.get(number, 0.0), semantic.raw.get(number, 0.0))
        return min(1.0, max(0.0, *found))


def _rarest(question: Question) -> Question:
    if len(question.stems) <= MAX_LEMMAS:
        return question
    kept = set(sorted(question.df, key=lambda lemma: (question.df[lemma], lemma))[:MAX_LEMMAS])
    df: Mapping[str, int] = {lemma: count for lemma, count in question.df.items() if lemma in kept}
    stems: Sequence[str] = [lemma for lemma in question.stems if lemma in kept]
    return replace(question, stems=stems, df=df)

"""Sections by the words that they hold, and by the words of their keywords in the order in which these stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from groundgraph.core.filters import matches
from groundgraph.core.lemmatizer import Lemmatizer, lemmas
from groundgraph.core.text import words
from groundgraph.search.question import Question
from groundgraph.search.scorer import CHUNKS
from groundgraph.sources.cascade.knowledge import Knowledge

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

    def allowed(self, categories: Collection[str] | None, filters: Mapping[str, object]) -> Collection[int]:
        """The sections in one of `categories`, None for any, that satisfy the checked `filters`."""
        if categories is None and not filters:
            return self._everything
        return {
            number
            for number, section in enumerate(self.knowledge.sections)
            if (categories is None or section.category in categories) and matches(filters, self._metadata[number])
        }

    def question(self, asked: Sequence[str]) -> Question:
        """The lemmas `asked` among all sections: what a section is worth does not depend on categories and filters."""
        df = {lemma: len(self.postings[lemma]) for lemma in asked if lemma in self.postings}
        return Question(asked, df, len(self.lemmas), self._average_length)

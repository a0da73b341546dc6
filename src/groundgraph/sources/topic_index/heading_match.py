"""Which headings a question names, by their words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from groundgraph.core.lexical import idf
from groundgraph.core.text import fold, stem, stop_words, words
from groundgraph.core.topic_settings import HeadingMatchSettings
from groundgraph.sources.topic_index.outline_tree import OutlineTree

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

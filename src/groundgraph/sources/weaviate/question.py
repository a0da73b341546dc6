"""A question in the terms of a collection: what is sent to its text index, and how its stems are weighted."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from groundgraph.core.text import WORD, query_stems, stem, words
from groundgraph.search.question import Question
from groundgraph.sources.weaviate.statistics import Statistics

# A pasted page is no question; of its words the first are searched for.
MAX_TERMS = 64


@dataclass(frozen=True)
class Terms:
    """The words of a question.

    Attributes:
        stems: the distinct stems of its content words, in order.
        sent: for each stem the terms under which the text index holds it: the stem itself where stems are stored,
            else the words of the question that have it, since Weaviate knows no stems.
    """

    stems: Sequence[str]
    sent: dict[str, list[str]]

    def query(self) -> str:
        """What the text index is asked for; empty when there is nothing to ask."""
        return " ".join(self.terms())

    def terms(self) -> list[str]:
        """All terms, each once."""
        return list(dict.fromkeys(term for terms in self.sent.values() for term in terms))[:MAX_TERMS]

    def weighed(self, statistics: Statistics, average_length: float) -> Question:
        """The question with the frequencies of its stems; with several terms the most frequent one counts."""
        df = {stem: max((statistics.frequency(term) for term in terms), default=0) for stem, terms in self.sent.items()}
        return Question(
            self.stems, {stem: count for stem, count in df.items() if count}, statistics.objects, average_length
        )


def terms_of(text: str, *, stored_stems: bool) -> Terms:
    """The terms of `text`."""
    found = query_stems(text)[:MAX_TERMS]
    if stored_stems:
        return Terms(found, {own: [own] for own in found})
    sent: dict[str, list[str]] = {own: [] for own in found}
    # As they are written: Weaviate keeps accents and the letter ё, which stems do not have.
    for written in dict.fromkeys(WORD.findall(unicodedata.normalize("NFC", text))):
        for own in {stem(word) for word in words(written)}:
            if own in sent:
                sent[own].append(written)
    return Terms(found, sent)

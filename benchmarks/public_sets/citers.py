"""What quotes and baselines cite, to hold the sentences that the product cites for an answer against."""

from __future__ import annotations

from groundgraph.answers.quotes import select_quotes
from groundgraph.evals.dataset import Passage, Query
from groundgraph.evals.measures import as_evidence, places_within
from groundgraph.text.words import words

# The baselines: sentences of which half of the words stand in the answer; three that share most with the question.
OVERLAP = 0.5
MOST_SHARED = 3


def by_word_overlap(query: Query, answer: str, passage: Passage) -> set[int]:
    """The baseline: sentences of which half of the words stand in the answer."""
    said = set(words(answer))
    own = [set(words(sentence)) for sentence in passage.sentences]
    return {place for place, held in enumerate(own) if held and len(held & said) >= OVERLAP * len(held)}


def by_quotes(query: Query, answer: str, passage: Passage) -> set[int]:
    """What the product quotes for the question alone, as an answer without a model."""
    quotes = select_quotes(query.question, [as_evidence(passage)])
    return places_within(passage, [(quote.start, quote.end) for quote in quotes])


def by_shared_words(query: Query, answer: str, passage: Passage) -> set[int]:
    """The baseline of quotes: the three sentences that share most words with the question."""
    asked = set(words(query.question))
    shared = [len(asked & set(words(sentence))) for sentence in passage.sentences]
    return set(sorted(range(len(shared)), key=lambda place: -shared[place])[:MOST_SHARED])

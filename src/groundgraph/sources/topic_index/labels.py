"""The words that tell a group of texts from others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from groundgraph.core.lexical import idf
from groundgraph.core.text import fold, stem, stop_words, words


def labels(
    groups: Sequence[Sequence[str]], *, top_terms: int, min_word_length: int, stopwords: Sequence[str] | None = None
) -> list[str]:
    """A label for each of `groups`: its most telling words, joined by commas; empty when it has none.

    A word counts by the number of the group's texts that hold it, times how rare it is in those of the other groups.
    Forms of one word count together and are shown as the most frequent of them.

    Args:
        groups: the texts of each group.
        top_terms: words in a label, at most.
        min_word_length: shorter words, and numbers, are left out.
        stopwords: left out as well; those that groundgraph knows when None.
    """
    skip = stop_words() if stopwords is None else {word for given in stopwords for word in words(fold(given))}

    def forms(text: str) -> Counter[str]:
        return Counter(
            word for word in words(text) if len(word) >= min_word_length and word not in skip and not word.isdigit()
        )

    counted = [[forms(text) for text in texts] for texts in groups]
    everything = [{stem(word) for word in text} for texts in counted for text in texts]
    held = Counter(one for text in everything for one in text)
    return [_label(texts, held, len(everything), top_terms) for texts in counted]


def _label(texts: Sequence[Counter[str]], held: Counter[str], total: int, top_terms: int) -> str:
    holding = Counter(one for text in texts for one in {stem(word) for word in text})
    others = total - len(texts)
    ranked = sorted(holding, key=lambda one: (-holding[one] * idf(others, held[one] - holding[one]), one))
    every_form: Counter[str] = sum(texts, Counter())
    shown: list[str] = []
    for one in ranked[:top_terms]:
        own = [word for word in every_form if stem(word) == one]
        shown.append(min(own, key=lambda word: (-every_form[word], word)))
    return ", ".join(shown)

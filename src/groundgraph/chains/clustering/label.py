"""What a cluster is about, in its own words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from groundgraph.core.text import stem, stop_words, words

TERMS = 3
MIN_LETTERS = 3


def labels(groups: Sequence[Sequence[str]], texts: Sequence[str]) -> list[str]:
    """For each group of texts its three most telling words, joined by ", "; an empty string for one without words.

    A stem counts by tf * idf: the share of the group's texts that hold it, times ln((1 + n) / (1 + df)) + 1 over all
    `texts`. It is shown in the form that is most frequent in the group. Deterministic: of equals the more frequent
    one, then the first in the alphabet.
    """
    held = Counter(one for text in texts for one in {stem(word) for word in _terms(text)})
    return [", ".join(_telling(group, held, len(texts))) for group in groups]


def _telling(group: Sequence[str], held: Counter[str], total: int) -> list[str]:
    forms: dict[str, Counter[str]] = {}
    in_texts: Counter[str] = Counter()
    for text in group:
        found = _terms(text)
        in_texts.update({stem(word) for word in found})
        for word in found:
            forms.setdefault(stem(word), Counter())[word] += 1

    def worth(one: str) -> tuple[float, int, str]:
        idf = math.log((1 + total) / (1 + held[one])) + 1
        return (-in_texts[one] / len(group) * idf, -forms[one].total(), one)

    return [min(forms[one], key=lambda word: (-forms[one][word], word)) for one in sorted(forms, key=worth)[:TERMS]]


def _terms(text: str) -> list[str]:
    """The words of `text` that can stand in a label: no stop words, no numbers, nothing very short."""
    skip = stop_words()
    return [word for word in words(text) if word not in skip and len(word) >= MIN_LETTERS and not word.isdigit()]

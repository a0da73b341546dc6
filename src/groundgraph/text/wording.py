"""Whether a question in other words, as a model put it, still asks about the same."""

from __future__ import annotations

import re

from groundgraph.text.words import fold, numbered

# What is named with underscores, such as a function.
JOINED = re.compile(r"\b[^\W_]\w*_\w+")
LETTER_AND_DIGIT = re.compile(r"[^\W\d_][-_/－﹣−]?\d")


def codes_in(text: str) -> list[str]:
    """What `text` names by letters with digits or underscores, such as R7 or `max_size`."""
    if not (JOINED.search(text) or LETTER_AND_DIGIT.search(text)):
        return []
    # Loaded with the first question that may have one: to look for it among dates and numbers takes long.
    from groundgraph.text.quantities import quantities

    return [code for code in quantities(text).codes if code[0].isalpha()] + JOINED.findall(text)


def marks_in(text: str) -> frozenset[str]:
    """The codes of `text`, and the numbers that stand behind a word, as in "pump 17"."""
    return frozenset([*map(fold, codes_in(text)), *(number for _, number in numbered(text))])


def names_another(wording: str, said: str) -> bool:
    """Whether `wording` has another number behind a word than what was `said`, or another code: pump 18 for pump 21."""
    known: dict[str, set[str]] = {}
    for word, number in numbered(said):
        known.setdefault(word, set()).add(number)
    if any(number not in known.get(word, {number}) for word, number in numbered(wording)):
        return True
    own, others = set(map(fold, codes_in(said))), set(map(fold, codes_in(wording)))
    return not (own <= others or others <= own)

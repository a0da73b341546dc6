"""Whether a question in other words, as a model put it, still asks about the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from groundgraph.text.words import fold, numbered, stems, words

# Of the questions of a turn each is asked about several times.
_KEPT = 1024
# What is named with underscores, such as a function.
_JOINED = re.compile(r"\b[^\W_]\w*_\w+")
_LETTER_AND_DIGIT = re.compile(r"[^\W\d_][-_/－﹣−]?\d")


@lru_cache(maxsize=_KEPT)
def named_codes(text: str) -> tuple[str, ...]:
    """What `text` names by letters with digits or underscores, such as R7 or `max_size`."""
    if not (_JOINED.search(text) or _LETTER_AND_DIGIT.search(text)):
        return ()
    # Loaded with the first question that may have one: to look for it among dates and numbers takes long.
    from groundgraph.text.quantities import quantities

    return (*(code for code in quantities(text).codes if code[0].isalpha()), *_JOINED.findall(text))


def held_codes(codes: Sequence[str], text: str) -> list[str]:
    """Those of `codes` that stand in `text`, whatever joins their parts: HTTP/2 in `http2`."""
    from groundgraph.text.quantities import holds_code, squeezed

    written = squeezed(text) if codes else ""
    return [code for code in codes if holds_code(written, code)]


@lru_cache(maxsize=_KEPT)
def code_name_stems(text: str) -> tuple[tuple[str, ...], ...]:
    """The stems of what `text` names with underscores, such as `max_size`; of those that have several."""
    named = (tuple(stems(name)) for name in _JOINED.findall(text))
    return tuple(name for name in named if len(name) > 1)


@lru_cache(maxsize=_KEPT)
def marks_in(text: str) -> frozenset[str]:
    """The codes of `text`, and the numbers that stand behind a word, as in "pump 17"."""
    return frozenset([*map(fold, named_codes(text)), *(number for _, number in numbered(text))])


@lru_cache(maxsize=_KEPT)
def names_another(wording: str, said: str) -> bool:
    """Whether `wording` has another number behind a word than what was `said`, or another code: pump 18 for pump 21."""
    named, spoken = {word for word, _ in numbered(said)}, set(words(said))
    if any(word in named and number not in spoken for word, number in numbered(wording)):
        return True
    own, others = set(map(fold, named_codes(said))), set(map(fold, named_codes(wording)))
    return not (own <= others or others <= own)


_RANGE = re.compile(r"\b(\d{1,9})\s?(?:[-–—]|to|bis|до|à|hasta)\s?(\d{1,9})\b")
# A longer range is none of things that have a number each.
_MOST_IN_RANGE = 100


def with_ranges_listed(text: str) -> str:
    """`text` with each number of a range such as "17 to 19"."""
    return _RANGE.sub(_listed, text)


def _listed(found: re.Match[str]) -> str:
    first, last = map(int, found.groups())
    return " ".join(map(str, range(first, last + 1))) if 0 < last - first < _MOST_IN_RANGE else found.group()

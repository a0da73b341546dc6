"""What a text names: codes and versions, dotted names, the terms of its entries and headings, things with numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from groundgraph.text.words import fold, numbered, stems, words

# Of the questions of a turn each is asked about several times.
_KEPT = 1024
# What is named with underscores, such as a function.
_JOINED = re.compile(r"\b[^\W_]\w*_\w+")
# Numbers with full stops between them.
_VERSION = re.compile(r"(?<![\w.])\d+(?:\.\d+)+(?!\w)")
# What is named with a full stop within it or before it, such as a file, an attribute or a version: `.env`,
# `httpx.Client`, 4.2.
_DOTTED = re.compile(r"(?<![\w.])(?:(?:\.[^\W\d_]\w+|[^\W\d_]\w*\.[^\W\d_])(?:\w|\.(?=[^\W\d_]))*|\d+(?:\.\d+)+(?!\w))")
# Names of code written without underscores: CORSMiddleware, getUser; no abbreviation in the plural, as CPUs is.
_INNER_CAPITALS = re.compile(r"\b(?=[^\W_]*(?:[a-z][A-Z]|[A-Z]{2}[a-z]{2}))[^\W_]{4,}\b")
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
def dotted_names(text: str) -> frozenset[str]:
    """What `text` names with a full stop, such as `.env` and `httpx.Client`, folded."""
    return frozenset(map(fold, _DOTTED.findall(text))) if "." in text else frozenset()


@lru_cache(maxsize=_KEPT)
def code_name_stems(text: str) -> tuple[tuple[str, ...], ...]:
    """The stems of what `text` names with capitals within, such as GZipMiddleware, and of those that have several with
    underscores, such as `max_size`, and of versions such as 3.1.0."""
    named = (tuple(stems(name)) for name in (*_JOINED.findall(text), *_DOTTED.findall(text), *_VERSION.findall(text)))
    whole = (tuple(stems(name)) for name in _INNER_CAPITALS.findall(text))
    return (*(name for name in named if len(name) > 1), *filter(None, whole))


# A term and what sets it apart from what is told of it: a colon or a dash.
_NAMED, _APART = r"([^\n:–—]{2,60}?)[*`_]{0,3}", r"\n?:[*`_]{0,3}\s| [–—-] "
TERM_OF_ITEM = re.compile(rf"{_NAMED}(?:{_APART})")
# Or, but for an item of a list, which goes on so, a line of its own above one that is set in far enough for no
# paragraph.
TERM = re.compile(rf"{_NAMED}(?:{_APART}|\n {{4,}})")
_ITEM = r"(?:[-*+•]|\d{1,2}[.)])[ \t]+"
_ENTRY = re.compile(rf"^[ \t]*(?:{_ITEM}{TERM_OF_ITEM.pattern}|(?!{_ITEM}){TERM.pattern})", re.MULTILINE)
_FENCED = re.compile(r"^[ \t]*```[\s\S]*?(?:^[ \t]*```|\Z)", re.MULTILINE)
# Longer ones are the beginnings of sentences; a text that tells of more is a list of something else.
_TERM_STEMS, _MOST_TERMS = 4, 12


# Behind a name at the end of a heading its short form: "Non-Maintainer Uploads (NMUs)".
_SHORT_FORM = re.compile(r"(\S[^()]*?)[ \t]\(([^()]{2,40})\)\s*")


def heading_names(heading: str) -> list[str]:
    """The two names that `heading` gives what it is about, one of them in brackets; none when it gives one."""
    found = _SHORT_FORM.fullmatch(heading)
    return [name.strip() for name in found.groups()] if found else []


def entry_terms(text: str) -> list[list[str]]:
    """The stems of each term that `text` tells of in a line or an item of a list, outside of code."""
    found = (stems(found[1] or found[2]) for found in islice(_ENTRY.finditer(_FENCED.sub("", text)), _MOST_TERMS))
    return [one for one in found if 0 < len(one) <= _TERM_STEMS]


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

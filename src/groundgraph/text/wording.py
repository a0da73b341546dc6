"""Whether other words say the same: a question as a model put it, and other forms of a word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
    """The stems of what `text` names with underscores, such as `max_size`, and of versions such as 3.1.0; of those that
    have several."""
    named = (tuple(stems(name)) for name in (*_JOINED.findall(text), *_DOTTED.findall(text), *_VERSION.findall(text)))
    return tuple(name for name in named if len(name) > 1)


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


# Forms of a word that stands nowhere: its inflections, what it is a slip of, and the last part of it.

# Two stems of which as many letters from the first are the same are forms of one word: of "fund" and "founder" not, of
# "Urlaub" and "Urlaubstage" they are. The stems of all Latin languages are English's, and no list holds compounds.
SAME_BEGINNING = 5
# What is longer is no word, and a page that somebody pastes holds more words: neither is told in other forms.
LONGEST_WORD, MOST_WORDS = 40, 64
# To be searched for in place of the word, these must be this share of the longer one as well: "Betriebsarzt" is no
# "Betriebsordnung".
SAME_SHARE = 0.6
# A slip is a letter too many, missing, wrong or swapped behind the first two; two are in a word as long as this.
LONG_WORD, RIGHT_LETTERS = 8, 2
# So many forms of a word that stands nowhere are looked for in its place.
MOST_FORMS = 4
# What no word begins with stands behind all that do with another.
LAST_CHARACTER = chr(0x10FFFF)
# Letters before the last part of a compound, which is at least `SAME_BEGINNING` long.
FIRST_PART = 3


def has_forms(stem: str) -> bool:
    """Whether `stem` is a word, and long enough to be told in another form."""
    return SAME_BEGINNING <= len(stem) <= LONGEST_WORD and stem.isalpha()


def with_forms(asked: Sequence[str]) -> list[str]:
    """Those of the stems of a question that have forms; none of a page that somebody pasted."""
    return list(filter(has_forms, asked)) if len(asked) <= MOST_WORDS else []


def is_slip(stem: str, word: str) -> bool:
    """Whether of two stems, of which the first `has_forms`, one is a slip of the other."""
    return _slips(stem, word) is not None


def slip_range(stem: str) -> tuple[str, str, int, int]:
    """The word before and the one behind all that a slip of `stem` can be, and how long it is at least and at most."""
    begun, most = stem[:RIGHT_LETTERS], _most_slips(stem)
    return begun, begun + LAST_CHARACTER, len(stem) - most, len(stem) + most


def last_parts(stem: str) -> list[str]:
    """What the last part of `stem` may be, were it a compound: of "Jahresurlaub" it is "urlaub"."""
    last = len(stem) - SAME_BEGINNING
    return [stem[at:] for at in range(FIRST_PART, last + 1)] if LONG_WORD <= len(stem) <= LONGEST_WORD else []


def nearest_forms(stem: str, words: Iterable[str]) -> list[str]:
    """Those of the stems `words` that are forms of `stem`, the nearest first: slips, inflections, its last part."""
    if not has_forms(stem):
        return []
    begun, parts = stem[:RIGHT_LETTERS], frozenset(last_parts(stem))
    # Of the words of ten texts few begin alike.
    alike = [word for word in words if word[:RIGHT_LETTERS] == begun or word in parts]
    near = ((_distance(stem, word, parts), word) for word in alike if word.isalpha())
    return [word for distance, word in sorted(near) if distance < _FAR]


_FAR = (3, 0)


def _distance(stem: str, word: str, parts: frozenset[str]) -> tuple[int, int]:
    """How far `word` is from `stem`, by the kind of form first; `_FAR` where it is none."""
    if (slips := _slips(stem, word)) is not None:
        return 0, slips
    longer = max(len(stem), len(word))
    if (same := _same_beginning(stem, word)) >= max(SAME_BEGINNING, SAME_SHARE * longer):
        return 1, len(stem) + len(word) - 2 * same
    return (2, -len(word)) if word in parts else _FAR


def _same_beginning(one: str, other: str) -> int:
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def _most_slips(stem: str) -> int:
    return 2 if len(stem) >= LONG_WORD else 1


def _slips(stem: str, word: str) -> int | None:
    """How many slips lie between two stems (optimal string alignment); None where they are too many for one word."""
    if word[:RIGHT_LETTERS] != stem[:RIGHT_LETTERS]:
        return None
    # Most questions have no word that stands nowhere: for them the library is not loaded.
    from rapidfuzz.distance import OSA

    most = _most_slips(stem)
    slips = int(OSA.distance(stem, word, score_cutoff=most))
    return slips if slips <= most else None

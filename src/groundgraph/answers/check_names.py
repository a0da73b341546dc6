"""Whether the names of an answer stand in its evidence or in the question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from groundgraph.answers.claims import CheckedAnswer, bare, named_text
from groundgraph.answers.prose_gate import CODE
from groundgraph.answers.sentence_index import stems_of
from groundgraph.core.turn_values import Flag
from groundgraph.text.numbers import month_of, unit_of
from groundgraph.text.words import fold, stem, stop_words, words

_PART = r"[^\W\d_a-zа-яё][^\W_]*(?:[’'-][^\W\d_]+)*"
_CAPITAL = r"(?=[A-ZÀ-ÖØ-ÞА-ЯЁ])"
_NAME = re.compile(rf"(?<![\w@/.'’-]){_CAPITAL}{_PART}(?:[ \t]{_CAPITAL}{_PART})*")
_ACRONYM = re.compile(r"[A-ZА-ЯЁ]{2,6}s?")
# Behind these a capital begins a sentence, an item or a quotation, and says nothing about a name.
_BEGINS = frozenset('.!?:;…\n>|*_#"“«„([—–-')
# And a few words before a colon at the beginning are a heading.
_LEADS_IN = re.compile(r"(?:\s++[\w'’-]++){0,3}+[*_]*+:")
_TITLE_SHARE = 0.75


def check_names(answer: CheckedAnswer) -> list[Flag]:
    """A flag `name_unsupported` for every name that stands neither in the evidence nor in the question.

    Names are words with a capital within a sentence, several in a row as one, and acronyms. They are compared by stem,
    so that a Russian name is found in another case; an acronym also counts as found where its words stand.
    """
    named = [(claim, name) for claim in answer.claims for name in dict.fromkeys(names_in(claim.text))]
    if not named:
        return []
    texts = [named_text(result) for result in answer.evidence.values()]
    known = answer.asked.union(*map(_known, texts))
    initials = [_initials(text) for text in (*texts, answer.written)]
    return [
        claim.flag("name_unsupported", f"{name} stands neither in the evidence nor in the question")
        for claim, name in named
        if not _is_known(name, known, initials)
    ]


def names_in(sentence: str) -> Iterator[str]:
    """The names in `sentence`."""
    text = CODE.sub(" ` ", bare(sentence))
    if _is_title(text):
        return
    for found in _NAME.finditer(text):
        before = text[max(0, found.start() - 20) : found.start()].rstrip(" \t")
        name = found.group()
        if not before or before[-1] in _BEGINS:
            if _LEADS_IN.match(text, found.end()):
                continue
            name = _named_at_beginning(name)
        parts = list(filter(_names, name.split()))
        if any(len(part) > 1 for part in parts):
            yield " ".join(parts)


def _named_at_beginning(words: str) -> str:
    """`words` without the first, which has its capital for another reason, unless the next one has one too."""
    first, _, others = words.partition(" ")
    if others and fold(first) not in stop_words():
        return words
    return others or (words if _ACRONYM.fullmatch(words) else "")


def _names(part: str) -> bool:
    """Whether a word is more than a stop word, a month or a unit; a code is looked for where the numbers are."""
    return not (fold(part) in stop_words() or month_of(part) or unit_of(part) or any(map(str.isdigit, part)))


def _is_title(text: str) -> bool:
    """Whether most of the longer words have a capital, as in a heading."""
    longer = re.findall(r"[^\W\d_]{4,}", text)
    return len(longer) > 1 and sum(word[0].isupper() for word in longer) >= _TITLE_SHARE * len(longer)


def _is_known(name: str, known: frozenset[str], initials: Sequence[str]) -> bool:
    return all(_part_is_known(part, known, initials) for part in re.sub(r"[’']s\b", "", name).split())


def _part_is_known(part: str, known: frozenset[str], initials: Sequence[str]) -> bool:
    if all(stem(word) in known for word in words(part)):
        return True
    return _ACRONYM.fullmatch(part) is not None and any(fold(part.rstrip("s")) in text for text in initials)


@lru_cache(maxsize=4096)
def _known(text: str) -> frozenset[str]:
    """The stems of all words, and what they are joined from with a hyphen or an apostrophe."""
    return stems_of(text).union(stem(word) for word in words(text))


@lru_cache(maxsize=4096)
def _initials(text: str) -> str:
    return "".join(word[0] for word in words(text) if word not in stop_words())

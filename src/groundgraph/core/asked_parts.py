"""The parts of a message that ask something, without a model: what stands around a question must not dilute it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from groundgraph.core.text import LANGUAGES, language_data, query_stems, sentences, words

# Of a message with fewer content words, what asks is a good share of the whole, which then finds all of it.
LONG_MESSAGE = 8
# A sentence with fewer content words is asked as a whole: its clauses explain each other.
LONG_SENTENCE = 10
# A part with fewer content words says too little to be searched for by itself.
LEAST_WORDS = 2
MAX_PARTS = 4
# Fewer content words around the only part that asks dilute nothing.
LEAST_AROUND = 3
_BETWEEN_CLAUSES = re.compile(r"[,;:](?=\s)|[()\n—–]")
_WORD_START = re.compile(r"(?<!\w)\w")


@lru_cache(maxsize=1024)
def asked_parts(message: str) -> tuple[str, ...]:
    """The sentences and clauses of `message` that ask, as they stand there; none when it is one question and no more.

    A clause asks when it ends with a question mark or, in a message without one, begins with a word that asks. Two
    questions that are joined by a word such as "and" are two parts. A short message is asked as it is.
    """
    if len(query_stems(message)) < LONG_MESSAGE:
        return ()
    spans = [message[start:end] for start, end in sentences(message)]
    asking = [text for text in spans if text.endswith("?")] or [text for text in spans if _begins_asking(text)]
    clauses = [clause for text in asking or spans for clause in _asking_clauses(text)]
    parts = [part for clause in clauses for part in _joined(clause)]
    telling = [part for part in dict.fromkeys(parts) if len(query_stems(part)) >= LEAST_WORDS][:MAX_PARTS]
    around = len(query_stems(message)) - len(query_stems(" ".join(telling)))
    return tuple(telling) if len(telling) > 1 or around >= LEAST_AROUND else ()


def question_of(message: str) -> str:
    """What `message` asks, without what stands around it: its parts, or all of it when it has none."""
    return " ".join(asked_parts(message)) or message


def _asking_clauses(sentence: str) -> list[str]:
    """A long sentence from its first clause that asks on, when what stands before outweighs that; else the sentence.

    Clauses explain each other, so something is left out only where it makes up most of the content words: then a
    passage with every word of the question shares less than half of the sentence. Where semicolons part the sentence,
    each clause that asks.
    """
    if ";" in sentence:
        clauses = [clause.strip() for clause in _BETWEEN_CLAUSES.split(sentence)]
        return [clause for clause in clauses if clause.endswith("?") or _begins_asking(clause)] or [sentence]
    content = len(query_stems(sentence))
    if content < LONG_SENTENCE:
        return [sentence]
    starts = [0, *(found.end() for found in _BETWEEN_CLAUSES.finditer(sentence))]
    asking = next((sentence[at:].strip() for at in starts if _begins_asking(sentence[at:])), sentence)
    return [asking if 2 * len(query_stems(asking)) < content else sentence]


def _begins_asking(clause: str) -> bool:
    spoken = tuple(words(clause))
    return any(spoken[: len(phrase)] == phrase for phrase in _openings())


def _joined(clause: str) -> Iterator[str]:
    """The questions that are joined in `clause`; `clause` when each by itself would say too little."""
    spoken = list(words(clause))
    starts = [found.start() for found in _WORD_START.finditer(clause)]
    if len(starts) != len(spoken):
        yield clause
        return
    cuts = [
        starts[at]
        for at in range(1, len(spoken) - 1)
        if spoken[at] in _joints() and any(tuple(spoken[at + 1 :])[: len(phrase)] == phrase for phrase in _openings())
    ]
    parts = [clause[start:end].strip() for start, end in zip([0, *cuts], [*cuts, len(clause)], strict=True)]
    if cuts and all(len(query_stems(part)) >= LEAST_WORDS for part in parts):
        yield from parts
    else:
        yield clause


@cache
def _openings() -> tuple[tuple[str, ...], ...]:
    """With what a clause begins that asks."""
    phrases = (
        phrase
        for language in LANGUAGES
        for data in [language_data(language)]
        for phrase in (*data["asks"], *data["asks_for"]["number"], *data["asks_for"]["name"])
    )
    return tuple(dict.fromkeys(tuple(words(phrase)) for phrase in phrases))


@cache
def _joints() -> frozenset[str]:
    """Words that join two questions: the connectives of one word with which a follow-up begins."""
    return frozenset(
        phrase[0]
        for language in LANGUAGES
        for text in language_data(language)["follow_up"]["connectives"]
        if len(phrase := tuple(words(text))) == 1
    )

"""Phrases by which people say what they mean, from the data files of all languages; small talk among them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

from groundgraph.text.words import LANGUAGES, WORD, language_data, stem, stems, words

# Messages that need no retrieval: greetings, farewells, thanks, acknowledgements, and what the bot itself is.

MAX_WORDS = 10
# So many words with a capital letter may end a greeting as a name: "Hi Anna", "Good morning, Anna Schmidt".
NAME_WORDS = 2
ACKNOWLEDGEMENT = "acknowledgement"
# The words with which a remark behind thanks begins, and how many content words it has at most.
REMARKS = "remarks"
REMARK_WORDS = 2


def small_talk(message: str, languages: Sequence[str]) -> str | None:
    """`greeting`, `farewell`, `thanks`, `acknowledgement` or `about` when the whole message is one, else None.

    The first phrase that means something decides, an acknowledgement only where nothing else does; words around it
    must be fillers of the same language, a name at its end, or, behind thanks, a remark that asks nothing and says
    little. Emoji alone acknowledge.
    """
    spoken = tuple(words(message))
    if not spoken:
        return ACKNOWLEDGEMENT if _is_emoji(message) else None
    if len(spoken) > MAX_WORDS:
        return None
    names = _names(message)
    return next((kind for language in languages if (kind := _kind(spoken, language, names))), None)


def _is_emoji(message: str) -> bool:
    return any(unicodedata.category(sign) == "So" for sign in message)


def _names(message: str) -> int:
    """How many words at the end of `message` may be a name; -1 in a question."""
    if "?" in message:
        return -1
    written = [found.group() for found in WORD.finditer(message)]
    count = 0
    while count < min(NAME_WORDS, len(written) - 1) and written[-1 - count].istitle():
        count += 1
    return count


def _kind(spoken: tuple[str, ...], language: str, names: int) -> str | None:
    phrases = _phrases(language)
    found: str | None = None
    position = 0
    while position < len(spoken):
        length = next((n for n in range(MAX_WORDS, 0, -1) if spoken[position : position + n] in phrases), 0)
        if not length:
            is_name = found in ("greeting", "farewell", "thanks") and len(spoken) - position <= names
            return found if is_name or (found == "thanks" and _is_remark(spoken[position:], names)) else None
        kind = phrases[spoken[position : position + length]]
        if kind != "fillers" and found in (None, ACKNOWLEDGEMENT):
            found = kind
        position += length
    return found


def _is_remark(rest: tuple[str, ...], names: int) -> bool:
    """Whether `rest`, behind thanks, is about the one who is thanked or what was got: "you're a lifesaver"."""
    about = rest[0] in language_words("small_talk", REMARKS)
    return about and names >= 0 and len(stems(" ".join(rest))) <= REMARK_WORDS


@cache
def _phrases(language: str) -> dict[tuple[str, ...], str]:
    lists: dict[str, list[str]] = language_data(language, "small_talk")
    return {tuple(words(phrase)): kind for kind, own in lists.items() if kind != REMARKS for phrase in own}


Phrase = tuple[str, ...]

# In a phrase, though not at its beginning: up to so many words of any kind.
GAP = "*"
GAP_WORDS = 3


def spoken_stems(message: str) -> list[str]:
    """The stems of all words of `message`, stop words among them, in order."""
    return [stem(word) for word in words(message)]


@cache
def cue_phrases(*path: str) -> tuple[Phrase, ...]:
    """The phrases that stand under `path` in the data files, for example `("scope", "broad")`, as stems."""
    found: set[Phrase] = set()
    for language in LANGUAGES:
        found |= {phrase for text in language_data(language, *path) if (phrase := as_phrase(text))}
    return tuple(sorted(found))


@cache
def language_words(*path: str) -> dict[str, Any]:
    """What stands under `path` in the data files of all languages: words in small letters, each with its value if the
    files give one."""
    found: dict[str, Any] = {}
    for language in LANGUAGES:
        section = language_data(language, *path)
        found |= section if isinstance(section, dict) else dict.fromkeys(section)
    return found


def as_phrase(text: str) -> Phrase:
    """`text` as it is looked for: stems, and gaps where a `*` stands."""
    parts = ([GAP] if part == GAP else spoken_stems(part) for part in text.split())
    return tuple(stemmed for part in parts for stemmed in part)


def says(spoken: Sequence[str], phrases: Sequence[Phrase]) -> bool:
    """Whether one of `phrases` stands in `spoken`, the stems of a message."""
    beginning: dict[str, list[Phrase]] = {}
    for phrase in phrases:
        beginning.setdefault(phrase[0], []).append(phrase)
    return any(
        _stands(spoken, start, phrase, 0) for start, word in enumerate(spoken) for phrase in beginning.get(word, ())
    )


def _stands(spoken: Sequence[str], at: int, phrase: Phrase, part: int) -> bool:
    """Whether `phrase` from its `part` on stands in `spoken` from `at` on."""
    if part == len(phrase):
        return True
    if phrase[part] == GAP:
        return any(_stands(spoken, at + skipped, phrase, part + 1) for skipped in range(GAP_WORDS + 1))
    return at < len(spoken) and spoken[at] == phrase[part] and _stands(spoken, at + 1, phrase, part + 1)

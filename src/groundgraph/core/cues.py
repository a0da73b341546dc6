"""Phrases by which people say what they mean, from the data files of all languages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from groundgraph.core.text import LANGUAGES, language_data, stem, words

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
        section: Any = language_data(language)
        for name in path:
            section = section.get(name, {})
        found |= {phrase for text in section or () if (phrase := as_phrase(text))}
    return tuple(sorted(found))


@cache
def language_words(*path: str) -> dict[str, Any]:
    """What stands under `path` in the data files of all languages: words in small letters, each with its value if the
    files give one."""
    found: dict[str, Any] = {}
    for language in LANGUAGES:
        section: Any = language_data(language)
        for name in path:
            section = section.get(name, {})
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

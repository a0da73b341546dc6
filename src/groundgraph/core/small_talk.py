"""Messages that need no retrieval: greetings, farewells, thanks, acknowledgements, and what the bot itself is."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache

from groundgraph.core.text import WORD, language_data, words

MAX_WORDS = 10
# So many words with a capital letter may end a greeting as a name: "Hi Anna", "Good morning, Anna Schmidt".
NAME_WORDS = 2
ACKNOWLEDGEMENT = "acknowledgement"


def small_talk(message: str, languages: Sequence[str]) -> str | None:
    """`greeting`, `farewell`, `thanks`, `acknowledgement` or `about` when the whole message is one, else None.

    The first phrase that means something decides, an acknowledgement only where nothing else does; words around it
    must be fillers of the same language, or a name at its end. Emoji alone acknowledge.
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
    """How many words at the end of `message` may be a name; none in a question."""
    if "?" in message:
        return 0
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
            return found if is_name else None
        kind = phrases[spoken[position : position + length]]
        if kind != "fillers" and found in (None, ACKNOWLEDGEMENT):
            found = kind
        position += length
    return found


@cache
def _phrases(language: str) -> dict[tuple[str, ...], str]:
    lists: dict[str, list[str]] = language_data(language)["small_talk"]
    return {tuple(words(phrase)): kind for kind, phrases in lists.items() for phrase in phrases}

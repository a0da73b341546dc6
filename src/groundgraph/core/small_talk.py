"""Messages that are nothing but a greeting, a farewell or thanks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from groundgraph.core.text import language_data, words

MAX_WORDS = 10


def small_talk(message: str, languages: Sequence[str]) -> str | None:
    """`greeting`, `farewell` or `thanks` when the whole message is one, else None.

    The first phrase that means something decides; words around it must be fillers of the same language.
    """
    spoken = tuple(words(message))
    if not 0 < len(spoken) <= MAX_WORDS:
        return None
    return next((kind for language in languages if (kind := _kind(spoken, language))), None)


def _kind(spoken: tuple[str, ...], language: str) -> str | None:
    phrases = _phrases(language)
    found: str | None = None
    position = 0
    while position < len(spoken):
        length = next((n for n in range(MAX_WORDS, 0, -1) if spoken[position : position + n] in phrases), 0)
        if not length:
            return None
        kind = phrases[spoken[position : position + length]]
        found = found or (kind if kind != "fillers" else None)
        position += length
    return found


@cache
def _phrases(language: str) -> dict[tuple[str, ...], str]:
    lists: dict[str, list[str]] = language_data(language)["small_talk"]
    return {tuple(words(phrase)): kind for kind, phrases in lists.items() for phrase in phrases}

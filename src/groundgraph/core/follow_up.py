"""Telling a question that leans on the one before it, without a model."""

from __future__ import annotations

from functools import cache

from groundgraph.core.text import LANGUAGES, language_data, query_stems, stop_words, words

# A question with no more content words than this says little by itself.
FEW_WORDS = 2


def is_follow_up(message: str) -> bool:
    """Whether `message` holds a pronoun, begins with a connective, or has two content words or fewer."""
    spoken = list(words(message))
    if not spoken:
        return False
    pronouns, connectives = _cues()
    content = [word for word in spoken if word not in stop_words()]
    begins = any(tuple(spoken[: len(phrase)]) == phrase for phrase in connectives)
    return begins or len(content) <= FEW_WORDS or any(word in pronouns for word in spoken)


def contextualised(message: str, previous: str) -> str:
    """`message` behind the question that it leans on, as one query; `message` alone when it adds nothing to that."""
    if set(query_stems(previous)) <= set(query_stems(message)):
        return message
    return f"{previous} {message}"


@cache
def _cues() -> tuple[frozenset[str], tuple[tuple[str, ...], ...]]:
    pronouns: set[str] = set()
    connectives: set[tuple[str, ...]] = set()
    for language in LANGUAGES:
        cues = language_data(language)["follow_up"]
        pronouns |= {word for phrase in cues["pronouns"] for word in words(phrase)}
        connectives |= {tuple(words(phrase)) for phrase in cues["connectives"]}
    return frozenset(pronouns), tuple(sorted(connectives))

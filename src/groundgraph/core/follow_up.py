"""Telling a question that leans on the one before it, without a model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from groundgraph.core.asked_parts import question_of
from groundgraph.core.text import LANGUAGES, language_data, query_stems, stem, stop_words, words


def is_follow_up(message: str) -> bool:
    """Whether `message` points back: it holds a pronoun, begins with a connective, or has no content word of its own.

    Shortness alone is no sign: "Who is Putin?" is a whole question.
    """
    spoken = list(words(message))
    if not spoken:
        return False
    pronouns, connectives = _cues()
    begins = any(tuple(spoken[: len(phrase)]) == phrase for phrase in connectives)
    # What is part of a compound, as in "one-time password", points at nothing.
    alone = words(" ".join(part for part in message.split() if "-" not in part.strip("-")))
    return begins or any(word in pronouns for word in alone) or not own_words(message)


def own_words(message: str) -> list[str]:
    """The stems of what `message` itself asks about: its content words without those that only say how it asks."""
    return [stemmed for stemmed in _content(message) if stemmed not in subjectless_stems()]


def standing_question(question: str, intent: Mapping[str, Any]) -> str:
    """What the turn asks, as a question that stands by itself and without chatter around it.

    It is the question as it was rewritten, else the message, or that behind what it leans on when it has no words of
    its own.

    Args:
        question: the message.
        intent: what is searched for.
    """
    asked = str(intent.get("rewritten") or question)
    queries = intent.get("text_queries") or [asked]
    leans = intent.get("mode") == "message" and not own_words(asked)
    return str(queries[0]) if leans else question_of(asked)


def contextualised(message: str, previous: str) -> str:
    """`message` behind the question that it leans on, as one query; `message` alone when it adds nothing to that."""
    if set(query_stems(previous)) <= set(query_stems(message)):
        return message
    return f"{previous} {message}"


def _content(text: str) -> list[str]:
    return [stem(word) for word in words(text) if word not in stop_words()]


@cache
def subjectless_stems() -> frozenset[str]:
    """The stems of phrases such as "how often", and of words such as "it" and "more", which name no subject."""
    phrases: set[str] = set()
    for language in LANGUAGES:
        data = language_data(language)
        cues = data["follow_up"]
        phrases |= {*data["asks_for"]["number"], *data["asks_for"]["name"], *cues["pronouns"], *cues["empty"]}
    return frozenset(stemmed for phrase in phrases for stemmed in _content(phrase))


@cache
def _cues() -> tuple[frozenset[str], tuple[tuple[str, ...], ...]]:
    pronouns: set[str] = set()
    connectives: set[tuple[str, ...]] = set()
    for language in LANGUAGES:
        cues = language_data(language)["follow_up"]
        pronouns |= {word for phrase in cues["pronouns"] for word in words(phrase)}
        connectives |= {tuple(words(phrase)) for phrase in cues["connectives"]}
    return frozenset(pronouns), tuple(sorted(connectives))

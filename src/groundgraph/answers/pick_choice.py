"""What a message chooses of what the turn before asked back for."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from groundgraph.answers.find_choices import places_said, telling_stems, without_phrase
from groundgraph.core.turn_values import ASKED_BACK, Choice, Chosen, Turn
from groundgraph.text.follow_up import (
    Phrase,
    begins_asking,
    cue_phrases,
    is_leaning,
    language_words,
    says,
    spoken_stems,
)
from groundgraph.text.small_talk import language_of
from groundgraph.text.words import fold, small_words, stems


class AskedBack(TypedDict):
    """What was asked back about: the question, the id of the message that asked it, and the choices."""

    question: str
    message_id: str
    choices: list[Choice]


_SHAPE = TypeAdapter(AskedBack)


def asked_back_in(message: BaseMessage) -> AskedBack | None:
    """What `message` asks back about; None for every other, and for what a client has made up in another shape."""
    given = message.response_metadata.get(ASKED_BACK) if isinstance(message, AIMessage) else None
    try:
        return _SHAPE.validate_python(given) if given else None
    except ValidationError:
        return None


def with_choice(turn: Turn, before: Sequence[BaseMessage]) -> Turn:
    """`turn`, which asks again what was asked back about when its message chooses, or says no more than that it does
    not; else as it is.

    Args:
        turn: its question is the message.
        before: what was said before the message.
    """
    asked = asked_back_in(before[-1]) if before else None
    found = picked(turn["question"], asked) if asked else None
    if asked is None or found is None:
        return turn
    choice = found.choice
    # What no field holds is searched for in words.
    question = f"{asked['question']} ({choice['label']})" if choice and not choice["field"] else asked["question"]
    chosen: Chosen = {"choice": choice, "message": turn["question"], "asked_in": asked["message_id"]}
    language = turn["options"].get("language") or language_of(question, turn["language"])
    return {**turn, "question": question, "chosen": chosen, "language": language}


def numbered(labels: Sequence[str]) -> bool:
    """Whether the choices can be told by number: not when a number that tells one of `labels` is that of another."""
    return all(
        int(word) == at or int(word) > len(labels)
        for at, telling in enumerate(telling_stems(labels), 1)
        for word in filter(str.isdecimal, telling)
    )


class Picked(NamedTuple):
    """What a reply chooses; without a choice it says nothing else, but chooses none, several or what there is not."""

    choice: Choice | None


def picked(reply: str, asked: AskedBack) -> Picked | None:
    """What `reply` chooses: by label, of labels that contain each other the longest that it says; else by number or
    place. None for one that says something else than what was asked and that."""
    choices = asked["choices"]
    if whole := [choice for choice in choices if fold(choice["label"]).strip() == fold(reply).strip()]:
        return Picked(whole[0])
    said = spoken_stems(_NUMBER_SIGN.sub("", fold(reply)))
    meant = None if _asks_anew(reply, said, asked) else _meant(said, asked)
    return None if meant is None else _picked(meant, said, choices)


def _picked(meant: Collection[int], said: Sequence[str], choices: Sequence[Choice]) -> Picked | None:
    unclear = says(said, _denying())
    if len(meant) == 1 and not unclear and _OUT_OF_RANGE not in meant:
        return Picked(choices[min(meant)])
    return Picked(None) if meant or unclear else None


def _asks_anew(reply: str, said: Sequence[str], asked: AskedBack) -> bool:
    """Whether `reply` asks something else: "What is Vega?" is no answer to "How long does it last?"."""
    return begins_asking(reply) and not is_leaning(reply) and said[0] not in _asked_stems(asked)


def _asked_stems(asked: AskedBack) -> set[str]:
    fields = {choice["field"] for choice in asked["choices"]}
    return {*spoken_stems(" ".join([*fields, asked["question"]]))}


def _meant(said: Sequence[str], asked: AskedBack) -> set[int] | None:
    """The places, from 0, of the choices that the stems `said` name; None where something else is said."""
    labels = [choice["label"] for choice in asked["choices"]]
    places, left = places_said(labels, said)
    again = set(left).intersection(stems(asked["question"]))
    numbers, left = _numbers(labels, left, again if len(again) > 1 else ())
    known = (_asked_stems(asked) | _says_nothing()).union(*(spoken_stems(labels[at]) for at in places))
    return places | numbers if known.issuperset(left) else None


_OUT_OF_RANGE = -1
# "No. 2" denies nothing.
_NUMBER_SIGN = re.compile(r"\bn(?:o\.?|[°º])\s*(?=\d)")


def _numbers(labels: Sequence[str], said: Sequence[str], again: Collection[str]) -> tuple[set[int], list[str]]:
    """The places that numbers and words such as "second" in the stems `said` tell, from 0, and what else is said; the
    words `again` only say the question once more."""
    found, left = set[int](), [word for word in said if word not in again]
    for phrase, place in _place_words():
        left, count = without_phrase(left, phrase)
        if count:
            found.add(place - 1 if place > 0 else len(labels) + place)
    for number in filter(str.isdecimal, left):
        found.add(int(number) - 1 if numbered(labels) and len(number) < _MOST_DIGITS else _OUT_OF_RANGE)
    known = range(len(labels))
    return {at if at in known else _OUT_OF_RANGE for at in found}, [word for word in left if not word.isdecimal()]


# Longer numbers are none of a place.
_MOST_DIGITS = 4


@cache
def _place_words() -> tuple[tuple[tuple[str, ...], int], ...]:
    """Phrases that tell a place, as stems, the longest first, each with its number; those from the end are below 0."""
    found = {tuple(spoken_stems(text)): place for text, place in language_words("choosing", "places").items()}
    return tuple(sorted(found.items(), key=lambda one: (-len(one[0]), one)))


@cache
def _denying() -> tuple[Phrase, ...]:
    return cue_phrases("negation") + cue_phrases("choosing", "several")


@cache
def _says_nothing() -> frozenset[str]:
    """The stems of what may stand around a choice: small words, thanks, "number", "I take"."""
    paths = [("small_talk", "fillers"), ("small_talk", "thanks"), ("choosing", "around"), ("choosing", "several")]
    said = chain.from_iterable(language_words(*path) for path in [*paths, ("negation",)])
    return frozenset(spoken_stems(" ".join(chain(said, small_words()))))

"""What a question leaves open, a declared field of the evidence that answers it or what a model finds; and what a
message chooses of what the turn before asked back for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from groundgraph.answers.generate_queries import listed_items, said
from groundgraph.answers.quote_candidates import Asked, candidates_of
from groundgraph.core.characters import without_hidden
from groundgraph.core.errors import ModelError
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import ASKED_BACK, Choice, Chosen, Turn
from groundgraph.models.call_model import ChainModel, Passage
from groundgraph.models.replies import FENCE, is_refusal, list_schema, listed_in, text_of
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

# More values are no choice: they are another search.
MAX_CHOICES = 6
# A value counts when the best sentence of its passages is worth this share of the best of all, wherever they rank. On
# public sets whose questions leave nothing open it asks in 2 to 22 % of them, the least of what was tried that still
# sees 8 of 10 where two versions of a passage differ: docs/decisions/answers.md.
CLOSE = 0.9
LABEL_CHARS = 80
PROMPT = "ask_back"
# Of the ranking a model is shown so many passages, and so many characters of each.
MAX_PASSAGES = 10
PASSAGE_CHARS = 2_000
# More digits than the number of any passage has.
_PLACE_DIGITS = 4
_DIGITS = re.compile(r"([0-9]+)")
# What stands behind the colon in a line of a reply in words.
_NUMBERS = re.compile(r"[\d\s,;\[\]().]+")


@dataclass(frozen=True)
class Open:
    """One thing that the question may mean.

    Attributes:
        label: what it is called.
        field: the declared field whose `value` it is; empty where a model found it.
        value: of the field, else the label.
        places: of its passages in the evidence, from 1.
    """

    label: str
    field: str
    value: str | int | float | bool
    places: tuple[int, ...]


def telling_stems(labels: Sequence[str]) -> list[set[str]]:
    """For each of `labels` the stems by which it is told from the others: of "Pump A" and "Pump B" not the first."""
    own = [set(stems(label)) or set(spoken_stems(label)) for label in labels]
    counts = Counter(chain.from_iterable(own))
    return [{stem for stem in one if counts[stem] < len(labels)} for one in own]


def places_said(labels: Sequence[str], said: Sequence[str]) -> tuple[set[int], list[str]]:
    """Which of `labels` the stems `said` name, from 0, and the stems that are left: of labels that contain each other
    the longest that is said; else those that are told by a word."""
    left, found = list(said), set[int]()
    own = [tuple(spoken_stems(label)) for label in labels]
    for at in sorted(range(len(labels)), key=lambda at: -len(own[at])):
        left, count = without_phrase(left, own[at])
        found |= {at} if count else set()
    if found:
        return found, left
    told = {at for at, telling in enumerate(telling_stems(labels)) if not telling.isdisjoint(left)}
    return told, [word for word in left if all(word not in own[at] for at in told)]


def without_phrase(said: Sequence[str], phrase: Sequence[str]) -> tuple[list[str], int]:
    """`said` without each `phrase` in it, and how many there were."""
    left, at, count, length = list(said), 0, 0, len(phrase)
    while length and at + length <= len(left):
        if left[at : at + length] == list(phrase):
            del left[at : at + length]
            count += 1
        else:
            at += 1
    return left, count


def names_one(labels: Sequence[str], texts: Iterable[str]) -> bool:
    """Whether one of `texts` says by which of `labels` it is meant."""
    telling = set(chain.from_iterable(telling_stems(labels)))
    return any(not telling.isdisjoint(spoken_stems(text)) for text in texts)


def open_by_field(field: str, question: str, evidence: Sequence[SourceResult]) -> list[Open]:
    """The values of `field` by which what answers `question` differs, in their natural order; none when there is one,
    when there are too many, or when what answers best says the same for all or is of no value.

    Args:
        field: a name in the metadata of the evidence.
        question: in words.
        evidence: of which the sentences are compared that hold most of the question.
    """
    same, close = _closest(question, evidence)
    values = [labels_in(result, field) for result in evidence]
    alike, found = _first_places(values, same), _first_places(values, [*same, *close])
    if not same or not values[same[0] - 1] or not len(alike) < len(found) <= MAX_CHOICES:
        return []
    return [
        Open(label, field, values[place - 1][label], (place,)) for label, place in sorted(found.items(), key=_order)
    ]


def _closest(question: str, evidence: Sequence[SourceResult]) -> tuple[list[int], list[int]]:
    """The places of the passages that hold the sentence which answers best, its own first; and of those that hold one
    about as good."""
    candidates = [(one, one.worth / one.discount) for one in candidates_of(Asked.of(question, evidence), evidence)]
    if not candidates:
        return [], []
    best, most = max(candidates, key=itemgetter(1))
    same = [place for place, result in enumerate(evidence, 1) if best.text in result.content]
    ranked = sorted(candidates, key=itemgetter(1), reverse=True)
    return [best.label, *same], [one.label for one, worth in ranked if worth >= CLOSE * most]


def _first_places(values: Sequence[Iterable[str]], order: Sequence[int]) -> dict[str, int]:
    """The first place in `order` of a passage with each of the labels in `values`."""
    return {label: place for place in reversed(order) for label in values[place - 1]}


def _order(item: tuple[str, int]) -> list[Any]:
    """Numbers in a label by their value, so that version 10 stands behind version 9."""
    return [int(part) if at % 2 else part.casefold() for at, part in enumerate(_DIGITS.split(item[0]))]


def labels_in(result: SourceResult, field: str) -> dict[str, str | int | float | bool]:
    """What `result` has in `field`, by its label; a list has several."""
    given = result.metadata.get(field)
    listed = given if isinstance(given, list | tuple) else [given]
    return {label: one for one in listed if isinstance(one, str | int | float) and (label := label_of(one))}


def label_of(value: str | float) -> str:
    """`value` as a reader sees it, on one line."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return " ".join(without_hidden(text).split())[:LABEL_CHARS]


# The same by a model, of whose choices those stay that the passages support.

_ITEM = {
    "type": "object",
    "properties": {"label": {"type": "string"}, "passages": {"type": "array", "items": {"type": "integer"}}},
    "required": ["label", "passages"],
    "additionalProperties": False,
}


async def open_by_model(model: ChainModel, question: str, evidence: Sequence[SourceResult]) -> list[Open]:
    """What `model` says that `question` leaves open, as far as the passages support it; none when it is nothing.

    A choice stays when a passage that it is tied to holds all of its words and is tied to no other choice.

    Raises:
        ModelError: the model failed, refused, may not be called any more, or wrote nothing that could be read.
    """
    shown = [(_names(result), result.content[:PASSAGE_CHARS]) for result in evidence[:MAX_PASSAGES]]
    passages = [Passage(str(number), " ".join(filter(None, one))) for number, one in enumerate(shown, 1)]
    reply = await model.reply([PROMPT], passages, question, schema=list_schema("choices", _ITEM))
    listed = listed_in(reply, "choices")
    proposed = _in_words(text_of(reply), question) if listed is None else list(map(_proposed, listed))
    return supported(proposed, evidence[:MAX_PASSAGES])


def supported(proposed: Sequence[tuple[str, list[int]]], evidence: Sequence[SourceResult]) -> list[Open]:
    """Those of the `proposed` labels, with the places of their passages, that `evidence` supports."""
    held = [frozenset(spoken_stems(f"{_names(result)} {result.content}")) for result in evidence]
    by_words: dict[tuple[str, ...], tuple[str, list[int]]] = {}
    for given, places in proposed:
        label = label_of(given)
        if known := _holding(label, places, held):
            by_words.setdefault(tuple(spoken_stems(label)), (label, known))
    tied = Counter(chain.from_iterable(places for _, places in by_words.values()))
    own = [(label, tuple(place for place in places if tied[place] == 1)) for label, places in by_words.values()]
    return [Open(label, "", label, places) for label, places in own if places][:MAX_CHOICES]


def _holding(label: str, places: Sequence[int], held: Sequence[frozenset[str]]) -> list[int]:
    """Those of `places` whose passages hold every word of `label`."""
    words = spoken_stems(label)
    known = (place for place in places if words and 0 < place <= len(held) and held[place - 1].issuperset(words))
    return list(dict.fromkeys(known))


def _names(result: SourceResult) -> str:
    """What a passage stands under, and what its fields say."""
    return " ".join(str(value) for value in result.metadata.values() if isinstance(value, str | int | float))


def _proposed(item: Any) -> tuple[str, list[int]]:
    given = item if isinstance(item, dict) else {}
    label, places = given.get("label"), given.get("passages")
    numbers = [place for place in places if isinstance(place, int)] if isinstance(places, list) else []
    return (label if isinstance(label, str) else ""), numbers


def _in_words(reply: str, question: str) -> list[tuple[str, list[int]]]:
    """The choices in a reply that was no object: one in a fence, a line for each, or a word that says there are none.

    Raises:
        ModelError: it refuses, or is neither.
    """
    told = said(reply)
    if is_refusal(told, question):
        raise ModelError("it refused")
    for part in (told, *FENCE.findall(told)):
        if (listed := listed_in(AIMessage(part), "choices")) is not None:
            return list(map(_proposed, listed))
    parts = [item.rpartition(":") for item in listed_items(reply)]
    lines = [(label.strip(), _places(numbers)) for label, _, numbers in parts if _NUMBERS.fullmatch(numbers)]
    if not lines and len(told.split()) > 1:
        raise ModelError("its reply is no list of choices")
    return lines


def _places(numbers: str) -> list[int]:
    return [int(number[:_PLACE_DIGITS]) for number in _DIGITS.findall(numbers)]


# Of what the turn before asked back for.


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

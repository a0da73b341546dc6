"""What a message chooses of what the turn before asked back for."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from groundgraph.answers.find_choices import telling_stems
from groundgraph.core.turn_values import Choice, Chosen, Turn
from groundgraph.text.follow_up import begins_asking, cue_phrases, is_leaning, language_words, says, spoken_stems
from groundgraph.text.words import detect_language, fold, stems

# In the `response_metadata` of an answer that asks back.
ASKED_BACK = "asked_back"


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
    """`turn`, which asks again what was asked back about when its message chooses; else as it is.

    Args:
        turn: its question is the message.
        before: what was said before the message.
    """
    asked = asked_back_in(before[-1]) if before else None
    choice = picked(turn["question"], asked) if asked else None
    if asked is None or choice is None:
        return turn
    # What no field holds is searched for in words.
    question = asked["question"] if choice["field"] else f"{asked['question']} ({choice['label']})"
    chosen: Chosen = {"choice": choice, "message": turn["question"], "asked_in": asked["message_id"]}
    language = turn["options"].get("language") or detect_language(question)
    return {**turn, "question": question, "chosen": chosen, "language": language}


def numbered(labels: Sequence[str]) -> bool:
    """Whether the choices can be told by number: not when a number that tells one of `labels` is that of another."""
    return all(
        int(word) == at or int(word) > len(labels)
        for at, telling in enumerate(telling_stems(labels), 1)
        for word in filter(str.isdecimal, telling)
    )


def picked(reply: str, asked: AskedBack) -> Choice | None:
    """What `reply` chooses: by label; else by number or in words that say nothing else than what was asked or one
    label, unless it rules something out."""
    choices = asked["choices"]
    labels = [choice["label"] for choice in choices]
    for choice in choices:
        if fold(choice["label"]).strip() == fold(reply).strip():
            return choice
    if says(spoken_stems(reply), cue_phrases("negation")):
        return None
    at = _number(reply, labels)
    return choices[at - 1] if at else _picked_in_words(reply, asked, labels)


def _fillers() -> list[str]:
    said = language_words("small_talk", "fillers") | language_words("small_talk", "thanks")
    return spoken_stems(" ".join(said))


def _number(reply: str, labels: Sequence[str]) -> int:
    """The number of one of `labels` that is all that `reply` says; 0 for none."""
    left = set(stems(reply)).difference(_fillers())
    return next((at for at in range(1, len(labels) + 1) if left == {str(at)} and numbered(labels)), 0)


def _picked_in_words(reply: str, asked: AskedBack, labels: Sequence[str]) -> Choice | None:
    said = spoken_stems(reply)
    fitting = [at for at, telling in enumerate(telling_stems(labels)) if not telling.isdisjoint(said)]
    if len(fitting) != 1:
        return None
    choice = asked["choices"][fitting[0]]
    known = {*spoken_stems(f"{choice['label']} {choice['field']} {asked['question']}"), *_fillers()}
    # "What is Vega?" is no answer to "How long does it last?".
    asks_anew = begins_asking(reply) and not is_leaning(reply) and said[0] not in known
    # Whatever else is said asks for something else.
    return choice if not asks_anew and known.issuperset(stems(reply)) else None

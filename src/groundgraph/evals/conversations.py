"""A set of conversations, and what each of their messages must get."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from groundgraph.core.errors import ConfigurationError, InputInvalid, Problem
from groundgraph.core.turn_values import Outcome
from groundgraph.evals.dataset import BadLine, id_of, json_object, read_lines, text_of, texts_of
from groundgraph.settings.context import Context

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_CONVERSATION_KEYS = ("_id", "tags", "context", "turns")
_TURN_KEYS = ("ask", "outcome", "says", "lacks", "from", "doubt")


@dataclass(frozen=True)
class Expected:
    """One message of a user, and what must come of it.

    Attributes:
        ask: the message.
        outcome: that of the turn.
        says: what must stand in the answer or its notes, whatever its case and line breaks.
        lacks: what must not stand in the answer.
        holder: the file, the table or the source that one of the citations must lead to; None for any.
        doubt: whether the answer may say that it may be none.
    """

    ask: str
    outcome: Outcome
    says: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    holder: str | None = None
    doubt: bool = True


@dataclass(frozen=True)
class Conversation:
    """Messages that are asked on one thread, one after the other.

    Attributes:
        id: of the conversation.
        turns: at least one.
        tags: what kinds of conversation it is one of.
        context: the choices of its runs, such as the sources to search or the scope.
    """

    id: str
    turns: tuple[Expected, ...]
    tags: tuple[str, ...] = ()
    context: Context = field(default_factory=Context)


def load_conversations(file: Path) -> list[Conversation]:
    """The conversations in `file`, one JSON object a line.

    Raises:
        ConfigurationError: the file is missing or empty, or lines are bad: each has its place.
    """
    if not file.is_file():
        message = f"there is no file '{file}'; it must hold one conversation a line, or name another with --queries"
        raise ConfigurationError(message)
    lines: dict[str, int] = {}

    def parse(number: int, line: str) -> Conversation:
        row = json_object(line)
        found = _conversation(row)
        if found.id in lines:
            raise BadLine(f"the _id '{found.id}' stands in line {lines[found.id]} already; give this one another")
        lines[found.id] = number
        return found

    conversations = read_lines(file.read_bytes(), file, parse)
    if not conversations:
        raise ConfigurationError([Problem("", "the file holds no conversation; write one a line", str(file))])
    return conversations


def _conversation(row: dict[str, Any]) -> Conversation:
    _refuse_unknown(row, _CONVERSATION_KEYS, "a conversation")
    turns = row.get("turns")
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, dict) for turn in turns):
        raise BadLine('\'turns\' must be a list such as [{"ask": "...", "outcome": "answered"}]')
    try:
        context = Context.model_validate(row.get("context") or {})
    except InputInvalid as error:
        raise BadLine(f"'context': {error}") from error
    return Conversation(id_of(row), tuple(map(_expected, turns)), texts_of(row, "tags"), context)


def _expected(turn: dict[str, Any]) -> Expected:
    _refuse_unknown(turn, _TURN_KEYS, "a turn")
    ask, outcome, doubt = text_of(turn, "ask"), turn.get("outcome"), turn.get("doubt", True)
    if not ask.strip():
        raise BadLine("'ask' is empty; write the message there")
    if outcome not in OUTCOMES:
        raise BadLine(f"the outcome of \"{ask[:60]}\" must be one of {', '.join(OUTCOMES)}, not '{outcome}'")
    if not isinstance(doubt, bool):
        raise BadLine("'doubt' must be true where the answer may say that it may be none, otherwise false")
    holder = text_of(turn, "from") if turn.get("from") is not None else None
    says, lacks = texts_of(turn, "says"), texts_of(turn, "lacks")
    if not all(map(str.strip, (*says, *lacks))):
        raise BadLine("'says' and 'lacks' are words; an empty text stands in every answer")
    return Expected(ask, outcome, says, lacks, holder, doubt)


def _refuse_unknown(row: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    """What is spelt wrong would never be looked at, and the figures would be too good."""
    unknown = sorted(row.keys() - set(known))
    if unknown:
        raise BadLine(f"{what} has no key '{unknown[0]}'; known: {', '.join(known)}")

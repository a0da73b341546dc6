"""The port between whoever shows conversations and whatever keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from groundgraph.core.errors import GroundGraphError
from groundgraph.core.turn_values import Outcome
from groundgraph.report.turn_page import words_of
from groundgraph.report.words import finding_lines

TITLE_CHARS = 80


class NotFound(GroundGraphError):
    """There is no such thread, turn, citation or document, or it belongs to somebody else; nobody is told which."""


@dataclass(frozen=True)
class User:
    """Who asks; LangGraph reads it as it reads the signed-in user of a server.

    Attributes:
        identity: the name; empty where nobody signs in, so that everybody is the same.
        known: what scope filters may take as `user.NAME`.
        proof: the headers with which they signed in, for a server behind this one.
    """

    identity: str = ""
    known: Mapping[str, Any] = field(default_factory=dict)
    proof: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __getitem__(self, name: str) -> Any:
        return self.known[name]


@dataclass(frozen=True)
class Thread:
    """A conversation: its title, and when it was last asked in, in seconds since the epoch."""

    id: str
    title: str
    at: float


@dataclass(frozen=True)
class KeptTurn:
    """A turn in the tree of a conversation, whose branches begin where a question was changed.

    Attributes:
        id: its name in the conversation.
        parent: the turn before it; empty for a first one.
        question: what was asked.
        at: when, in seconds since the epoch.
        outcome: how it ended; None for one that was interrupted.
        mark: what a person said of it: `good`, `bad` or nothing, with a comment.
        asked: what a person is asked by whose decision the turn goes on; None where it waits for nobody.
        running: whether it is being taken, as far as this process knows.
    """

    id: str
    parent: str
    question: str
    at: float
    outcome: Outcome | None = None
    mark: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, Any] | None = None
    running: bool = False


@dataclass(frozen=True)
class Asked:
    """A question in its place.

    Attributes:
        question: in words.
        parent: the turn that it follows; empty where a conversation begins, or begins anew.
        history: (role, text) of what was said before, for a conversation that was held elsewhere.
        context: choices of this run, as the fields of `Context`.
        reviewed: whether somebody can decide, with `Conversations.decide`, about an answer that waits for a person.
        assistant: an id of `Conversations.assistants`; empty for the graph as it is configured.
    """

    question: str
    parent: str = ""
    history: Sequence[tuple[str, str]] = ()
    context: Mapping[str, Any] = field(default_factory=dict)
    reviewed: bool = False
    assistant: str = ""


Event = Mapping[str, Any]
"""`{"stage": …}` as the graph tells it, `{"text": …}` of the answer as it is written, `{"begun": id of the turn}` first
and last `{"ended": id of the turn, "record": the record of the turn}`, or `{"waits": id of the turn, "asked": …}` where
a person has to decide first."""


class Conversations(Protocol):
    """The conversations of each user; somebody else's are not there.

    Raises:
        NotFound: there is no such thing.
        GroundGraphError: as for a turn.
    """

    async def assistants(self, user: User) -> Mapping[str, str]:
        """What may be asked beside the graph as it is configured: ids by name."""

    async def threads(self, user: User) -> list[Thread]:
        """Those of a user, the latest first."""

    async def start(self, user: User, title: str) -> Thread:
        """A new one."""

    def ask(self, user: User, thread: str, asked: Asked) -> AsyncGenerator[Event]:
        """Take a turn. Whoever stops listening stops it."""

    def decide(self, user: User, thread: str, turn: str, decision: Mapping[str, Any]) -> AsyncGenerator[Event]:
        """Go on with a turn that waits for a person; `decision` as in `ReviewDecision`."""

    async def turns(self, user: User, thread: str) -> list[KeptTurn]:
        """All turns of a conversation, the oldest first."""

    async def record(self, user: User, thread: str, turn: str) -> dict[str, Any]:
        """The full record of a turn that has ended."""

    async def mark(self, user: User, thread: str, turn: str, mark: Mapping[str, str]) -> None:
        """Keep what a person says of a turn, with the turn."""

    async def delete(self, user: User, thread: str) -> None:
        """Forget a conversation with everything that was kept of it."""

    async def find(self, user: User, said: str) -> tuple[str, str] | None:
        """The thread and the turn behind which exactly this was said (see `said_by`); None where nobody knows it."""


def answer_shown(record: Mapping[str, Any]) -> str:
    """The answer of a turn with what its reader must know, for a client that shows nothing but text."""
    notes = "\n".join(f"> {line}\n>" for line in told_of(record)).removesuffix("\n>")
    return f"{record['answer'].strip()}\n\n{notes}" if notes else record["answer"].strip()


def told_of(record: Mapping[str, Any]) -> list[str]:
    """What the reader of an answer must know besides: its notes, and what the check of its citations found."""
    found = finding_lines(record["citation_check"].get("flags", []), words_of(record, None, None))
    return [*record["notes"], *(f"⚠ {line}" for line in found)]


def said_by(before: str, question: str, answer: str) -> str:
    """A name for everything that was said in a conversation; clients may change white space."""
    words = [before, *(" ".join(text.split()) for text in (question, answer))]
    return hashlib.blake2b("\0".join(words).encode("utf-8", "replace"), digest_size=18).hexdigest()

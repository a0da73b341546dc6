"""The state of a turn: which channel lives how long, and who writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, get_type_hints

from langchain_core.messages import AnyMessage
from langgraph.channels import EphemeralValue, UntrackedValue
from pydantic import Field
from typing_extensions import TypedDict

from groundgraph.core.evidence import EvidenceRecord
from groundgraph.core.intent import IntentState
from groundgraph.core.turn_values import (
    Check,
    Citation,
    Draft,
    Outcome,
    Ranking,
    Retrieval,
    RetrievalTask,
    Support,
    Turn,
)
from groundgraph.graph.channels import merged, messages_channel, metadata_channel


@dataclass(frozen=True)
class Lifetime:
    """How long a channel lives; the type that a step returns says which channels it writes.

    `thread`: kept from turn to turn. `turn`: emptied by `begin_turn` (the large ones by `record_turn` too), kept in
    checkpoints, so that a turn resumes and forks with it. `run`: never in a checkpoint; only what the last step
    writes for the caller, because such a channel is empty after a resume. `task`
    is never written at all: it is what each task of the fan-out is sent.
    """

    kind: Literal["thread", "turn", "run"]


class TurnInput(TypedDict):
    """What a caller gives: messages, or a question in their place."""

    messages: NotRequired[
        Annotated[
            list[AnyMessage], Field(description="The conversation; the last message is answered."), messages_channel()
        ]
    ]
    question: NotRequired[Annotated[str, Field(description="What is asked, in place of a message."), EphemeralValue]]
    metadata: NotRequired[
        Annotated[
            dict[str, Any],
            Field(description="Session metadata, merged into the thread's, for example synthesis_style."),
            metadata_channel(),
        ]
    ]


class TurnOutput(TypedDict, total=False):
    """What a caller gets; see the table in the README."""

    messages: Annotated[list[AnyMessage], messages_channel()]
    metadata: Annotated[dict[str, Any], metadata_channel()]
    answer: Annotated[str, UntrackedValue]
    outcome: Annotated[Outcome, UntrackedValue]
    notes: Annotated[list[str], UntrackedValue]
    citations: Annotated[list[Citation], UntrackedValue]
    support: Annotated[Support, UntrackedValue]
    provenance: Annotated[dict[str, Any], UntrackedValue]


class TurnState(TypedDict, total=False):
    """Every channel of the turn graph."""

    messages: Annotated[list[AnyMessage], Lifetime("thread"), messages_channel()]
    metadata: Annotated[dict[str, Any], Lifetime("thread"), metadata_channel()]

    question: Annotated[str, Lifetime("run"), EphemeralValue]
    task: Annotated[RetrievalTask, Lifetime("run"), EphemeralValue]

    turn: Annotated[Turn, Lifetime("turn")]
    intent: Annotated[IntentState, Lifetime("turn")]
    retrievals: Annotated[dict[str, Retrieval], Lifetime("turn"), merged]
    bodies: Annotated[dict[str, EvidenceRecord], Lifetime("turn"), merged]
    ranking: Annotated[Ranking, Lifetime("turn")]
    draft: Annotated[Draft, Lifetime("turn")]
    check: Annotated[Check, Lifetime("turn")]

    answer: Annotated[str, Lifetime("run"), UntrackedValue]
    outcome: Annotated[Outcome, Lifetime("run"), UntrackedValue]
    notes: Annotated[list[str], Lifetime("run"), UntrackedValue]
    citations: Annotated[list[Citation], Lifetime("run"), UntrackedValue]
    support: Annotated[Support, Lifetime("run"), UntrackedValue]
    provenance: Annotated[dict[str, Any], Lifetime("run"), UntrackedValue]


def lifetimes() -> dict[str, Lifetime]:
    """The lifetime of every channel of `TurnState`."""
    hints = get_type_hints(TurnState, include_extras=True)
    return {
        name: next(item for item in hint.__metadata__ if isinstance(item, Lifetime)) for name, hint in hints.items()
    }

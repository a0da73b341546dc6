"""What an answer is to be written from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.messages import BaseMessage

from groundgraph.chains.result_rows import template_variables
from groundgraph.core.context import Options
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import ClusterValue, Divider, Flag, ModelCall, Needs, Turn


def answer_id(turn: Turn) -> str:
    """The id of the turn's answer message."""
    return f"answer-{turn['id']}"


@dataclass(frozen=True)
class Correction:
    """What a model wrote before, with the labels that it knows, and what is wrong with it."""

    earlier: str
    faults: Sequence[Flag]


@dataclass(frozen=True)
class Assignment:
    """What is to be written: everything but the model.

    `doubt` and `needs` are those of the ranking, None and empty when there is none.
    """

    turn: Turn
    options: Options
    evidence: Sequence[SourceResult]
    conversation: Sequence[BaseMessage]
    metadata: Mapping[str, Any]
    intent: Mapping[str, Any]
    calls: Sequence[ModelCall]
    prefix: str = ""
    suffix: str = ""
    clusters: Sequence[ClusterValue] = ()
    divider: Divider | None = None
    correction: Correction | None = None
    doubt: Sequence[str] | None = None
    needs: Sequence[Needs] = ()

    @property
    def opening(self) -> str:
        """The reply to a message that is nothing but small talk, empty for every other."""
        return self.turn.get("small_talk", {}).get("text", "")

    @cached_property
    def variables(self) -> dict[str, Any]:
        """What answer templates are given; made when it is first asked for, which a model's answer may never do."""
        return template_variables(
            self.evidence,
            message=self.turn["question"],
            metadata=self.metadata,
            intent=self.intent,
            citation_format=self.options.citation_format,
            clusters=self.clusters,
            divider=self.divider,
        )

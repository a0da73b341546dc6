"""What a query bot answers."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from pydantic import Field


class BotReply(AIMessage):
    """The assistant's message, and the whole output of its turn.

    Attributes:
        output: the output of the turn graph: `answer`, `outcome`, `notes`, `citations`, `support`, `provenance`. Not
            part of the message when that is serialised.
    """

    output: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)

    @property
    def message(self) -> AIMessage:
        """The message alone: what belongs into the messages of another graph, whose checkpoints know LangChain's types
        only."""
        return AIMessage(content=self.content, id=self.id, response_metadata=self.response_metadata)

    @property
    def outcome(self) -> str:
        """`answered`, `insufficient`, `unavailable` or `chat`."""
        return str(self.output["outcome"])

    @property
    def notes(self) -> list[str]:
        """Sentences for the reader: what failed, was skipped or cut."""
        return list(self.output["notes"])

    @property
    def citations(self) -> list[dict[str, Any]]:
        """What the labels of the text refer to."""
        return list(self.output["citations"])

    @property
    def provenance(self) -> dict[str, Any]:
        """The record of the turn."""
        return dict(self.output["provenance"])

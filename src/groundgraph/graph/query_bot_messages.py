"""The messages of a bot's turn: as the model was shown them, or as it would be (Q2)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import BaseMessage
from langchain_core.runnables.config import ensure_config
from typing_extensions import override

from groundgraph.chains.answer_prompt import answer_messages
from groundgraph.core.clean_text import clean_text
from groundgraph.core.context import Context, options_in_force
from groundgraph.core.evidence import SourceResult
from groundgraph.core.provenance import turn_of_thread
from groundgraph.core.turn_values import Turn
from groundgraph.graph.resources import Resources

# The steps in which a model writes an answer.
_WRITERS = ("answer_conversational", "answer_hybrid", "repair_answer")


class ShownMessages(BaseCallbackHandler):
    """Remembers what the model that wrote the answer was shown.

    Attributes:
        messages: of its last call; None as long as there was none.
    """

    run_inline = True
    ignore_chain = True
    ignore_agent = True
    ignore_retriever = True

    def __init__(self) -> None:
        self.messages: list[BaseMessage] | None = None

    @override
    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        if messages and (metadata or {}).get("langgraph_node") in _WRITERS:
            self.messages = list(messages[0])

    def with_callers(self) -> Any:
        """The callbacks of whoever calls, this one among them: a bot may be called within another graph's step."""
        callers = ensure_config().get("callbacks")
        if isinstance(callers, BaseCallbackManager):
            together = callers.copy()
            together.add_handler(self)
            return together
        return [*(callers or []), self]


def composed_messages(resources: Resources, record: Mapping[str, Any], context: Context) -> list[BaseMessage]:
    """What a model is shown in the turn or retrieval of `record`: system prompt, evidence of the document store,
    evidence of the memory, question."""
    settings = resources.settings
    turn: Turn = {"id": turn_of_thread(record), "question": record["question"], "message_id": ""}
    options = options_in_force(settings, {}, context)

    def composed(evidence: Sequence[SourceResult], token_limit: int) -> list[BaseMessage] | None:
        per_source = settings.synthesis.evidence_per_source
        shown = answer_messages(
            resources.prompts, options, turn, evidence, (), token_limit=token_limit, per_source=per_source
        )
        return shown[0] if shown else None

    # A single piece that is too long is left out, as it would be in the turn.
    found = composed([_result(row) for row in record["results"]], settings.limits.tokens)
    return found or composed((), sys.maxsize) or []


def _result(row: Mapping[str, Any]) -> SourceResult:
    return SourceResult(
        content=row["text"],
        source_id=row["source_id"],
        source_name=row["source_name"],
        source_type=row["source_type"],
        relevance=row["relevance"],
        metadata=row["metadata"],
    )


def as_logged(messages: Sequence[BaseMessage]) -> list[dict[str, str]]:
    """`messages` as the log has them; the roles are those of the wire."""
    roles = {"human": "user", "ai": "assistant"}
    return [
        {
            "role": roles.get(message.type, message.type),
            "name": message.name or "",
            "content": clean_text(str(message.text)),
        }
        for message in messages
    ]

"""Records the calls of models by LangChain's callbacks, whatever model it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from groundgraph.chains.gated_model import GATED
from groundgraph.testing.prompt import prompt_from_messages
from groundgraph.testing.recorded_error import recorded_error

_within: ContextVar[bool] = ContextVar("groundgraph_within_a_recorded_part", default=False)


@contextmanager
def recorded_as_a_whole() -> Iterator[None]:
    """Calls in the block are part of something that is recorded as a whole: a source, a reranker."""
    token = _within.set(True)
    try:
        yield
    finally:
        _within.reset(token)


class RecordingCalls(BaseCallbackHandler):
    """Puts each call into `calls` when it has ended: `prompt`, and `reply` or `error`."""

    run_inline = True
    ignore_chain = True
    ignore_agent = True
    ignore_retriever = True

    def __init__(self, calls: list[dict[str, Any]]) -> None:
        self.calls = calls
        self._open: dict[UUID, dict[str, Any]] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 - the signature of the base class
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """See `BaseCallbackHandler`."""
        if _within.get() or (kwargs.get("invocation_params") or {}).get("_type") == GATED:
            return
        step = (metadata or {}).get("langgraph_node", "")
        self._open[run_id] = {"step": step, "prompt": as_prompt(messages[0]), "pieces": []}

    def on_llm_new_token(self, token: Any, *, run_id: UUID, **_: Any) -> None:
        """See `BaseCallbackHandler`."""
        if run_id in self._open and isinstance(token, str):
            self._open[run_id]["pieces"].append(token)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """See `BaseCallbackHandler`."""
        call = self._open.pop(run_id, None)
        generation = response.generations[0][0] if call else None
        if call and isinstance(generation, ChatGeneration) and isinstance(generation.message, AIMessage):
            del call["pieces"]
            self.calls.append({**call, "reply": _as_reply(generation.message)})

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """See `BaseCallbackHandler`."""
        call = self._open.pop(run_id, None)
        if call:
            # As one piece, in which a secret stands whole and is masked.
            pieces = ["".join(call["pieces"])] if call["pieces"] else []
            self.calls.append({**call, "pieces": pieces, "error": recorded_error(error)})


def as_prompt(messages: Sequence[BaseMessage]) -> list[dict[str, str]]:
    """What a model is asked, as a recording has it."""
    prompt = prompt_from_messages(messages)
    return [{"role": one.role, "name": one.name, "text": one.text} for one in prompt.messages]


def _as_reply(message: AIMessage) -> dict[str, Any]:
    usage = message.usage_metadata
    return {
        "text": str(message.text),
        "tool_calls": [{"id": call["id"], "name": call["name"], "args": call["args"]} for call in message.tool_calls],
        "refusal": message.additional_kwargs.get("refusal"),
        "finish_reason": message.response_metadata.get("finish_reason") or "stop",
        "usage": [usage["input_tokens"], usage["output_tokens"]] if usage else None,
    }

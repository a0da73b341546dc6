"""A span for every call of a language model within a step, told by LangChain's callbacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook
from openinference.semconv.trace import MessageAttributes, SpanAttributes
from typing_extensions import override

from groundgraph.chains.gated_model import GATED
from groundgraph.graph.span import Attribute
from groundgraph.graph.tracing_spans import LISTED, OtelSpan, OtelTracing

_calls: ContextVar[ModelCallSpans | None] = ContextVar("model_call_spans", default=None)
# LangChain asks for the handler whenever a model is called, wherever that is; the caller's own callbacks stay as they
# are, LangSmith's among them.
register_configure_hook(_calls, inheritable=False)

_ROLES = {"human": "user", "ai": "assistant"}


class ModelCallSpans(BaseCallbackHandler):
    """Opens and ends the spans of one step's model calls.

    The model that only passes another one's text through the gate is no call of its own.
    """

    run_inline = True
    ignore_chain = True
    ignore_agent = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self, tracing: OtelTracing) -> None:
        self._tracing = tracing
        self._open: dict[UUID, OtelSpan] = {}

    @override
    def on_chat_model_start(
        self,
        serialized: Any,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        span = self._start(run_id, metadata or {}, kwargs.get("invocation_params") or {}, kwargs.get("name"))
        if span is not None:
            span.content(_messages(SpanAttributes.LLM_INPUT_MESSAGES, messages[0] if messages else []))

    @override
    def on_llm_start(
        self,
        serialized: Any,
        prompts: list[str],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        span = self._start(run_id, metadata or {}, kwargs.get("invocation_params") or {}, kwargs.get("name"))
        if span is not None:
            span.content({SpanAttributes.INPUT_VALUE: prompts[0] if prompts else ""})

    @override
    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        span = self._open.pop(run_id, None)
        if span is not None:
            _finish(span, response)
            span.raw.end()

    @override
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        span = self._open.pop(run_id, None)
        if span is not None:
            span.raised(error)
            span.raw.end()

    def close(self) -> None:
        """End what is open still: nobody is told of a call that was cancelled."""
        while self._open:
            _, span = self._open.popitem()
            span.failed("CancelledError")
            span.raw.end()

    def _start(
        self, run_id: UUID, metadata: Mapping[str, Any], params: Mapping[str, Any], name: str | None
    ) -> OtelSpan | None:
        if params.get("_type") == GATED:
            return None
        model = metadata.get("ls_model_name") or params.get("model_name") or params.get("model")
        known: dict[str, Attribute] = {
            attribute: value
            for attribute, value in {
                SpanAttributes.LLM_MODEL_NAME: model,
                SpanAttributes.LLM_PROVIDER: metadata.get("ls_provider"),
            }.items()
            if isinstance(value, str) and value
        }
        self._open[run_id] = self._tracing.open(name or "model_call", "LLM", known)
        return self._open[run_id]


@contextmanager
def model_call_spans(tracing: OtelTracing) -> Iterator[None]:
    """Every call of a model in the block has a span, which ends with the block at the latest."""
    spans = ModelCallSpans(tracing)
    token = _calls.set(spans)
    try:
        yield
    finally:
        _calls.reset(token)
        spans.close()


def _finish(span: OtelSpan, response: LLMResult) -> None:
    first = response.generations[0][0] if response.generations and response.generations[0] else None
    message = first.message if isinstance(first, ChatGeneration) else None
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    if usage:
        span.set(
            {
                SpanAttributes.LLM_TOKEN_COUNT_PROMPT: usage["input_tokens"],
                SpanAttributes.LLM_TOKEN_COUNT_COMPLETION: usage["output_tokens"],
                SpanAttributes.LLM_TOKEN_COUNT_TOTAL: usage["total_tokens"],
            }
        )
    if message is not None:
        span.content(_messages(SpanAttributes.LLM_OUTPUT_MESSAGES, [message]))
    elif first is not None:
        span.content({SpanAttributes.OUTPUT_VALUE: first.text})


def _messages(prefix: str, messages: Sequence[BaseMessage]) -> dict[str, Attribute]:
    """The last `LISTED` of `messages` as OpenInference has them."""
    found: dict[str, Attribute] = {}
    for number, message in enumerate(messages[-LISTED:]):
        place = f"{prefix}.{number}"
        found[f"{place}.{MessageAttributes.MESSAGE_ROLE}"] = _ROLES.get(message.type, message.type)
        found[f"{place}.{MessageAttributes.MESSAGE_CONTENT}"] = str(message.text)
    return found

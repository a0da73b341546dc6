"""The spans themselves. This module needs the extra `otel`; it is loaded when tracing is on."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import version
from typing import Any, NotRequired

from langgraph.errors import GraphBubbleUp, GraphInterrupt
from openinference.semconv.trace import DocumentAttributes, OpenInferenceSpanKindValues, SpanAttributes
from opentelemetry import context as otel_context
from opentelemetry import trace
from typing_extensions import TypedDict

from groundgraph.settings.services import TracingSettings
from groundgraph.tracing.span import Attribute, Span, current_run, current_tracing

_logger = logging.getLogger(__name__)

# A span holds 128 attributes unless told otherwise, and of more the first ones are lost: a list ends here.
LISTED = 20


class OtelSpan:
    """A `Span` over one of OpenTelemetry's."""

    def __init__(self, raw: trace.Span, with_content: bool) -> None:
        self.raw = raw
        self._with_content = with_content

    def set(self, attributes: Mapping[str, Attribute]) -> None:
        """See `Span.set`."""
        self.raw.set_attributes(attributes)

    def content(self, attributes: Mapping[str, Attribute]) -> None:
        """See `Span.content`."""
        if self._with_content:
            self.raw.set_attributes(attributes)

    def failed(self, reason: str) -> None:
        """See `Span.failed`."""
        self.raw.set_status(trace.Status(trace.StatusCode.ERROR, reason))

    def end(self) -> None:
        """The part is over. A span processor that raises costs no answer."""
        try:
            self.raw.end()
        except Exception:  # whatever an application's processor raises
            _logger.exception("A span processor failed when a span ended.")

    def raised(self, error: BaseException) -> None:
        """An error, a cancellation or an early end left the part. The error's message is content."""
        if isinstance(error, GraphBubbleUp):
            # How LangGraph waits for a human, or hands over to a parent graph.
            self.set({"groundgraph.waiting": isinstance(error, GraphInterrupt)})
            return
        self.failed(type(error).__name__)
        if self._with_content and isinstance(error, Exception):
            self.raw.record_exception(error)


class OtelTracing:
    """Opens spans with the application's tracer provider.

    Args:
        settings: whether content goes into the spans.
    """

    def __init__(self, settings: TracingSettings) -> None:
        self._with_content = settings.content
        # Resolved when the first span is opened, so the application may set its provider after the graph is built.
        self._tracer = trace.get_tracer("groundgraph", version("groundgraph"))

    @contextmanager
    def span(
        self,
        name: str,
        kind: str,
        attributes: Mapping[str, Attribute] | None = None,
        content: Mapping[str, Attribute] | None = None,
    ) -> Iterator[OtelSpan]:
        """See `Tracing.span`."""
        opened = self.open(name, kind, attributes)
        opened.content(content or {})
        with trace.use_span(opened.raw, record_exception=False, set_status_on_exception=False):
            try:
                yield opened
            except BaseException as error:
                opened.raised(error)
                raise
            finally:
                opened.end()

    def open(self, name: str, kind: str, attributes: Mapping[str, Attribute] | None = None) -> OtelSpan:
        """A span below the current one, which does not become the current one; whoever opened it ends it."""
        known = {SpanAttributes.OPENINFERENCE_SPAN_KIND: OpenInferenceSpanKindValues(kind).value}
        return OtelSpan(self._started(name, {**known, **(attributes or {})}), self._with_content)

    def _started(self, name: str, attributes: Mapping[str, Attribute]) -> trace.Span:
        try:
            return self._tracer.start_span(name, attributes=attributes)
        except Exception:  # as in `OtelSpan.end`
            _logger.exception("A span processor failed when the span '%s' began; it is left out.", name)
            return trace.INVALID_SPAN


@cache
def tracing_of(settings: TracingSettings) -> OtelTracing:
    """What opens spans as `settings` say.

    Raises:
        ConfigurationError: a package is missing.
    """
    settings.require_packages()
    return OtelTracing(settings)


@contextmanager
def inside(tracing: OtelTracing, run: OtelSpan) -> Iterator[None]:
    """What happens in the block belongs to `run`.

    For one step of an asynchronous generator: it runs in the context of whoever asks for its next item, and must leave
    nothing behind there.
    """
    with ExitStack() as stack:
        token = otel_context.attach(trace.set_span_in_context(run.raw))
        stack.callback(otel_context.detach, token)
        _set(stack, current_tracing, tracing)
        _set(stack, current_run, run)
        yield


def _set(stack: ExitStack, variable: ContextVar[Any], value: object) -> None:
    stack.callback(variable.reset, variable.set(value))


class ToldDocument(TypedDict):
    """A document as a span tells of it; its text is content."""

    id: str
    score: float
    source: NotRequired[str]
    text: NotRequired[str]


def set_documents(span: Span, prefix: str, documents: Sequence[ToldDocument]) -> None:
    """The first `LISTED` of `documents` on `span`, as the list that OpenInference calls `prefix`."""
    for number, document in enumerate(documents[:LISTED]):
        place = f"{prefix}.{number}"
        span.set(
            {
                f"{place}.{DocumentAttributes.DOCUMENT_ID}": document["id"],
                f"{place}.{DocumentAttributes.DOCUMENT_SCORE}": document["score"],
            }
        )
        if "source" in document:
            metadata = json.dumps({"source_name": document["source"]}, ensure_ascii=False)
            span.set({f"{place}.{DocumentAttributes.DOCUMENT_METADATA}": metadata})
        if "text" in document:
            span.content({f"{place}.{DocumentAttributes.DOCUMENT_CONTENT}": document["text"]})

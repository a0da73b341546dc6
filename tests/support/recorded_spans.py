"""The spans of a test, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class _Recorder(SpanProcessor):
    """Knows the spans that have begun and those that have ended."""

    def __init__(self) -> None:
        self.begun: list[ReadableSpan] = []
        self.ended: list[ReadableSpan] = []

    def on_start(self, span: ReadableSpan, parent_context: object = None) -> None:
        self.begun.append(span)

    def on_end(self, span: ReadableSpan) -> None:
        self.ended.append(span)


@cache
def _exporter() -> tuple[InMemorySpanExporter, _Recorder]:
    """The process has one tracer provider, which cannot be replaced; the tests are the application that sets it."""
    exporter, recorder = InMemorySpanExporter(), _Recorder()
    provider = TracerProvider()
    provider.add_span_processor(recorder)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter, recorder


@contextmanager
def recorded_spans() -> Iterator[RecordedSpans]:
    """What begins or ends in the block is recorded, and nothing from before it."""
    exporter, recorder = _exporter()
    exporter.clear()
    recorder.begun.clear()
    recorder.ended.clear()
    yield RecordedSpans(exporter, recorder)


class RecordedSpans:
    """The spans that have ended, in the order in which they began."""

    def __init__(self, exporter: InMemorySpanExporter, recorder: _Recorder) -> None:
        self._exporter = exporter
        self._recorder = recorder

    @property
    def open(self) -> list[str]:
        """The names of those that have begun and not ended."""
        ended = {span.context.span_id for span in self._recorder.ended}
        return [span.name for span in self._recorder.begun if span.context.span_id not in ended]

    @property
    def all(self) -> list[ReadableSpan]:
        """Every span."""
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def named(self, name: str) -> list[ReadableSpan]:
        """Those that are called `name`."""
        return [span for span in self.all if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """The only one that is called `name`."""
        (span,) = self.named(name)
        return span

    def below(self, parent: ReadableSpan) -> list[ReadableSpan]:
        """The children of `parent`."""
        return [span for span in self.all if span.parent and span.parent.span_id == parent.context.span_id]

    def path(self, span: ReadableSpan) -> list[str]:
        """The names from the root to `span`."""
        by_id = {one.context.span_id: one for one in self.all}
        names = [span.name]
        while span.parent is not None and span.parent.span_id in by_id:
            span = by_id[span.parent.span_id]
            names.insert(0, span.name)
        return names


def attributes(span: ReadableSpan) -> dict[str, str | bool | int | float | Sequence[str]]:
    """What `span` says."""
    return dict(span.attributes or {})  # type: ignore[arg-type]

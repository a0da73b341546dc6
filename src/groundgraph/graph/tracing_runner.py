"""Runs of a graph in a span."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from groundgraph.graph.ingest_runner import IngestRunner
from groundgraph.graph.typed_runs import TurnGraph
from groundgraph.tracing.spans import OtelTracing, inside

_END: Any = object()


class _Traced(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph each of whose runs is a span, called like the graph."""

    tracing: OtelTracing

    def copy(self, update: dict[str, Any] | None = None) -> Any:
        """As LangGraph's, with the tracing."""
        copied = super().copy(update)
        copied.tracing = self.tracing
        return copied

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """As without spans; the span ends with the last item, or when nobody asks for more."""
        run = self.tracing.open(self.get_name(), "CHAIN")
        items = super().astream(input, config, **kwargs)
        try:
            while True:
                with inside(self.tracing, run):
                    item = await anext(items, _END)
                if item is _END:
                    break
                yield item
        except BaseException as error:
            run.raised(error)
            raise
        finally:
            # The steps that are under way end before the run does.
            try:
                await items.aclose()  # type: ignore[attr-defined]
            finally:
                run.end()


class TracedTurnRunner(_Traced, TurnGraph[Any]):  # type: ignore[misc]
    """A turn graph or a retrieval graph with spans."""


class TracedIngestRunner(_Traced, IngestRunner):
    """An ingest graph with spans."""


def with_run_spans(runner: CompiledStateGraph[Any, Any, Any, Any], tracing: OtelTracing) -> Any:
    """`runner`, whose class is exchanged as its own `adopt` does it."""
    runner.__class__ = TracedIngestRunner if isinstance(runner, IngestRunner) else TracedTurnRunner
    runner.tracing = tracing  # type: ignore[attr-defined]
    return runner

"""Runs of a graph as spans, where its settings turn tracing on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from groundgraph.settings.services import TracingSettings

if TYPE_CHECKING:
    from groundgraph.tracing.spans import OtelTracing

RunnerT = TypeVar("RunnerT", bound=CompiledStateGraph[Any, Any, Any, Any])

_END: Any = object()


def traced_runs(runner: RunnerT, settings: TracingSettings) -> RunnerT:
    """`runner`, each of whose runs is a span when `settings` turn tracing on."""
    if not settings.enabled:
        return runner
    from groundgraph.tracing.spans import tracing_of

    # Its class is exchanged as its own `adopt` does it.
    runner.__class__ = _traced(type(runner))
    runner.tracing = tracing_of(settings)  # type: ignore[attr-defined]
    return runner


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
        from groundgraph.tracing.spans import inside

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


@cache
def _traced(kind: type[RunnerT]) -> type[RunnerT]:
    """Graphs of `kind`, a turn's, a retrieval's or an ingest's, with spans."""
    return type(f"Traced{kind.__name__}", (_Traced, kind), {})

"""Spans of OpenTelemetry around the parts of a run; without `tracing.enabled` nothing, at no cost.

OpenTelemetry is not imported here: the modules that need it are loaded by a graph whose settings turn tracing on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from groundgraph.settings.services import TracingSettings
from groundgraph.tracing.span import NO_SPAN, Attribute, Span, Tracing, current_run, current_tracing

if TYPE_CHECKING:
    from groundgraph.core.chain import QueryChains
    from groundgraph.core.embedder import Embedder
    from groundgraph.core.evidence_store import EvidenceStore
    from groundgraph.nodes.process_results import Work
    from groundgraph.tracing.spans import OtelTracing

RunnerT = TypeVar("RunnerT", bound=CompiledStateGraph[Any, Any, Any, Any])

_END: Any = object()


@contextmanager
def span(
    name: str,
    kind: str = "CHAIN",
    attributes: Mapping[str, Attribute] | None = None,
    *,
    settings: TracingSettings | None = None,
) -> Iterator[Span]:
    """A span around a block, below the current one; an error or a cancellation that leaves the block marks it.

    Not across the `yield` of an asynchronous generator, whose steps run in the context of whoever asks for them.

    Args:
        name: of the span.
        kind: of OpenInference, for example `RETRIEVER`, `LLM` or `CHAIN`.
        attributes: those known at the start; more may be set on what is given.
        settings: outside of a run of a graph, whether there is a span at all; inside, the graph's own settings say.
    """
    tracing = current_tracing.get() or _of(settings)
    if tracing is None:
        yield NO_SPAN
        return
    with tracing.span(name, kind, attributes) as opened:
        yield opened


def on_run(attributes: Mapping[str, Attribute]) -> None:
    """Add `attributes` to the span of the whole run, for example how many results a part of it gave."""
    current_run.get().set(attributes)


def state_graph(
    settings: TracingSettings, evidence: EvidenceStore | None = None
) -> Callable[..., StateGraph[Any, Any, Any, Any]]:
    """What builds a graph: LangGraph's own builder, or one that puts each step into a span.

    Args:
        settings: whether there are spans.
        evidence: where the references in the graph's state lead.

    Raises:
        ConfigurationError: tracing is on, and a package is missing.
    """
    settings.require_packages()
    if not settings.enabled:
        return StateGraph
    from groundgraph.tracing.steps import TracedStateGraph

    return partial(TracedStateGraph, settings, evidence)


def traced_work(name: str, work: Work, settings: TracingSettings) -> Work:
    """`work`, which has a span called `name` below that of its step when `settings` turn tracing on."""
    if not settings.enabled:
        return work
    from groundgraph.tracing.steps import with_work_span

    return with_work_span(name, work, settings)


def traced_embedder(embedder: Embedder | None, settings: TracingSettings) -> Embedder | None:
    """`embedder`, whose calls are spans when `settings` turn tracing on."""
    if embedder is None or not settings.enabled:
        return embedder
    settings.require_packages()
    from groundgraph.tracing.steps import with_embedding_spans

    return with_embedding_spans(embedder, settings)


def traced_chains(chains: QueryChains, settings: TracingSettings) -> QueryChains:
    """`chains`, whose reranker has spans when `settings` turn tracing on."""
    if chains.reranker is None or not settings.enabled:
        return chains
    settings.require_packages()
    from groundgraph.tracing.steps import with_reranker_spans

    return with_reranker_spans(chains, chains.reranker, settings)


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


def _of(settings: TracingSettings | None) -> Tracing | None:
    if settings is None or not settings.enabled:
        return None
    from groundgraph.tracing.spans import tracing_of

    return tracing_of(settings)

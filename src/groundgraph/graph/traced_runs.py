"""Runs of a graph as spans, where its settings turn tracing on."""

from __future__ import annotations

from typing import Any, TypeVar

from langgraph.graph.state import CompiledStateGraph

from groundgraph.settings.services import TracingSettings

RunnerT = TypeVar("RunnerT", bound=CompiledStateGraph[Any, Any, Any, Any])


def traced_runs(runner: RunnerT, settings: TracingSettings) -> RunnerT:
    """`runner`, each of whose runs is a span when `settings` turn tracing on."""
    if not settings.enabled:
        return runner
    from groundgraph.graph.tracing_runner import with_run_spans
    from groundgraph.tracing.spans import tracing_of

    traced: RunnerT = with_run_spans(runner, tracing_of(settings))
    return traced

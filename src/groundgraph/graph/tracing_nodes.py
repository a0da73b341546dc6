"""A graph whose steps have spans."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langgraph.graph import StateGraph

from groundgraph.core.evidence import EvidenceRecord
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.graph.span import Span, current_run
from groundgraph.graph.tracing_models import model_call_spans
from groundgraph.graph.tracing_spans import OtelTracing
from groundgraph.graph.tracing_steps import STEPS, Done, Step

_log = logging.getLogger(__name__)
_PLAIN = Step()


class TracedStateGraph(StateGraph[Any, Any, Any, Any]):
    """A builder that puts each step into a span.

    Args:
        tracing: opens the spans.
        evidence: where the references in the state lead; None for a graph without evidence.
        schemas: the arguments of every `StateGraph`.
    """

    def __init__(self, tracing: OtelTracing, evidence: EvidenceStore | None, *schemas: Any, **more: Any) -> None:
        super().__init__(*schemas, **more)
        self._tracing = tracing
        self._evidence = evidence

    def add_node(self, node: Any, action: Any = None, **options: Any) -> Any:
        """As LangGraph's; what is no coroutine function under a name of its own, such as a graph, is left as it is."""
        if isinstance(node, str) and inspect.iscoroutinefunction(action):
            action = traced_step(node, action, self._tracing, self._evidence)
        return super().add_node(node, action, **options)


def traced_step(
    name: str, step: Callable[..., Awaitable[Any]], tracing: OtelTracing, evidence: EvidenceStore | None
) -> Callable[..., Awaitable[Any]]:
    """`step` in a span called `name`, with the same signature."""
    kind = STEPS.get(name, _PLAIN).kind

    @functools.wraps(step)
    async def traced(state: Any, *args: Any, **kwargs: Any) -> Any:
        with tracing.span(name, kind) as span, model_call_spans(tracing):
            update = await step(state, *args, **kwargs)
            await _describe(name, span, state, update, kwargs.get("runtime"), evidence)
            return update

    return traced


async def _describe(
    name: str, span: Span, state: Any, update: Any, runtime: Any, evidence: EvidenceStore | None
) -> None:
    """Say on `span` what came of the step. A slip here must not cost a turn."""
    step = STEPS.get(name, _PLAIN)
    if step.describe is None or not isinstance(update, Mapping):
        return
    try:
        records: dict[str, EvidenceRecord] = {}
        if step.refs is not None and evidence is not None:
            keys = [ref[0] for ref in step.refs(state, update)]
            in_state = {**state.get("bodies", {}), **update.get("bodies", {})}
            records = await evidence.load(runtime.store, keys, in_state, scope=None)
        info = getattr(runtime, "execution_info", None)
        step.describe(span, Done(state, update, info.thread_id if info else None, records, current_run.get()))
    except Exception:
        _log.warning("The span of %s says less than it could.", name, exc_info=True)

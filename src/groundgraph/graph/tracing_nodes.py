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
from groundgraph.graph.tracing_steps import STEPS, WORK, WORKS, Done, Step
from groundgraph.nodes.works.work import Change, View, Work

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
    told = STEPS.get(name, _PLAIN)

    @functools.wraps(step)
    async def traced(state: Any, *args: Any, **kwargs: Any) -> Any:
        with tracing.span(name, told.kind) as span, model_call_spans(tracing):
            update = await step(state, *args, **kwargs)
            await _describe(name, told, span, state, update, kwargs.get("runtime"), evidence)
            return update

    return traced


def with_work_span(name: str, work: Work, tracing: OtelTracing) -> Work:
    """`work` in a span called `name`."""
    step = WORKS.get(name, WORK)

    async def traced(view: View) -> Change:
        with tracing.span(name, step.kind) as span:
            change = await work(view)
            known = {**view.state.get("bodies", {}), **view.known, **change.records}
            state = {**view.state, "ranking": {"refs": view.refs}, "bodies": known}
            update = {"ranking": {"refs": change.refs, "strategies": change.ran}}
            await _describe(name, step, span, state, update, view.runtime, view.parts.evidence)
            return change

    return traced


async def _describe(
    name: str, step: Step, span: Span, state: Any, update: Any, runtime: Any, evidence: EvidenceStore | None
) -> None:
    """Say on `span` what came of the step. A slip here must not cost a turn."""
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

"""The outputs of a run inside a parent that was killed after the run's last checkpoint and before the parent's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph._internal._config import ensure_config
from langgraph._internal._constants import CONF, CONFIG_KEY_RUNTIME

from groundgraph.core.errors import EvidenceMissing

if TYPE_CHECKING:
    from groundgraph.graph.turn_runner import TurnRunner


async def with_outputs(graph: TurnRunner, output: Any, given: Any, config: RunnableConfig | None) -> Any:
    """`output` with the outputs that no checkpoint holds, when it lacks them.

    The parent would otherwise go on with what its state holds of them: those of the question before.

    Args:
        graph: ran inside a parent.
        output: what it gave.
        given: its input, which a retrieval is run on again.
        config: of the run.
    """
    if not isinstance(output, dict) or "outcome" in output or "__interrupt__" in output:
        return output
    if "context" in graph.output_channels:
        from groundgraph.graph.retrieval import retrieval_alone

        return await retrieval_alone(graph).ainvoke(given, config)
    message = (output.get("messages") or [None])[-1]
    if not isinstance(message, AIMessage) or "turn_id" not in message.response_metadata:
        return output
    return {**output, **await _recorded(graph, message, ensure_config(config))}


async def _recorded(graph: TurnRunner, message: AIMessage, config: RunnableConfig) -> dict[str, Any]:
    from groundgraph.graph.load_provenance import stored_provenance
    from groundgraph.graph.resume import output_of, output_without_record

    runtime = config[CONF].get(CONFIG_KEY_RUNTIME)
    store = getattr(runtime, "store", None) or graph.store
    try:
        turn_id = message.response_metadata["turn_id"]
        return output_of(await stored_provenance(graph, store, str(config[CONF].get("thread_id")), turn_id))
    except EvidenceMissing:
        return output_without_record(message)

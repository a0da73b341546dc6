"""The outputs of a run inside a parent that was killed after the run's last checkpoint and before the parent's own.

The parent would otherwise go on with what its state holds of them: those of the question before.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph._internal._config import ensure_config
from langgraph._internal._constants import CONF, CONFIG_KEY_RUNTIME
from langgraph.store.base import BaseStore

from groundgraph.core.errors import EvidenceMissing
from groundgraph.core.evidence_store import EvidenceStore


def lacks_outputs(output: Any) -> bool:
    """Whether `output`, of a run inside a parent, has no outcome though the run does not wait for anybody."""
    return isinstance(output, dict) and "outcome" not in output and "__interrupt__" not in output


async def with_outputs(
    output: dict[str, Any], config: RunnableConfig | None, evidence: EvidenceStore, own: BaseStore | None
) -> dict[str, Any]:
    """`output` of a turn with the outputs that no checkpoint holds: from its record, or from its answer.

    Args:
        output: what the run gave.
        config: of the run.
        evidence: where the references in a record lead.
        own: the graph's store, for a parent that has none.
    """
    message = (output.get("messages") or [None])[-1]
    if not isinstance(message, AIMessage) or "turn_id" not in message.response_metadata:
        return output
    return {**output, **await _recorded(message, ensure_config(config), evidence, own)}


async def _recorded(
    message: AIMessage, config: RunnableConfig, evidence: EvidenceStore, own: BaseStore | None
) -> dict[str, Any]:
    from groundgraph.graph.stored_provenance import stored_provenance
    from groundgraph.graph.turn_output import output_of, output_without_record

    store = getattr(config[CONF].get(CONFIG_KEY_RUNTIME), "store", None) or own
    try:
        turn_id = message.response_metadata["turn_id"]
        return output_of(await stored_provenance(evidence, store, str(config[CONF].get("thread_id")), turn_id))
    except EvidenceMissing:
        return output_without_record(message)

"""The outputs of a run inside a parent that was killed after the run's last checkpoint and before the parent's own.

The parent would otherwise go on with what its state holds of them: those of the question before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph._internal._config import ensure_config
from langgraph._internal._constants import CONF, CONFIG_KEY_RUNTIME
from langgraph.store.base import BaseStore

from groundgraph.core.errors import EvidenceMissing
from groundgraph.core.evidence_store import EvidenceStore

# The output of a turn that ended before: from its record, or from its answer where there is none.


def output_without_record(message: AnyMessage) -> dict[str, Any]:
    """What the answer itself tells, where no record was stored."""
    return {
        "answer": str(message.text),
        "outcome": message.response_metadata.get("outcome", "answered"),
        "notes": [],
        "citations": [],
        "choices": message.response_metadata.get("asked_back", {}).get("choices", []),
        "support": {"score": 0.0, "answerable": 0.0, "flags": []},
        "provenance": {},
    }


def output_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The output keys of a turn that its record holds."""
    check = record["citation_check"]
    return {
        "answer": record["answer"],
        "outcome": record["outcome"],
        "notes": record["notes"],
        "citations": record["citations"],
        "choices": record.get("choices", []),
        "support": {name: check.get(name) for name in ("score", "answerable", "flags")},
        "provenance": record,
    }


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
    from groundgraph.storage.records import stored_provenance

    store = getattr(config[CONF].get(CONFIG_KEY_RUNTIME), "store", None) or own
    try:
        turn_id = message.response_metadata["turn_id"]
        return output_of(await stored_provenance(evidence, store, str(config[CONF].get("thread_id")), turn_id))
    except EvidenceMissing:
        return output_without_record(message)

"""A stored record with everything that can be found again from its references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundgraph.chains.citations import resolve_citations
from groundgraph.core.evidence import EvidenceRecord, from_record
from groundgraph.core.provenance import with_texts
from groundgraph.core.turn_values import Citation


def record_keys(record: Mapping[str, Any]) -> list[str]:
    """The keys of all evidence that a stored record refers to."""
    refs = [*record["results"], *(ref for refs in record["results_by_source"].values() for ref in refs)]
    return list(dict.fromkeys(ref[0] for ref in refs))


def full_record(record: Mapping[str, Any], bodies: Mapping[str, EvidenceRecord]) -> dict[str, Any]:
    """The record with its evidence spelled out and its citations resolved."""
    return {**with_texts(record, bodies), "citations": _citations(record, bodies)}


def _citations(record: Mapping[str, Any], bodies: Mapping[str, EvidenceRecord]) -> list[Citation]:
    labels = record["citation_check"].get("labels", [])
    cited = {
        label: from_record(bodies[ref[0]], ref[1]) for label, ref in enumerate(record["results"], 1) if label in labels
    }
    written = record["answer"][: record["written"]]
    return resolve_citations(labels, written, cited, question=record["question"])

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
    check, results = record["citation_check"], record["results"]
    labels = check.get("labels", [])
    # A record of before labels were numbered by first use has no order: its labels are places.
    order = check.get("order") or range(1, len(results) + 1)
    refs = {label: results[order[label - 1] - 1] for label in labels}
    cited = {label: from_record(bodies[ref[0]], ref[1]) for label, ref in refs.items()}
    written = record["answer"][: record["written"]]
    quotes = check.get("quotes", [])
    language = record.get("language") or "en"
    return resolve_citations(labels, written, cited, question=record["question"], quotes=quotes, language=language)

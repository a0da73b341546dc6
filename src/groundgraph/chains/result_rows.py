"""Evidence as answer templates see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groundgraph.chains.citations import reference
from groundgraph.chains.label_gate import escape_labels
from groundgraph.chains.quotes import select_quotes
from groundgraph.chains.sentence_index import question_weights, snippet
from groundgraph.core.evidence import SourceResult

SNIPPET_CHARS = 300


def template_variables(
    evidence: Sequence[SourceResult],
    *,
    message: str,
    metadata: Mapping[str, Any],
    intent: Mapping[str, Any],
    citation_format: str,
) -> dict[str, Any]:
    """The variables of `synthesis.template` and `synthesis.provenance_template` (features S4 and S7).

    Numbers in brackets that stand in the evidence or the message themselves are escaped, so that they do not read as
    labels.
    """
    rows = _result_rows(evidence, message, citation_format)
    by_source: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_source.setdefault(row["source_name"], []).append(row)
    quotes = [
        {"label": quote.label, "text": escape_labels(" ".join(quote.text.split())), "score": quote.score}
        for quote in select_quotes(message, evidence)
    ]
    return {
        "results": rows,
        "results_by_source": by_source,
        "quotes": quotes,
        "context": context_text(evidence, citation_format),
        "message": escape_labels(message),
        "metadata": dict(metadata),
        "intent": dict(intent),
    }


def context_text(evidence: Sequence[SourceResult], citation_format: str) -> str:
    """The evidence as one text, each piece under its label and what the label resolves to."""
    return "\n\n".join(
        f"[{label}] {escape_labels(reference(result, citation_format))}\n{escape_labels(result.content)}"
        for label, result in enumerate(evidence, 1)
    )


def _result_rows(evidence: Sequence[SourceResult], question: str, citation_format: str) -> list[dict[str, Any]]:
    """The keys of `SourceResult.to_dict`, with `content`, `reference` and `snippet` beside them, in the order of the
    labels."""
    weights = question_weights(question, (result.content for result in evidence))
    rows = []
    for label, result in enumerate(evidence, 1):
        row = result.to_dict(label)
        row["text"] = row["content"] = escape_labels(result.content)
        row["text_preview"] = escape_labels(row["text_preview"])
        row["snippet"] = escape_labels(snippet(result.content, weights, SNIPPET_CHARS))
        row["reference"] = escape_labels(reference(result, citation_format))
        rows.append(row)
    return rows

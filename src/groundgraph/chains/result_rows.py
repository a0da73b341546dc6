"""Evidence as answer templates see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groundgraph.chains.citations import reference
from groundgraph.chains.label_gate import escape_labels
from groundgraph.chains.quotes import found_quote, select_quotes
from groundgraph.chains.sentence_index import question_weights, running_lines, snippet
from groundgraph.core.evidence import SourceResult
from groundgraph.core.follow_up import standing_question
from groundgraph.core.turn_values import ClusterValue, Divider
from groundgraph.prompts import fenced

SNIPPET_CHARS = 300
CONTEXT_SEPARATOR = "\n\n"


def template_variables(
    evidence: Sequence[SourceResult],
    *,
    message: str,
    metadata: Mapping[str, Any],
    intent: Mapping[str, Any],
    citation_format: str,
    clusters: Sequence[ClusterValue] = (),
    divider: Divider | None = None,
) -> dict[str, Any]:
    """The variables of `synthesis.template` and `synthesis.provenance_template` (features S4 and S7).

    Numbers in brackets that stand in the evidence or the message themselves are escaped, so that they do not read as
    labels. With clusters, each row's `cluster` is the label of its cluster, or None.
    """
    asked = standing_question(message, intent)
    rows = _result_rows(evidence, asked, citation_format)
    named = {label: cluster["label"] for cluster in clusters for label in cluster["labels"]}
    for label, row in enumerate(rows, 1):
        row["cluster"] = named.get(label)
    by_source: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_source.setdefault(row["source_name"], []).append(row)
    quotes = [
        {
            "label": quote.label,
            "text": escape_labels(" ".join(quote.text.split())),
            "score": quote.score,
            "reference": rows[quote.label - 1]["reference"],
            "found": found_quote(quote.label, evidence[quote.label - 1], quote.start, quote.end),
        }
        for quote in select_quotes(asked, evidence)
    ]
    return {
        "results": rows,
        "results_by_source": by_source,
        "quotes": quotes,
        "context": _context_of(
            [_piece(row["label"], row["reference"], row["text"]) for row in rows], clusters, divider
        ),
        "message": escape_labels(message),
        "metadata": dict(metadata),
        "intent": dict(intent),
    }


def context_text(
    evidence: Sequence[SourceResult],
    citation_format: str,
    clusters: Sequence[ClusterValue] = (),
    divider: Divider | None = None,
) -> str:
    """The evidence as one text, each piece under its label and what the label resolves to, clusters in their tags, and
    `divider` on a line of its own before the facts of the dialogue's state."""
    pieces = [context_piece(label, result, citation_format) for label, result in enumerate(evidence, 1)]
    return _context_of(pieces, clusters, divider)


def _context_of(pieces: list[str], clusters: Sequence[ClusterValue], divider: Divider | None) -> str:
    if clusters:
        pieces = [fenced(piece) for piece in pieces]
    for cluster in clusters:
        first, last = cluster["labels"][0] - 1, cluster["labels"][-1] - 1
        tag = f'<cluster label="{cluster["label"]}" relevance="{cluster["score"]:.2f}">'
        pieces[first] = f"{tag}\n{pieces[first]}"
        pieces[last] = f"{pieces[last]}\n</cluster>"
    if divider and divider["at"] < len(pieces):
        pieces = [*pieces[: divider["at"]], divider["text"], *pieces[divider["at"] :]]
    return CONTEXT_SEPARATOR.join(pieces)


def context_piece(label: int, result: SourceResult, citation_format: str) -> str:
    """One piece of evidence in a context."""
    return _piece(label, escape_labels(reference(result, citation_format)), escape_labels(result.content))


def _piece(label: int, referred: str, text: str) -> str:
    return f"[{label}] {referred}\n{text}"


def _result_rows(evidence: Sequence[SourceResult], question: str, citation_format: str) -> list[dict[str, Any]]:
    """The keys of `SourceResult.to_dict`, with `content`, `reference`, `snippet`, `topic`, `depth` and `place` beside
    them, in the order of the labels."""
    weights = question_weights(question, (result.content for result in evidence))
    rows = []
    for label, result in enumerate(evidence, 1):
        row = result.plain_row(label)
        row["text"] = row["content"] = escape_labels(result.content)
        row["text_preview"] = escape_labels(row["text_preview"])
        row["snippet"] = escape_labels(snippet(result.content, weights, SNIPPET_CHARS, running_lines(result)))
        row["reference"] = escape_labels(reference(result, citation_format))
        row["topic"], row["depth"], row["place"] = _in_outline(result, row["reference"])
        rows.append(row)
    return rows


def _in_outline(result: SourceResult, whole: str) -> tuple[str, int, str]:
    """The topic that a topic index found the evidence under, how many headings below that it stands, and its place
    there; an empty topic, 0 and `whole` for other evidence."""
    topic, headings = str(result.metadata.get("found_under") or ""), result.metadata.get("headings")
    if not topic:
        return "", 0, whole
    path = [str(heading) for heading in headings] if isinstance(headings, list) else []
    # A heading may hold the separator, so the paths are compared and not taken apart.
    above = next((count for count in range(len(path), 0, -1) if " > ".join(path[:count]) == topic), 0)
    if not above:
        return escape_labels(topic), 0, whole
    return escape_labels(topic), len(path) - above, escape_labels(path[-1])

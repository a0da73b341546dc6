"""The works of `process_results`: which there are, in which order, and when a configuration turns them on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from groundgraph.core.turn_values import RetrievalPath
from groundgraph.graph.resources import Resources
from groundgraph.nodes.process_results import Reader, Work, WorkParts
from groundgraph.sources.contract import joins
from groundgraph.tracing.tracing import traced_work


def _joins(parts: WorkParts) -> bool:
    return parts.settings.retrieval.merge_adjacent and any(map(joins, parts.sources.values()))


WORKS: dict[str, Callable[[WorkParts], bool]] = {
    "merge_results": lambda _: True,
    "join_neighbours": _joins,
    "score_results": lambda parts: parts.settings.result_processing.scores,
    "rerank_results": lambda parts: bool(parts.rerankers),
    "rotate_results": lambda parts: bool(parts.way.rotation),
    # The prompt's own limit cuts from the end, where a zigzag puts the second best result.
    "fit_budget": lambda parts: parts.way.bounds or bool(parts.way.reorder and parts.chat_model),
    "arrange_results": lambda parts: parts.way.arranges,
    "judge_evidence": lambda _: True,
    "backfill_facts": lambda parts: "backfill" in parts.settings.stages and parts.path != "cascade",
}
"""The file of a work holds a function of its name; one that no path needs is not loaded."""


def works_of(resources: Resources, reader: Reader | None) -> tuple[WorkParts, dict[RetrievalPath, dict[str, Work]]]:
    """What the works of a graph are made of, and those of each path of retrieval by name, in their order."""
    parts = WorkParts(
        settings=resources.settings,
        sources=resources.sources,
        evidence=resources.evidence,
        prompts=resources.prompts,
        chat_model=resources.chat_model,
        rerankers=resources.rerankers,
        clustering=resources.clustering,
        embedder=resources.embedder,
        reader=reader,
    )
    return parts, {path: _works(replace(parts, path=path)) for path in resources.settings.paths}


def _works(parts: WorkParts) -> dict[str, Work]:
    wanted = [name for name, is_wanted in WORKS.items() if is_wanted(parts)]
    return {name: traced_work(name, _made(name, parts), parts.settings.tracing) for name in wanted}


def _made(name: str, parts: WorkParts) -> Work:
    make: Callable[[WorkParts], Work] = getattr(import_module(f"groundgraph.nodes.works.{name}"), name)
    return make(parts)

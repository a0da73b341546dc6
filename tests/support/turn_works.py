"""The works of `process_results`, as the picture of a graph names them."""

from __future__ import annotations

from typing import Any


def works_of(graph: Any) -> set[str]:
    """Those that the settings of a graph turn on, beside the two that are always there."""
    return set(graph.get_graph().nodes["process_results"].metadata["works"].split(", ")) - ALWAYS


ALWAYS = {"merge_results", "judge_evidence"}

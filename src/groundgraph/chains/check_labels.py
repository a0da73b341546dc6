"""Labels that refer to nothing."""

from __future__ import annotations

from collections.abc import Sequence

from groundgraph.core.turn_values import Flag


def check_labels(removed: Sequence[int]) -> list[Flag]:
    """A flag `unresolved_label` for each label that was taken out because it referred to no evidence."""
    return [
        {"kind": "unresolved_label", "sentence": "", "detail": f"[{number}] refers to no evidence"}
        for number in dict.fromkeys(removed)
    ]

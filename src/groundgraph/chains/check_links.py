"""Links and images that lead away from the evidence."""

from __future__ import annotations

from collections.abc import Sequence

from groundgraph.core.turn_values import Flag


def check_links(removed: Sequence[str]) -> list[Flag]:
    """A flag `link_removed` for each link or image that was taken out because it led elsewhere."""
    return [
        {"kind": "link_removed", "sentence": "", "detail": f"{target} is no URL of the evidence"}
        for target in dict.fromkeys(removed)
    ]

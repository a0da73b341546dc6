"""Links and images that lead away from the evidence."""

from __future__ import annotations

from collections.abc import Sequence

from groundgraph.core.turn_values import Flag


def check_links(removed: Sequence[str]) -> list[Flag]:
    """A flag `link_removed` for each link or image that led elsewhere and was made plain text; it is named defanged."""
    return [
        {"kind": "link_removed", "sentence": "", "detail": f"{target} leads elsewhere than the evidence allows"}
        for target in dict.fromkeys(removed)
    ]

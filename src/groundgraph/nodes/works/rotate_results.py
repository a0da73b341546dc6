"""Evidence that recent turns showed yields to fresh evidence, before the budget is filled (P10)."""

from __future__ import annotations

from groundgraph.chains.rotation import recently_used, rotate
from groundgraph.nodes.works.work import Change, View, Work, WorkParts, parts_of


def rotate_results(parts: WorkParts) -> Work:
    """The work. `record_turn` remembers what was shown, in the thread's metadata."""
    way = parts.way

    async def rotate_results(view: View) -> Change:
        recent = recently_used(view.state.get("metadata", {}))
        refs = rotate(
            view.refs,
            lambda ref: recent.issuperset(parts_of(view.ranking, ref[0])),
            suppress=way.rotation == "suppress",
            min_results=way.min_results,
        )
        ran = {"method": way.rotation, "left_out": len(view.refs) - len(refs)}
        return Change(refs, {"rotation": ran}, why="rotation")

    return rotate_results

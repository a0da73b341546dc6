"""Evidence that recent turns showed yields to fresh evidence, before the budget is filled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from groundgraph.nodes.works.work import Change, View, Work, WorkParts, parts_of

# Evidence that was shown in recent turns yields to fresh evidence.

T = TypeVar("T")

# The name under which a thread's metadata holds, per recent turn, the keys of the evidence that was shown.
RECENTLY_USED = "recently_used_keys"
# Keys of one turn that are remembered; the best come first.
MAX_KEYS = 200


def rotate(
    ranked: Sequence[T], was_shown: Callable[[T], bool], *, suppress: bool = False, min_results: int = 3
) -> list[T]:
    """`ranked` with everything that was shown behind what was not, both in their order.

    Args:
        ranked: best first.
        was_shown: whether a recent turn showed it.
        suppress: leave out what was shown, but for what `min_results` (at least one) pieces in all need: a question
            that is asked again gets its answer again.
        min_results: see `suppress`.
    """
    fresh = [one for one in ranked if not was_shown(one)]
    shown = [one for one in ranked if was_shown(one)]
    return fresh + (shown[: max(0, max(1, min_results) - len(fresh))] if suppress else shown)


def recently_used(metadata: Mapping[str, Any]) -> frozenset[str]:
    """The keys of evidence that recent turns of the thread showed; none where the metadata holds something else."""
    turns = metadata.get(RECENTLY_USED)
    listed = [keys for keys in turns if isinstance(keys, list)] if isinstance(turns, list) else []
    return frozenset(str(key) for keys in listed for key in keys)


def with_turn(metadata: Mapping[str, Any], keys: Collection[str], turns: int) -> list[list[str]]:
    """The keys per turn, this turn's last, for at most `turns` turns with at most `MAX_KEYS` keys each."""
    earlier = metadata.get(RECENTLY_USED)
    return [*(earlier if isinstance(earlier, list) else []), list(dict.fromkeys(keys))[:MAX_KEYS]][-turns:]


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

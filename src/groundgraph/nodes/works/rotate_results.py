"""Evidence that recent turns quoted or cited yields to fresh evidence, before the budget is filled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from groundgraph.nodes.process_results import Change, View, Work, WorkParts, parts_of
from groundgraph.text.follow_up import is_follow_up

T = TypeVar("T")

# The name under which a thread's metadata holds, per recent turn, the keys of the evidence that was used.
RECENTLY_USED = "recently_used_keys"
# Keys of one turn that are remembered; the best come first.
MAX_KEYS = 200
# So much less relevance is no worse standing: nothing tells evidence apart that is as near as that.
EQUAL = 0.05
# The rotation by which all evidence yields that was in a recent turn, to all that is fresh.
SHOWN = "shown"


def rotate(
    ranked: Sequence[T],
    was_used: Callable[[T], bool],
    standing: Callable[[T], float],
    *,
    suppress: bool = False,
    min_results: int = 3,
) -> list[T]:
    """`ranked` with what was used behind the last fresh piece of no worse standing; where there is none, it stays.

    Args:
        ranked: best first.
        was_used: whether a recent turn used it.
        standing: how relevant it is, 0 to 1.
        suppress: leave out what would be moved, but for what `min_results` (at least one) pieces in all need: a
            question that is asked again gets its answer again.
        min_results: see `suppress`.
    """
    fresh = [(place, standing(one)) for place, one in enumerate(ranked) if not was_used(one)]
    kept: list[tuple[int, int, T]] = []
    moved: list[tuple[int, int, T]] = []
    for place, one in enumerate(ranked):
        own = standing(one) - EQUAL
        behind = max((at for at, other in fresh if other >= own), default=0) if was_used(one) else 0
        if behind > place:
            moved.append((behind, place, one))
        else:
            kept.append((place, -1, one))
    if suppress:
        moved = moved[: max(0, max(1, min_results) - len(kept))]
    return [one for _, _, one in sorted([*kept, *moved], key=lambda entry: entry[:2])]


def recently_used(metadata: Mapping[str, Any]) -> frozenset[str]:
    """The keys of evidence that recent turns of the thread used; none where the metadata holds something else."""
    turns = metadata.get(RECENTLY_USED)
    listed = [keys for keys in turns if isinstance(keys, list)] if isinstance(turns, list) else []
    return frozenset(str(key) for keys in listed for key in keys)


def with_turn(metadata: Mapping[str, Any], keys: Collection[str], turns: int) -> list[list[str]]:
    """The keys per turn, this turn's last, for at most `turns` turns with at most `MAX_KEYS` keys each."""
    earlier = metadata.get(RECENTLY_USED)
    return [*(earlier if isinstance(earlier, list) else []), list(dict.fromkeys(keys))[:MAX_KEYS]][-turns:]


def rotate_results(parts: WorkParts) -> Work:
    """The work. `record_turn` remembers what was used, in the thread's metadata.

    A follow-up asks on about what was used, so it yields only where everything does that was shown.
    """
    way = parts.way

    async def rotate_results(view: View) -> Change:
        recent = recently_used(view.state.get("metadata", {}))
        everything = way.rotation == SHOWN
        refs = view.refs
        if everything or not is_follow_up(view.turn["question"]):
            refs = rotate(
                refs,
                lambda ref: recent.issuperset(parts_of(view.ranking, ref[0])),
                lambda ref: 0.0 if everything else float(ref[1]),
                suppress=way.rotation == "suppress",
                min_results=way.min_results,
            )
        ran = {"method": way.rotation, "left_out": len(view.refs) - len(refs)}
        return Change(refs, {"rotation": ran}, why="rotation")

    return rotate_results

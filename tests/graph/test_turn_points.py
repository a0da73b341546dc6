"""Which checkpoints of a conversation stay (the retention of K12)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundgraph.graph.prune_checkpoints import TurnPoint, cut_before


def conversation(turns: list[int]) -> list[TurnPoint]:
    """A straight conversation, the newest first: of each turn the input and then so many steps."""
    points: list[TurnPoint] = []
    for turn, steps in enumerate(turns):
        before = points[-1] if points else None
        points.append(TurnPoint(f"{turn}-in", before.id if before else None, before.turn if before else None, True))
        for step in range(steps):
            points.append(TurnPoint(f"{turn}-{step}", points[-1].id, f"t{turn}"))
    return points[::-1]


TURNS = st.lists(st.integers(1, 5), min_size=1, max_size=8)


@given(TURNS, st.integers(1, 10))
def test_the_last_turns_stay_with_their_inputs_and_all_before_them_goes(turns: list[int], keep: int) -> None:
    cut = cut_before(conversation(turns), keep)
    first = max(0, len(turns) - keep)
    assert cut.root.id == f"{first}-in"
    assert cut.turns == {f"t{turn}" for turn in range(first, len(turns))}
    assert {point.id.split("-")[0] for point in cut.removed} == {str(turn) for turn in range(first)}


@given(TURNS, st.integers(1, 10), st.data())
def test_a_branch_stays_when_it_was_forked_off_from_what_stays(
    turns: list[int], keep: int, data: st.DataObject
) -> None:
    points = conversation(turns)
    start = data.draw(st.sampled_from(points))
    branch = [TurnPoint("fork-1", "fork-0", "tf"), TurnPoint("fork-0", start.id, "tf")]
    cut = cut_before([points[0], *branch, *points[1:]], keep)
    alone = cut_before(points, keep)
    removed = {point.id for point in cut.removed}
    stays = start.id not in {point.id for point in alone.removed}
    assert ("fork-0" in removed, "fork-1" in removed) == (not stays, not stays)
    assert ("tf" in cut.turns) is stays
    assert removed - {"fork-0", "fork-1"} == {point.id for point in alone.removed}


def test_a_checkpoint_put_again_below_itself_does_not_hold_it_up() -> None:
    loop = [TurnPoint("b", "a", "t"), TurnPoint("a", "b", "t")]
    cut = cut_before(loop, 1)
    assert cut.removed == ()


def test_the_conversation_of_another_graph_is_left_alone() -> None:
    assert cut_before([TurnPoint("b", "a", None), TurnPoint("a", None, None, True)], 1) is None

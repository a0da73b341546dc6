"""The checkpoints of one conversation, by turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TurnPoint:
    """One checkpoint of a conversation.

    Attributes:
        id: of the checkpoint.
        parent: the id of the one before it, None for the first.
        turn: the id of the turn that it belongs to, None when it belongs to none.
        begins: whether it holds the input of a run, and still the turn before it.
        evidence: the keys of evidence that it refers to.
    """

    id: str
    parent: str | None
    turn: str | None
    begins: bool = False
    evidence: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Cut:
    """What of a conversation stays.

    Attributes:
        root: the oldest checkpoint of the last turns, from which all others that stay descend.
        removed: the others.
        turns: the ids of the turns that stay.
    """

    root: TurnPoint
    removed: tuple[TurnPoint, ...]
    turns: frozenset[str]


def cut_before(points: Sequence[TurnPoint], keep: int) -> Cut | None:
    """The cut that leaves the last `keep` turns, and every branch that was forked off from them.

    Args:
        points: the checkpoints of a conversation, the newest first: its head.
        keep: how many turns, at least 1.

    Returns:
        None when no checkpoint belongs to a turn: they are another graph's.
    """
    by_id = {point.id: point for point in points}
    root, turns = points[0], list[str]()
    for point in _chain(points[0], by_id):
        if point.turn and not point.begins and point.turn not in turns[-1:]:
            if len(turns) == keep:
                break
            turns.append(point.turn)
        root = point
    if not turns:
        return None
    kept = _descendants(root, points)
    removed = tuple(point for point in points if point.id not in kept)
    own = (point.turn for point in points if point.id in kept and not point.begins)
    return Cut(root, removed, frozenset(turn for turn in own if turn))


def _chain(head: TurnPoint, by_id: dict[str, TurnPoint]) -> list[TurnPoint]:
    """`head` and what is before it, back to the first; a loop, which LangGraph can make, ends it too."""
    chain = {head.id: head}
    while (parent := by_id.get(head.parent or "")) is not None and parent.id not in chain:
        chain[parent.id] = head = parent
    return list(chain.values())


def _descendants(root: TurnPoint, points: Sequence[TurnPoint]) -> set[str]:
    """The ids of `root` and of everything that comes from it."""
    children: dict[str | None, list[str]] = {}
    for point in points:
        children.setdefault(point.parent, []).append(point.id)
    found, waiting = {root.id}, [root.id]
    while waiting:
        for child in children.get(waiting.pop(), []):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found

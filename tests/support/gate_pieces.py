"""What passes a gate that may take back what has passed."""

from __future__ import annotations

from typing import Protocol


class Passable(Protocol):
    def feed(self, text: str, *, final: bool = False) -> str: ...


def passed(gate: Passable, *pieces: str) -> str:
    """What passes of `pieces`, behind a restart where the gate has one."""
    text = ""
    for number, piece in enumerate((*pieces, ""), 1):
        restarted = getattr(gate, "restarted", False)
        more = gate.feed(piece, final=number > len(pieces))
        text = more if getattr(gate, "restarted", False) and not restarted else text + more
    return text

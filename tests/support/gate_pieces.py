"""What passes a gate that may take back what has passed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundgraph.answers.gated_model import AnswerGate
    from groundgraph.answers.label_gate import LabelGate


def passed(gate: AnswerGate | LabelGate, *pieces: str) -> str:
    """What passes of `pieces` behind the last restart."""
    text = ""
    for step in (*(partial(gate.feed, piece) for piece in pieces), gate.flush):
        before = gate.restarts
        more = step()
        text = more if gate.restarts > before else text + more
    return text

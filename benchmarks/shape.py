"""The steps of a turn; this module loads neither groundgraph nor LangGraph."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TurnShape:
    """The steps of a turn in order, each with its number of tasks; more than one means as many Sends."""

    steps: tuple[tuple[str, int], ...]

    @property
    def fan_out(self) -> int:
        """The position of the step that consists of Sends."""
        return max(range(len(self.steps)), key=lambda position: self.steps[position][1])

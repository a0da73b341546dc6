"""How often a benchmark repeats what it measures."""

from __future__ import annotations

from dataclasses import dataclass

# Turns of each subject that are not counted.
WARM_UP = 3


@dataclass(frozen=True)
class Effort:
    """Repetitions.

    Attributes:
        rounds: how often the subjects of a comparison take turns.
        turns: turns of each subject in a round.
        waits: repetitions of what takes long because something waits, such as a hanging source.
        long_threads: turns of the long threads.
        processes: processes started per subject.
        chunks: chunks of the large knowledge base.
        questions: questions to it.
    """

    rounds: int
    turns: int
    waits: int
    long_threads: tuple[int, ...]
    processes: int
    chunks: int = 100_000
    questions: int = 150

    @property
    def unseen(self) -> range:
        """So many topics that no turn of a comparison sees one twice, nor one of another benchmark."""
        return range(1000, 1000 + WARM_UP + self.rounds * self.turns)


FULL = Effort(rounds=12, turns=20, waits=7, long_threads=(200, 1000), processes=7)
QUICK = Effort(rounds=1, turns=1, waits=1, long_threads=(20,), processes=1, chunks=2_000, questions=10)

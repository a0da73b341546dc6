"""How late an event loop is, sampled from inside it."""

from __future__ import annotations

import asyncio
import threading
import time
from array import array
from pathlib import Path

EVERY = 0.02


class LoopLag:
    """Asks to be woken every 20 ms, and notes by how much it is woken later.

    Attributes:
        late: seconds, of each sample.
        own: the same without the seconds for which the loop's thread was ready to work and the machine had no core for
            it: what other processes take is not what the loop is busy with.
    """

    def __init__(self) -> None:
        self.late, self.own = array("d"), array("d")

    async def sample(self) -> None:
        """Until it is cancelled. What was due while the loop was late is as late as what is left of it then: the
        samples of a loop that stands still for a second are fifty."""
        waited = _waited()
        while True:
            asleep = time.perf_counter()
            await asyncio.sleep(EVERY)
            late = time.perf_counter() - asleep - EVERY
            before, waited = waited, _waited()
            own = max(0.0, late - (waited - before))
            for missed in range(1 + int(late / EVERY)):
                self.late.append(late - missed * EVERY)
                self.own.append(max(0.0, own - missed * EVERY))

    def told(self) -> dict[str, float]:
        """Milliseconds: percentiles, and that of what the machine had a core for."""
        shares = {"p50": 0.5, "p99": 0.99, "max": 1.0}
        return {
            **{name: _percentile(self.late, share) for name, share in shares.items()},
            **{f"own_{name}": _percentile(self.own, share) for name, share in shares.items()},
        }


def _percentile(values: array[float] | list[float], share: float) -> float:
    ordered = sorted(values)
    return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1) if ordered else 0.0


def _waited() -> float:
    """Seconds for which this thread has waited for a core so far; 0 where the system does not tell."""
    file = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
    return int(file.read_text().split()[1]) / 1e9 if file.exists() else 0.0

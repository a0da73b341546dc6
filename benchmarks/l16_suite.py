"""L16: how long the tests take. Timed by hand, since a benchmark that runs the tests would run itself."""

from __future__ import annotations

from benchmarks.effort import Effort
from benchmarks.report import Row

COMMANDS = {"time make test": "5 minutes", "time .ci/run": "30 minutes, from nothing and with every tier"}


def run(effort: Effort) -> list[Row]:
    return [Row("L16", f"by hand: `{command}`", "", allowed=allowed) for command, allowed in COMMANDS.items()]

"""L6 with a million chunks: several minutes to write them, 4 GB of disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.effort import FULL, Effort
from benchmarks.l06_knowledge_base import measured
from benchmarks.report import Row

P95_MS = {"words": 8, "vectors": 10, "both": 15}
FILTERED_MS = 25


def run(effort: Effort) -> list[Row]:
    chunks = 1_000_000 if effort == FULL else effort.chunks
    with TemporaryDirectory() as folder:
        return asyncio.run(measured(Path(folder) / "base.sqlite", chunks, effort.questions, P95_MS, FILTERED_MS))

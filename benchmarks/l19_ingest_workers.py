"""L19: an ingest into Weaviate with vectors, by one run of the graph and shared among processes, wall time.

It needs the Weaviate server (`scripts/install_services.sh weaviate`), which takes its part of the same cores.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from benchmarks.effort import Effort
from benchmarks.l11_ingest import _sections
from benchmarks.report import Row
from groundgraph import ingest_graph, load_settings
from groundgraph.graph.ingest import run_ingest
from groundgraph.graph.ingest_shards import by_processes, by_ray, ingest_shards
from groundgraph.ingest.ingest_report import IngestReport
from groundgraph.testing import NgramEmbeddings

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
WORKERS = (1, 2, 4)
DIMENSION = 384


def run(effort: Effort) -> list[Row]:
    from weaviate_server import HOW_TO_GET_IT, running, server_binary

    binary = server_binary()
    if binary is None:
        return [Row("L19", f"not measured: {HOW_TO_GET_IT}", "-")]
    with running(binary) as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in ("markdown", "text"):
            (folder / kind).mkdir()
        for number in range(20 * effort.turns):
            _sections(folder, number)
        settings = _settings(folder, server)
        graph = ingest_graph(load_settings(settings), embeddings=NgramEmbeddings(DIMENSION))
        alone = _rate(run_ingest(graph, {}))
        rows = [_row("one run of the graph", alone, alone)]
        for workers in WORKERS:
            rows.append(
                _row(f"{workers} processes", _shared(folder, server, partial(by_processes, workers=workers)), alone)
            )
        return [*rows, _row("tasks of Ray on this machine", _shared(folder, server, by_ray), alone)]


def _shared(folder: Path, server: Any, engine: Any) -> float:
    return _rate(ingest_shards(_settings(folder, server), [], engine, embeddings=NgramEmbeddings(DIMENSION)))


def _settings(folder: Path, server: Any) -> Path:
    from weaviate_bases import weaviate_section

    given = {"path": "markdown", **weaviate_section(server)}
    file = folder / f"{given['weaviate']['prefix']}.yaml"
    file.write_text(yaml.safe_dump({"knowledge_base": given, "intent": {"mode": "static"}}))
    return file


def _rate(work: Coroutine[Any, Any, IngestReport]) -> float:
    """Chunks in a second, the start of the processes included."""
    started = time.perf_counter()
    report = asyncio.run(work)
    if report.failed:
        raise RuntimeError(f"the benchmark's own files failed: {report.failed[0]}")
    return report.chunks / (time.perf_counter() - started)


def _row(how: str, rate: float, alone: float) -> Row:
    return Row(
        "L19",
        f"Markdown with vectors of {DIMENSION} numbers into Weaviate by {how}, wall",
        f"{rate:.0f} chunks/s",
        f"{alone:.0f} chunks/s, one run of the graph",
        f"{rate / alone:.2f} times",
        values={"per_second": rate},
    )

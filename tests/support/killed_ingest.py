"""Ingests to be killed, in processes that are forked from one that has imported the package."""

from __future__ import annotations

import asyncio
import json
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from forks import FORKS

from groundgraph import ingest_graph, load_settings
from groundgraph.graph.ingest import run_ingest
from groundgraph.testing import NgramEmbeddings


def started(folder: Path, settings: dict[str, Any], given: dict[str, Any]) -> ForkServerProcess:
    """An ingest by `settings` below `folder`, whose report it writes there at its end."""
    process = FORKS.Process(target=_ingest, args=(folder, settings, given))
    process.start()
    return process


def report_of(process: ForkServerProcess, folder: Path) -> Any:
    """The report of an ingest that nobody kills."""
    process.join()
    assert process.exitcode == 0
    return json.loads((folder / "report.json").read_text())


def embedded(folder: Path) -> list[str]:
    """The last line of each text that the ingests below `folder` embedded: work that is repeated is seen."""
    log = folder / "embedded"
    return log.read_text().splitlines() if log.exists() else []


def _ingest(folder: Path, settings: dict[str, Any], given: dict[str, Any]) -> None:
    class Logged(NgramEmbeddings):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            with (folder / "embedded").open("a") as log:
                log.writelines(text.splitlines()[-1] + "\n" for text in texts)
            return self.embed_documents(texts)

    # The base notes by its name which model its vectors are from.
    Logged.__name__ = NgramEmbeddings.__name__
    placed = load_settings(settings).model_copy(update={"base_dir": folder})
    report = asyncio.run(run_ingest(ingest_graph(placed, embeddings=Logged(16)), given))
    (folder / "report.json").write_text(json.dumps(report.to_dict()))

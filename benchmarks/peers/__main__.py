"""Compare groundgraph with its peers: the same work, in environments of their own, in alternating order.

::

    python -m benchmarks.peers                      # everything; the first run installs the peers
    python -m benchmarks.peers turn words           # these works only
    python -m benchmarks.peers --plots docs/peers   # and draws the curves
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.corpus import question
from benchmarks.peers.comparison import ROOT, Comparison, Figure, Subject, compared
from benchmarks.peers.environments import python_of
from benchmarks.peers.report import as_markdown
from benchmarks.prepared_source import PreparedSource
from benchmarks.setting import SOURCES, TOPICS, turn_settings
from benchmarks.turn_shape import shape_of
from groundgraph import turn_graph

_OURS = Subject("groundgraph", "", "groundgraph_")
_LANGCHAIN = Subject("LangChain", "langchain", "langchain_")
_HAYSTACK = Subject("Haystack", "haystack", "haystack_")
_LLAMAINDEX = Subject("LlamaIndex", "llamaindex", "llamaindex_")


def comparisons(steps: Sequence[str]) -> dict[str, Comparison]:
    """All of them by name; `steps` are those of a warm turn, as `name:tasks`."""
    bare = Subject("LangGraph alone", "", "langgraph_alone", arguments=tuple(steps))
    with_a_model = Subject("groundgraph, canned model", "", "groundgraph_", "turn with a model")
    dataknobs = Subject("dataknobs, strategy alone", "dataknobs", "dataknobs_")
    engines = {name: Subject(name, "engines", "engines", arguments=(name,)) for name in _ENGINES}
    by_words = [engines[name] for name in ("tantivy", "bm25s", "fts5")]
    everything = (
        Comparison(
            "turn",
            "a turn over sources that have ten hits each ready; peers with a canned model",
            (1, 3, 10, 50),
            20,
            (_OURS, with_a_model, bare, _LANGCHAIN, _HAYSTACK, _LLAMAINDEX, dataknobs),
        ),
        Comparison(
            "at once",
            "turns over three ready sources, so many at once, all of them",
            (1, 10, 100),
            2,
            (_OURS, bare),
        ),
        Comparison(
            "thread",
            "a turn of one thread behind so many turns, SQLite saver; LangGraph alone keeps its messages only",
            (20, 200, 1000, 5000),
            5,
            (_OURS, replace(bare, largest=200)),
            grows=True,
        ),
        Comparison(
            "words",
            "a search by words of so many passages, ten hits",
            (1_000, 10_000, 100_000),
            20,
            (_OURS, *by_words, replace(_LANGCHAIN, largest=10_000), replace(_HAYSTACK, largest=10_000)),
        ),
        Comparison(
            "vectors",
            "a search by vectors (384) of so many chunks, ten hits",
            (1_000, 10_000, 100_000),
            20,
            (_OURS, engines["faiss"], engines["numpy"]),
        ),
        Comparison(
            "ingest",
            "so many Markdown files of 4.7 kB: read, cut, stored; ours with a text index on disk, peers in memory",
            (10, 100, 400),
            1,
            (_OURS, _LANGCHAIN, _HAYSTACK, _LLAMAINDEX),
        ),
    )
    return {one.work: one for one in everything}


_ENGINES = ("tantivy", "bm25s", "fts5", "faiss", "numpy")


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    known = comparisons(asyncio.run(_steps()))
    unknown = sorted(set(given.works) - set(known))
    if unknown:
        print(f"There is no comparison {', '.join(unknown)}. Known: {', '.join(known)}.", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    for work in given.works or known:
        comparison = _only(known[work], given.only)
        print(f"comparing {work} ...", file=sys.stderr, flush=True)
        figures += compared(comparison, given.environments, rounds=given.rounds, largest=given.largest)
    print(as_markdown(figures, {work: one.what for work, one in known.items()}))
    if given.json:
        given.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1), encoding="utf-8")
    if given.plots:
        _draw(figures, {work: one.what for work, one in known.items()}, given.plots, given.environments)
    return 0


def _only(comparison: Comparison, labels: Sequence[str]) -> Comparison:
    return replace(comparison, subjects=tuple(one for one in comparison.subjects if not labels or one.label in labels))


async def _steps() -> list[str]:
    graph = turn_graph(turn_settings(), sources=[PreparedSource(name, TOPICS) for name in SOURCES])
    return [f"{name}:{tasks}" for name, tasks in (await shape_of(graph, question(0, TOPICS))).steps]


def _draw(figures: Sequence[Figure], titles: dict[str, str], folder: Path, environments: Path) -> None:
    told = json.dumps({"figures": [asdict(figure) for figure in figures], "titles": titles, "folder": str(folder)})
    command = [str(python_of("plots", environments)), "-m", "benchmarks.peers.workers.plots"]
    subprocess.run(command, input=told, text=True, check=True, cwd=ROOT)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument(
        "works", nargs="*", metavar="WORK", help="default all: turn, at once, thread, words, vectors, ingest"
    )
    parser.add_argument("--rounds", type=int, default=7, help="how often the subjects take turns")
    parser.add_argument("--largest", type=int, default=100_000, help="leave larger sizes out")
    parser.add_argument(
        "--only", action="append", default=[], metavar="LABEL", help="this subject, as a table names it"
    )
    parser.add_argument(
        "--environments", type=Path, default=Path("build/peers"), help="the folder of the peers' environments"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--plots", type=Path, help="draw the curves into this folder")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""L1: CPU of a whole turn without a model and without a saver."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from benchmarks.bare_graph import bare_graph
from benchmarks.corpus import question
from benchmarks.effort import Effort
from benchmarks.interleaved import Rounds, Turn, interleaved
from benchmarks.prepared_source import PreparedSource
from benchmarks.report import Row
from benchmarks.setting import SOURCES, TOPICS, asked, memory_source, turn_settings
from benchmarks.turn_shape import shape_of
from groundgraph import GroundedSource, RetrievalIntent, turn_graph

# Of a bare graph's time, and milliseconds beside it; what a whole turn may take, by subject.
OF_BARE, OVER_BARE_MS = 1.5, 1.5
WHOLE_TURN_MS = {"varied": 4.5, "repeated": 4.5, "ready": 3.5, "unseen": 4.0}
SUBJECTS = {
    "varied": "turn, another question each time",
    "repeated": "turn, one question repeated",
    "ready": "turn, another question each time, sources that need not search",
    "unseen": "turn, another question each time, evidence never seen before, sources that need not search",
}


def run(effort: Effort) -> list[Row]:
    return asyncio.run(_run(effort))


async def _run(effort: Effort) -> list[Row]:
    sources = [memory_source(name) for name in SOURCES]
    graph = _graph(sources)
    bare = bare_graph(await shape_of(graph, question(0, TOPICS)))
    subjects: dict[str, Turn] = {
        "varied": _turns(graph),
        "bare": lambda _: bare.ainvoke({"value": 0}),
        "repeated": _turns(graph, repeated=True),
        "ready": _turns(_graph([PreparedSource(name, TOPICS) for name in SOURCES])),
        "unseen": _turns(_graph([PreparedSource(name, effort.unseen) for name in SOURCES])),
        "search": _searches(sources),
    }
    rounds = await interleaved(subjects, effort)
    return [*(_row(rounds, name) for name in SUBJECTS), _search_row(rounds)]


def _graph(sources: Sequence[GroundedSource]) -> Any:
    return turn_graph(turn_settings(), sources=sources)


def _turns(graph: Any, *, repeated: bool = False) -> Turn:
    async def turn(number: int) -> None:
        output = await graph.ainvoke(asked(question(0 if repeated else number, TOPICS)))
        found = {name: report["kept"] for name, report in output["provenance"]["sources"].items()}
        if found != dict.fromkeys(SOURCES, 10):
            raise AssertionError(f"every source must give 10 hits, not {found}")

    return turn


def _searches(sources: Sequence[GroundedSource]) -> Turn:
    async def turn(number: int) -> None:
        intent = RetrievalIntent([question(number, TOPICS)])
        for source in sources:
            await source.query(intent, top_k=10, score_threshold=0.1)

    return turn


def _row(rounds: Rounds, name: str) -> Row:
    whole, over, most = rounds.ms(name), rounds.difference(name, "bare"), WHOLE_TURN_MS[name]
    return Row(
        "L1",
        f"CPU of a {SUBJECTS[name]}",
        f"{whole:.2f} ms",
        f"{rounds.ms('bare'):.2f} ms",
        f"{over:+.2f} ms, {rounds.ratio(name, 'bare'):.2f} times",
        f"{OF_BARE} times +{OVER_BARE_MS} ms; {most} ms",
        whole <= min(OF_BARE * rounds.ms("bare") + OVER_BARE_MS, most),
        {"ms": whole, "bare_ms": rounds.ms("bare"), "over_ms": over},
    )


def _search_row(rounds: Rounds) -> Row:
    what = "CPU of the three searches alone (200 records each), part of the first two rows"
    return Row("L1", what, f"{rounds.ms('search'):.2f} ms", values={"ms": rounds.ms("search")})

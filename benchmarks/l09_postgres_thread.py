"""L9 on PostgreSQL: what a long thread costs there, in time and in bytes, and many threads at once.

For `docs/deployment.md`; run it with `python -m benchmarks.l09_postgres_thread [TURNS]`. It is not among the limits,
which are stated for SQLite.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.long_conversation import answer, converse, evidence_sources
from benchmarks.setting import TOPICS, turn_settings
from groundgraph import open_graph
from groundgraph.testing import ScriptedChatModel

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from postgres_server import HOW_TO_GET_IT, PostgresServer, debian_build, running

AT_ONCE = 50
_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "store")


async def measure(server: PostgresServer, turns: int) -> None:
    """Print the figures."""
    kept = {"type": "postgres", "url": server.database("bench")}
    settings = turn_settings(synthesis={"style": "conversational"}, checkpointer=kept, store=kept)
    async with AsyncExitStack() as stack:
        graph = await stack.enter_async_context(
            open_graph(settings, sources=evidence_sources(TOPICS), chat_model=ScriptedChatModel(answer()))
        )
        for number in range(3):
            await converse(graph, "warm-up", number)
        took, cpu, sizes = [], [], [_sizes(server)]
        for number in range(turns):
            started, own = time.perf_counter(), time.process_time()
            await converse(graph, "long", number)
            took.append((time.perf_counter() - started) * 1000)
            cpu.append((time.process_time() - own) * 1000)
            if (number + 1) % (turns // 10) == 0:
                sizes.append(_sizes(server))
        tenth = turns // 10
        print(f"a thread of {turns} turns, first tenth and last tenth")
        print(f"CPU of a turn: {median(cpu[:tenth]):.1f} ms, {median(cpu[-tenth:]):.1f} ms")
        print(f"wall time of a turn: {median(took[:tenth]):.1f} ms, {median(took[-tenth:]):.1f} ms")
        for table in _TABLES:
            first, last = (sizes[1][table] - sizes[0][table]) / tenth, (sizes[-1][table] - sizes[-2][table]) / tenth
            print(
                f"{table}: {first / 1000:.1f} kB a turn in the first tenth, {last / 1000:.1f} kB in the last, on disk"
            )
        await _crowd(graph)
        print(f"connections while {AT_ONCE} threads ran at once: {_connections(server)}")


async def _crowd(graph: Any) -> None:
    started = time.perf_counter()
    await asyncio.gather(*(converse(graph, f"crowd-{number}", number) for number in range(AT_ONCE)))
    seconds = time.perf_counter() - started
    print(f"{AT_ONCE} threads at once: {AT_ONCE / seconds:.0f} turns a second in one process")


def _sizes(server: PostgresServer) -> dict[str, int]:
    rows = server.execute(
        "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relname = ANY (%s)",
        "bench", parameters=[list(_TABLES)],
    )  # fmt: skip
    return {str(row[0]): int(row[1]) for row in rows}


def _connections(server: PostgresServer) -> int:
    return int(server.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = 'bench'")[0][0])


def main() -> None:
    """Start a server and measure."""
    build = debian_build()
    if build is None:
        raise SystemExit(HOW_TO_GET_IT)
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with running(build, fsync="on", shared_buffers="256MB") as server:
        asyncio.run(measure(server, turns))


if __name__ == "__main__":
    main()

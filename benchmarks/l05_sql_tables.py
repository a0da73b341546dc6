"""L5: whole questions over 100 000 rows, in SQLite and in PostgreSQL, with and without filters.

PostgreSQL is measured where it is installed (`scripts/install_services.sh`). Beside it stands PostgreSQL's own ranking
of the same questions, in the same run and on the same rows.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.effort import Effort
from benchmarks.large_base import MadeUp
from benchmarks.report import Row
from groundgraph import RetrievalIntent, SqlSource

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from postgres_server import HOW_TO_GET_IT, PostgresServer, debian_build, pgvector_build, running

TOP_K = 10
# Other work on the machine only ever makes a question slower.
TRIES = 3
LIMIT_MS = {"SQLite": {"none": 4, "2 %": 4, "28 %": 6}, "PostgreSQL": {"none": 30, "2 %": 10, "28 %": 40}}
FILTERS: dict[str, dict[str, Any]] = {"none": {}, "2 %": {"category": "c7"}, "28 %": {"region": "north"}}
CHANGES = {
    "one row changed": "UPDATE docs SET body = body || ' anew' WHERE id = ?",
    "one row was deleted": "DELETE FROM docs WHERE id = ?",
}
COLUMNS = "id integer PRIMARY KEY, body text, category text, region text"
INDEXES = "CREATE INDEX by_category ON docs (category); CREATE INDEX by_region ON docs (region);"
TEXT_INDEX = "CREATE INDEX by_words ON docs USING gin (to_tsvector('english', body)); ANALYZE docs"
_OWN_RANKING = (
    "SELECT id FROM docs, "
    "(SELECT CAST(replace(CAST(plainto_tsquery('english', %s) AS text), '&', '|') AS tsquery) AS q) AS asked "
    "WHERE to_tsvector('english', body) @@ q ORDER BY ts_rank(to_tsvector('english', body), q) DESC LIMIT 10"
)

Ask = Callable[[str], Awaitable[Any]]


def run(effort: Effort) -> list[Row]:
    made = MadeUp(effort.chunks, effort.questions)
    rows = list(_rows(made))
    questions = list(made.asked)
    measured = asyncio.run(_sqlite(rows, questions))
    build = debian_build() or pgvector_build()
    if build is None:
        return [*measured, Row("L5", f"PostgreSQL was not measured: {HOW_TO_GET_IT}", "")]
    with running(build, shared_buffers="256MB") as server:
        return [*measured, *asyncio.run(_postgres(server, rows, questions))]


def _rows(made: MadeUp) -> Iterator[tuple[int, str, str, str]]:
    chosen = random.Random(5)
    texts = (chunk.chunk.text for document in made for chunk in document.chunks)
    for number, text in enumerate(texts, 1):
        yield number, text, f"c{chosen.randrange(50)}", "north" if chosen.random() < 0.28 else "south"


async def _sqlite(rows: list[Any], questions: list[str]) -> list[Row]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "big.sqlite"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(f"CREATE TABLE docs ({COLUMNS}); {INDEXES}")
            connection.executemany("INSERT INTO docs VALUES (?, ?, ?, ?)", rows)
        source = SqlSource(path, table="docs", name="docs", index=Path(folder) / "index.sqlite",
                           text_search_fields=["body"])  # fmt: skip
        await source.refresh()
        found = [await _measured(source, "SQLite", name, len(rows), questions) for name in FILTERS]
        found += [await _followed(source, path, *change) for change in CHANGES.items()]
        await source.close()
    return found


async def _followed(source: SqlSource, path: Path, what: str, statement: str) -> Row:
    """How long the index takes to follow one change: CPU of this process, the best of some tries."""
    times = []
    for number in range(1, TRIES + 1):
        with closing(sqlite3.connect(path)) as owner, owner:
            owner.execute(statement, (number,))
        started = time.process_time()
        await source.refresh()
        times.append(time.process_time() - started)
    return Row("L5", f"SQLite: the index brought up to date after {what}, CPU", f"{min(times):.1f} s")


async def _postgres(server: PostgresServer, rows: list[Any], questions: list[str]) -> list[Row]:
    server.execute(f"CREATE TABLE docs ({COLUMNS})")
    import psycopg

    with psycopg.connect(server.url(), autocommit=True) as connection:
        with connection.cursor().copy("COPY docs FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        connection.execute(f"{INDEXES} {TEXT_INDEX}")
        source = SqlSource(server.url(), table="docs", name="docs", text_search_fields=["body"])
        found = [await _measured(source, "PostgreSQL", name, len(rows), questions) for name in FILTERS]
        await source.close()

        async def own_ranking(question: str) -> None:
            connection.execute(_OWN_RANKING, (question,)).fetchall()

        times = await _times(questions[: max(5, len(questions) // 5)], own_ranking)
    return [*found, Row("L5", "PostgreSQL's own ts_rank over all rows with a word, median", f"{median(times):.1f} ms")]


async def _measured(source: SqlSource, database: str, name: str, rows: int, questions: list[str]) -> Row:
    filters = {source.name: FILTERS[name]} if FILTERS[name] else {}

    async def ask(question: str) -> None:
        await source.query(RetrievalIntent([question], filters), top_k=TOP_K)

    times = await _times(questions, ask)
    kept = "" if name == "none" else f", with a filter that keeps {name}"
    limit = LIMIT_MS[database][name]
    p95 = quantiles(times, n=20)[-1]
    return Row(
        "L5",
        f"{database}: whole questions over {rows:,} rows{kept}, median (p95 {p95:.1f} ms)",
        f"{median(times):.1f} ms",
        allowed=f"{limit} ms",
        ok=median(times) <= limit,
        values={"p50_ms": median(times), "p95_ms": p95},
    )


async def _times(questions: list[str], ask: Ask) -> list[float]:
    """Milliseconds of each question, the best of some tries, after a first pass over some."""
    for question in questions[:10]:
        await ask(question)
    best = []
    for question in questions:
        times = []
        for _ in range(TRIES):
            started = time.perf_counter()
            await ask(question)
            times.append((time.perf_counter() - started) * 1000)
        best.append(min(times))
    return best

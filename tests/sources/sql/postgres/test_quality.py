"""Routing among the public tables on PostgreSQL (R14); for the search itself see `tests/evals/test_sql_corpus.py`."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from asking import ask, opened

from groundgraph.sources.sql import SqlSource

pytestmark = pytest.mark.live


def rows(file):
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.mark.covers("R14")
@pytest.mark.slow
async def test_200_tables_are_routed_as_on_sqlite(postgres, data, tmp_path):
    import sqlite3
    from contextlib import closing

    url = postgres.database("wtq")
    with closing(sqlite3.connect(data / "wtq" / "tables.sqlite")) as copied:
        tables = [r[0] for r in copied.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        script = []
        for table in tables:
            columns = [r[1] for r in copied.execute(f'PRAGMA table_info("{table}")')]
            declared = ", ".join('"{}" text'.format(name.replace('"', '""')) for name in columns)
            script.append(f'CREATE TABLE "{table}" ({declared})')
        postgres.execute("; ".join(script), "wtq")
        for table in tables:
            held = copied.execute(f'SELECT * FROM "{table}"').fetchall()
            postgres.fill("wtq", **{table: [[None if v is None else str(v) for v in row] for row in held]})
    source = opened(SqlSource(url, name="wtq", index=tmp_path / "index.sqlite", max_tables=5))
    questions = rows(data / "wtq" / "queries.jsonl")[::10]
    seen = Counter()
    for question in questions:
        seen["routed"] += question["table"] in await source.route(question["text"], limit=5)
        results = await ask(source, question["text"])
        seen["answered"] += bool(results)
        seen["said"] += bool(results and {"computed", "needs_computation"} & set(results[0].metadata))
    print(dict(seen), len(questions))
    assert seen["routed"] >= 0.75 * len(questions)
    assert seen["answered"] >= 0.98 * len(questions)
    assert seen["said"] >= 0.45 * len(questions)

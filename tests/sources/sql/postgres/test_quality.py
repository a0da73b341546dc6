"""What is found on PostgreSQL is what is found on SQLite, on the public sets (done-when 2 of issue 6; L5; R14)."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import pytest
from plant_database import fill

from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.sql import SqlSource

pytestmark = pytest.mark.live
TABLE = "CREATE TABLE docs (id TEXT PRIMARY KEY, title TEXT, passage TEXT)"
INDEX = (
    "CREATE INDEX ON docs USING gin "
    "(to_tsvector('russian', coalesce(title, '') || ' ' || coalesce(passage, ''))); ANALYZE docs"
)


def rows(file):
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def judged(folder):
    found = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, gain = line.split("\t")
        if int(gain) > 0:
            found[query][document] = int(gain)
    return found


async def ndcg(source, questions, qrels):
    import ir_measures
    from ir_measures import nDCG

    run = {}
    for question in questions:
        found = [r for r in await source.query(RetrievalIntent([question["text"]]), top_k=10) if "key" in r.metadata]
        run[question["_id"]] = {r.metadata["key"]: -float(n) for n, r in enumerate(found)} or {"none": 0.0}
    wanted = {query: dict(found) for query, found in qrels.items() if query in run}
    return ir_measures.calc_aggregate([nDCG @ 10], wanted, run)[nDCG @ 10]


@pytest.mark.covers("L5")
@pytest.mark.parametrize(
    ("name", "corpus"),
    [
        ("clapnq", "corpus.jsonl"),
        ("xquad_en", "corpus.jsonl"),
        ("xquad_ru", "corpus.jsonl"),
        ("rfc6749_qa", "corpus.jsonl"),
        ("tatqa", "corpus_tables.jsonl"),
    ],
)
async def test_ndcg_on_postgresql_is_within_a_hundredth_of_sqlite(postgres, data, tmp_path, name, corpus):
    folder = data / name
    stored = [(row["_id"], row.get("title", ""), row["text"].replace("\0", "")) for row in rows(folder / corpus)]
    url = postgres.database("quality", TABLE)
    postgres.fill("quality", docs=stored)
    postgres.execute(INDEX, "quality")
    qrels = judged(folder)
    questions = [q for q in rows(folder / "queries.jsonl") if q["_id"] in qrels and "text" in q]
    questions = questions[:: max(1, len(questions) // 120)]
    sqlite = SqlSource(fill(tmp_path / "d.db", TABLE, docs=stored), name="docs", table="docs", index=":memory:")
    server = SqlSource(url, name="docs", table="docs")
    here, there = await ndcg(sqlite, questions, qrels), await ndcg(server, questions, qrels)
    print(f"{name} {corpus}: SQLite {here:.4f}, PostgreSQL {there:.4f}, {len(questions)} questions")
    assert type(server._engine).__name__ == "NativeEngine"
    assert there >= here - 0.01
    await sqlite.close()
    await server.close()


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
    source = SqlSource(url, name="wtq", index=tmp_path / "index.sqlite", max_tables=5)
    questions = rows(data / "wtq" / "queries.jsonl")[::10]
    seen = Counter()
    for question in questions:
        seen["routed"] += question["table"] in await source.route(question["text"], limit=5)
        results = await source.query(RetrievalIntent([question["text"]]))
        seen["answered"] += bool(results)
        seen["said"] += bool(results and {"computed", "needs_computation"} & set(results[0].metadata))
    print(dict(seen), len(questions))
    assert seen["routed"] >= 0.75 * len(questions)
    assert seen["answered"] >= 0.98 * len(questions)
    assert seen["said"] >= 0.45 * len(questions)
    await source.close()

"""Routing and retrieval over the public tables (R14, L14)."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from asking import ask, opened
from evaluated import MOST, SETS, ndcg
from plant_database import fill

from groundgraph import load_settings
from groundgraph.evals.corpus_base import corpus_in_sql
from groundgraph.evals.dataset import load_dataset
from groundgraph.sources.sql import SqlSource

pytestmark = pytest.mark.covers("R14")


def rows(file):
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.fixture
async def wtq(tmp_path, data):
    source = opened(
        SqlSource(data / "wtq" / "tables.sqlite", name="wtq", index=tmp_path / "index.sqlite", max_tables=5)
    )
    await source.refresh()
    return source


@pytest.mark.slow
async def test_questions_are_routed_to_their_table(wtq, data):
    questions = rows(data / "wtq" / "queries.jsonl")
    within = Counter()
    for question in questions:
        routed = await wtq.route(question["text"], limit=5)
        within.update(k for k in (1, 3, 5) if question["table"] in routed[:k])
    shares = {k: within[k] / len(questions) for k in (1, 3, 5)}
    print(shares)
    assert shares[5] >= 0.77
    assert shares[1] >= 0.60


@pytest.mark.slow
async def test_rows_are_found_or_the_question_is_said_to_need_a_computation(wtq, data):
    questions = rows(data / "wtq" / "queries.jsonl")[::5]
    seen = Counter()
    for question in questions:
        results = await ask(wtq, question["text"])
        seen["answered"] += bool(results)
        seen["table"] += any(result.metadata.get("table") == question["table"] for result in results)
        seen["said"] += bool(results and {"computed", "needs_computation"} & set(results[0].metadata))
    print(seen, len(questions))
    assert seen["answered"] >= 0.98 * len(questions)
    assert seen["table"] >= 0.5 * len(questions)
    # 50.6 % of the questions need a computation.
    assert seen["said"] >= 0.5 * len(questions)


async def test_only_max_tables_are_searched_and_the_id_names_table_and_row(tmp_path):
    names = [f"t{number}" for number in range(6)]
    path = fill(
        tmp_path / "many.db",
        ";".join(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, word TEXT)" for name in names),
        **{name: [(number, "pump")] for number, name in enumerate(names, 1)},
    )
    source = opened(SqlSource(path, name="many", max_tables=2))
    results = await ask(source, "pump", top_k=10)
    assert [result.source_id for result in results] == ["t0/1", "t1/2"]
    assert await source.route("the word in t4") == ["t4", "t0"]


@pytest.mark.slow
@pytest.mark.covers("L14")
async def test_tatqa_tables_as_rows_of_text_reach_their_figure(tmp_path, data):
    dataset = load_dataset(SETS["tatqa tables alone"].files(data))
    tables = {corpus.name: await corpus_in_sql("sqlite:///corpus.db", corpus, tmp_path) for corpus in dataset.corpora}
    figure = await ndcg(dataset, tables, load_settings({}), MOST)
    print(figure)
    assert figure >= 0.5

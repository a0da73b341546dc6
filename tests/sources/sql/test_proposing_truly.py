"""A number that a model proposes to compute is told only where SQL says that it was asked for (R15): a proposal that
leaves out a condition, turns one round or takes another function is refused."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from table_questions import Asked, Database, Questions, Table, databases, make_database, some_of, spoken

from groundgraph.answers.propose_computation import read_proposal
from groundgraph.core.errors import FilterInvalid
from groundgraph.sources.sql import SqlSource

pytestmark = pytest.mark.covers("R15", "S8")
_tally: Counter[str] = Counter()


def _proposals(table: Table, question: str) -> Iterator[dict]:
    """What a model may propose over one table, much of it wrong: nothing of a condition, one of its values, another."""
    conditions: list[dict] = [{}]
    for name in table.of("text", "integer"):
        for value in table.values(name):
            if spoken(str(value)).casefold() in question.casefold():
                conditions += [{name: value}, {name: {"not": value}}]
                conditions += [{name: {side: value}} for side in ("gt", "lte")] if isinstance(value, int) else []
    for name in table.of("flag"):
        conditions += [{name: True}, {name: False}, {name: None}]
    for name in (name for name in table.of("date") if spoken(name) in question):
        conditions += [{name: {"gte": "2021-01-01", "lte": "2021-12-31"}}, {name: {"lt": "2021-01-01"}}]
        conditions += [{name: {"gt": "2021-12-31"}}, {name: ""}]
    pairs = [one | two for one in conditions for two in conditions if set(one).isdisjoint(two)][:60]
    for filters in (*conditions, *pairs):
        yield {"table": table.name, "function": "count", "filters": filters}
    for name in table.of("integer"):
        yield from ({"table": table.name, "function": one, "field": name} for one in ("sum", "average", "max", "min"))
    yield from ({"table": table.name, "function": "count", "field": name} for name in table.of("text", "integer"))
    yield from ({"table": table.name, "function": "distinct", "field": name} for name in table.of("text", "integer"))


async def _told(path: Path, database: Database, asked: list[Asked]) -> list[list[tuple[dict, float]]]:
    source = SqlSource(path, name="tables", index=":memory:", relations=database.relations)
    computing = source.computing()
    try:
        tables = await computing.tables([one.name for one in database.tables], {})
        found = []
        for one in asked:
            numbers = []
            for given_proposal in chain.from_iterable(_proposals(table, one.text) for table in database.tables):
                try:
                    result = await computing.run(read_proposal(given_proposal, tables, one.text), {})
                except FilterInvalid:
                    continue
                numbers.append((given_proposal, result.metadata["value"]))
            found.append(numbers)
        return found
    finally:
        await source.close()


# New examples are not looked for: where a table is called like a column of another, or like a value, some wrong
# proposals still pass (docs/decisions/ranking.md).
LOOKED_AT = settings(phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck))


@settings(LOOKED_AT, max_examples=8)
@given(databases(), st.randoms(use_true_random=False))
def test_what_a_model_proposes_is_what_was_asked_for(database: Database, random: Random):
    _nothing_else_is_told(database, random)


@pytest.mark.slow
@settings(LOOKED_AT, max_examples=25)
@given(databases(), st.randoms(use_true_random=False))
def test_of_more_tables_what_a_model_proposes_is_what_was_asked_for(database: Database, random: Random):
    _nothing_else_is_told(database, random)


def _nothing_else_is_told(database: Database, random: Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tables.sqlite"
        make_database(path, database.tables)
        with closing(sqlite3.connect(path)) as connection:
            questions = Questions(database, lambda statement: connection.execute(statement).fetchone()[0])
            # Of whom "my" and "them" are, no table tells.
            every = [one for one in questions.every() if not re.search(" my | them ", one.text)]
            asked = some_of(every, random)
        told = asyncio.run(_told(path, database, asked))
    for one, numbers in zip(asked, told, strict=True):
        _tally["readable"] += one.readable
        _tally["computed"] += one.readable and bool(numbers)
        wrong = [(proposal, number) for proposal, number in numbers if number not in (None, *one.may_be)]
        assert not wrong, f"{one.text} {wrong[:3]}, not {set(one.may_be)}; {database}"


@pytest.mark.slow
def test_most_questions_that_can_be_read_may_be_computed():
    _tally.clear()
    test_of_more_tables_what_a_model_proposes_is_what_was_asked_for()
    assert _tally["computed"] > 0.7 * _tally["readable"] > 0

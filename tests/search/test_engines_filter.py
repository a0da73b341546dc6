"""Every engine keeps the rows that `matches` keeps, and no other (R2)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from filtered_engines import HOSTILE, WORDS, Engine, Portable, Searched, Sqlite, postgres_engine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres_fixture import postgres  # noqa: F401 - a fixture
from weaviate_server import WeaviateServer

from examples import examples
from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import matches
from groundgraph.sources.weaviate import WeaviateSource

TIMES = ["2024-03-31T17:00:00", "2024-03-31T19:00+02:00", "2023-03-31T17:00:00Z", "2025-04-01T03:00:00.000+10:00"]
DAYS_NEAR = st.sampled_from(["2023-03-31", "2024-03-31", "2024-04-01", "0001-01-01", "9999-12-31"])
ARTICLE_VALUES = {
    "manual": st.sampled_from(["pumps", "Pumps", "belts", "насосы", "л", "ELT", "p", "pumps ", *HOSTILE]),
    "year": st.integers(2021, 2027),
    "price": st.floats(202, 203, allow_nan=False) | st.sampled_from([202.4, 202.5]),
    "day": DAYS_NEAR | st.sampled_from(TIMES),
    "seen": DAYS_NEAR | st.sampled_from(TIMES),
    "public": st.booleans(),
    "tags": st.sampled_from(["all", "pumps", "belts", "All", "x"]),
    "sizes": st.integers(0, 20) | st.sampled_from(["x", "11", "2"]) | st.floats(0, 3, allow_nan=False) | st.booleans(),
    "owner": st.sampled_from(["Acme", "acme", "Acme ", "cm"]),
}


def weaviate_engine(server: WeaviateServer, runner: asyncio.Runner) -> Searched:
    from weaviate_collections import FIELDS, MAPPING, address, embedder, make

    runner.run(make(server, "Filtered"))
    source = WeaviateSource(
        "Filtered", name="manuals", address=address(server), mapping=MAPPING, fields=FIELDS, embedder=embedder()
    )
    engine = Searched(source, "pump belt seal насос", ARTICLE_VALUES, runner)
    assert len(engine.everything) == 6
    return engine


@pytest.fixture(
    scope="module",
    params=["sqlite", "portable", *(pytest.param(name, marks=pytest.mark.live) for name in ("postgres", "weaviate"))],
)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "postgres":
        with postgres_engine(request.getfixturevalue("postgres")) as made:
            yield made
    elif request.param == "weaviate":
        with asyncio.Runner() as runner:
            own = weaviate_engine(request.getfixturevalue("weaviate_server"), runner)
            yield own
            runner.run(own.source.close())
    else:
        yield {"sqlite": Sqlite, "portable": Portable}[request.param]()


ORDERED = st.sampled_from(["gte", "gt", "lte", "lt"])
# By how a condition is written. Drawn from all of them at once, one would come too seldom to find what it loses.
FORMS = {
    "equal": lambda values: values,
    "one of": lambda values: st.lists(values, min_size=1, max_size=3),
    "not": lambda values: (values | st.lists(values, min_size=1, max_size=3)).map(lambda value: {"not": value}),
    "contains": lambda _values: WORDS.map(lambda text: {"contains": text}),
    "beside": lambda values: st.dictionaries(ORDERED, values, min_size=1, max_size=2),
}


def any_form(values):
    both = st.fixed_dictionaries({"not": values, "gte": values}) | st.fixed_dictionaries({"not": values, "lt": values})
    return st.one_of(both, *(form(values) for form in FORMS.values()))


@pytest.mark.covers("R2", "R4")
@pytest.mark.guard
@pytest.mark.parametrize("form", [*FORMS, "several"])
@settings(
    max_examples=examples(40, quick=15),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_an_engine_keeps_the_rows_that_matches_keeps(engine, form, data):
    if form == "several":
        wanted = st.fixed_dictionaries({}, optional={name: any_form(own) for name, own in engine.operands.items()})
    else:
        name = data.draw(st.sampled_from(sorted(engine.operands)))
        wanted = st.fixed_dictionaries({name: FORMS[form](engine.operands[name])})
    try:
        filters = engine.checked(data.draw(wanted))
        rows, kept = engine.filtered(data.draw(engine.rows), filters)
    except FilterInvalid:
        return
    assert kept == [row for row in rows if matches(filters, row)]

"""The conformance suite (R1, R2, R10): each check has a source that it alone catches."""

from __future__ import annotations

import asyncio
import itertools
import json
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace

import pytest

from groundgraph.core.errors import SourceContractBroken
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.conformance import CHECKS, HOSTILE_VALUE, ODD_QUERIES, check_source
from groundgraph.sources.contract import ask
from groundgraph.testing import FaultySource, InMemorySource

QUERY = "refund policy"
FIELDS = {"topic": {"type": "string"}, "year": {"type": "integer"}}
RECORDS = [
    {"id": "a", "content": "Refund policy: 30 days.", "topic": "returns", "year": 2024},
    {"id": "b", "content": "A refund is paid within a week.", "topic": "payment", "year": 2025},
    {"id": "c", "content": "Our policy on privacy.", "topic": "privacy", "year": 2026},
    {"id": "d", "content": "Shipping is free."},
]


class Good(InMemorySource):
    """The good source, or one that answers in another `way`."""

    def __init__(self, way=None, **options):
        super().__init__(RECORDS, name="shop", schema=SourceSchema("shop", dict(FIELDS)), **options)
        self.way = way

    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        if self.way is None:
            return await self.good(intent, top_k, score_threshold)
        return await self.way(self.good, intent, top_k, score_threshold)

    async def good(self, intent, top_k, threshold):
        return await super().query(intent, top_k=top_k, score_threshold=threshold)


def changed(change):
    """Gives what `change` makes of each result."""

    async def way(good, intent, top_k, threshold):
        return [made for result in await good(intent, top_k, threshold) if (made := change(result))]

    return way


def filtered(keep):
    """Filters by what `keep` leaves of the conditions."""

    async def way(good, intent, top_k, threshold):
        filters = {"shop": keep(intent.filters.get("shop", {}))}
        return await good(replace(intent, filters=filters), top_k, threshold)

    return way


async def repeated_ids(good, intent, top_k, threshold):
    answers = [await good(replace(intent, text_queries=[text]), top_k, threshold) for text in intent.text_queries]
    return [result for answer in answers for result in answer]


async def negative_relevance(good, intent, top_k, threshold):
    results = await good(intent, top_k, threshold)
    return results if threshold or not results else [*results[:-1], replace(results[-1], relevance=-0.1)]


async def one_too_many(good, intent, top_k, threshold):
    return await good(intent, top_k + (top_k == 2), threshold)


async def other_order(good, intent, top_k, threshold):
    results = await good(intent, max(2, top_k), threshold)
    return results[1:2] if top_k == 1 else results


async def ignores_threshold(good, intent, top_k, _threshold):
    return await good(intent, top_k, 0.0)


async def needs_a_query(good, intent, top_k, threshold):
    _ = intent.text_queries[0]
    return await good(intent, top_k, threshold)


async def chokes_on_quotes(good, intent, top_k, threshold):
    if any('"' in text for text in intent.text_queries):
        raise RuntimeError("unterminated string")
    return await good(intent, top_k, threshold)


def warms_up():
    calls = itertools.count(1)

    async def way(good, intent, top_k, threshold):
        score = float(min(next(calls), 15))
        return [replace(result, score=score) for result in await good(intent, top_k, threshold)]

    return way


def mixes_up_callers():
    running = []

    async def way(good, intent, top_k, threshold):
        running.append(1)
        await asyncio.sleep(0)
        crowded = len(running) > 1
        await asyncio.sleep(0)
        running.pop()
        return (await good(intent, top_k, threshold))[crowded:]

    return way


def falls_back(given):
    topic = given.get("topic")
    known = {HOSTILE_VALUE, *(record.get("topic") for record in RECORDS)}
    return {} if isinstance(topic, str) and topic not in known else given


def not_quoted(given):
    return {name: value for name, value in given.items() if not (isinstance(value, str) and "'" in value)}


class BadSchema(Good):
    def get_schema(self):
        schema = super().get_schema()
        schema.fields["blob"] = {"type": "blob"}
        return schema


class FieldsAsList(Good):
    async def metadata_fields(self):
        return ["topic"]


class ClosesOnce(Good):
    closed = False

    async def close(self):
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


BROKEN = {
    "names": lambda: Good(source_type=" "),
    "schema": BadSchema,
    "metadata_fields": FieldsAsList,
    "finds": lambda: Good(changed(lambda _: None)),
    "result_type": lambda: Good(changed(lambda result: SimpleNamespace(**vars(result)))),
    "own_name": lambda: Good(changed(lambda result: replace(result, source_name="another"))),
    "content": lambda: Good(changed(lambda result: replace(result, content="\n"))),
    "source_ids": lambda: Good(repeated_ids),
    "relevance": lambda: Good(negative_relevance),
    "metadata_json": lambda: Good(changed(lambda result: replace(result, metadata=MappingProxyType(result.metadata)))),
    "top_k": lambda: Good(one_too_many),
    "order": lambda: Good(other_order),
    "deterministic": lambda: Good(warms_up()),
    "score_threshold": lambda: Good(ignores_threshold),
    "no_queries": lambda: Good(needs_a_query),
    "odd_queries": lambda: Good(chokes_on_quotes),
    "filters_hold": lambda: Good(filtered(lambda given: {k: v for k, v in given.items() if not isinstance(v, dict)})),
    "filters_empty": lambda: Good(filtered(falls_back)),
    "filters_hostile": lambda: Good(filtered(not_quoted)),
    "concurrent": lambda: Good(mixes_up_callers()),
    "close_twice": ClosesOnce,
}


def test_every_check_has_a_source_that_breaks_it():
    assert list(BROKEN) == list(CHECKS)


@pytest.mark.covers("R1")
@pytest.mark.parametrize(("check", "make"), BROKEN.items(), ids=list(BROKEN))
async def test_exactly_the_broken_part_is_reported(check, make):
    report = await check_source(make(), query=QUERY)
    assert [failure.id for failure in report.failures] == [check], report.failures
    assert report.failures[0].detail
    with pytest.raises(SourceContractBroken, match=check):
        report.raise_for_failures()


@pytest.mark.covers("R1")
async def test_a_good_source_passes_every_check():
    report = await check_source(Good(), query=QUERY)
    report.raise_for_failures()
    assert report.passed
    assert [check.id for check in report.checks] == list(CHECKS)
    assert not any(check.detail for check in report.checks)


@pytest.mark.covers("R2")
async def test_a_source_that_compares_times_letter_by_letter_is_reported():
    fields = {"at": {"type": "datetime"}, "note": {"type": "string"}}
    time = "2026-03-01T10:00:00+00:00"
    records = [{"id": name, "content": f"Refund policy {name}", "at": time, "note": time} for name in "ab"]

    class TextTimes(InMemorySource):
        def get_schema(self):
            return SourceSchema("shop", fields)

        async def query(self, intent, **options):
            # As plain text, and without a schema of its own it does not know better.
            plain = json.loads(json.dumps(intent.filters))
            return await super().query(replace(intent, filters=plain), **options)

    instants = InMemorySource(records, name="shop", schema=SourceSchema("shop", fields))
    (await check_source(instants, query=QUERY)).raise_for_failures()
    report = await check_source(TextTimes(records, name="shop"), query=QUERY)
    assert [failure.id for failure in report.failures] == ["filters_hold"]
    assert "2026-03-01T15:30:00+05:30" in report.failures[0].detail


@pytest.mark.covers("R1")
async def test_a_plain_query_is_allowed():
    source = FaultySource(Good(), blocking=True)
    (await check_source(source, query=QUERY)).raise_for_failures()
    assert source.calls > len(ODD_QUERIES)


@pytest.mark.covers("R2")
async def test_without_a_schema_the_filter_checks_do_not_apply():
    report = await check_source(InMemorySource(RECORDS, name="shop"), query=QUERY)
    report.raise_for_failures()
    skipped = [check.id for check in report.checks if check.detail.startswith("does not apply")]
    assert skipped == ["schema", "filters_hold", "filters_empty", "filters_hostile"]


@pytest.mark.covers("R2")
async def test_given_filters_are_used_and_required_fields_always_set():
    asked = []

    class Recorder(InMemorySource):
        async def query(self, intent, *, top_k=5, score_threshold=0.0):
            asked.append(intent.filters.get("shop", {}))
            return await super().query(intent, top_k=top_k, score_threshold=score_threshold)

    records = [{**record, "tenant": "acme"} for record in RECORDS]
    schema = SourceSchema("shop", {**FIELDS, "tenant": {"type": "string"}}, ["tenant"])
    source = Recorder(records, name="shop", schema=schema)
    filters = {"tenant": "acme", "year": {"gte": 2024}}
    report = await check_source(source, query=QUERY, filters=filters)
    report.raise_for_failures()
    assert all("tenant" in conditions for conditions in asked)
    assert filters in asked


async def test_a_source_that_hangs_or_fails_is_reported_and_not_waited_for():
    hanging = FaultySource(Good(), delay=0.2)
    report = await check_source(hanging, query=QUERY, timeout=0.05)
    assert {failure.detail for failure in report.failures} == {"took longer than 0.05 s"}
    failing = FaultySource(Good(), error=OSError("disk gone"))
    report = await check_source(failing, query=QUERY)
    assert "finds" in [failure.id for failure in report.failures]
    assert "raised OSError: disk gone" in [failure.detail for failure in report.failures]


async def test_an_outcome_reads_well():
    report = await check_source(BROKEN["finds"](), query=QUERY)
    lines = [str(check) for check in report.checks]
    assert "ok  names" in lines
    assert any(line.startswith("FAILED  finds: 0 results for 'refund policy'") for line in lines)


async def test_ask_awaits_a_decorated_coroutine_function_too():
    class Decorated(Good):
        def query(self, intent, **options):
            return super().query(intent, **options)

    source = Decorated()
    assert len(await ask(source, RetrievalIntent([QUERY]), top_k=5, score_threshold=0.0)) == 3

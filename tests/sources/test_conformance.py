"""The conformance suite (R1, R2, R10): each check has a source that it alone catches."""

from __future__ import annotations

import asyncio
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
    def __init__(self, **options):
        super().__init__(RECORDS, name="shop", schema=SourceSchema("shop", dict(FIELDS)), **options)


class Changed(Good):
    """The good source with its answers changed by `change`, a method of the subclass."""

    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        return self.change(await super().query(intent, top_k=top_k, score_threshold=score_threshold))


class NoType(Good):
    def __init__(self):
        super().__init__(source_type=" ")


class BadSchema(Good):
    def get_schema(self):
        schema = super().get_schema()
        schema.fields["blob"] = {"type": "blob"}
        return schema


class FieldsAsList(Good):
    async def metadata_fields(self):
        return ["topic"]


class FindsNothing(Changed):
    def change(self, results):
        return []


class Namespaces(Changed):
    def change(self, results):
        return [SimpleNamespace(**vars(result)) for result in results]


class ForeignName(Changed):
    def change(self, results):
        return [replace(result, source_name="another") for result in results]


class BlankContent(Changed):
    def change(self, results):
        return [replace(result, content="\n") for result in results]


class RepeatedIds(Good):
    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        answers = [
            await super(RepeatedIds, self).query(
                replace(intent, text_queries=[text]), top_k=top_k, score_threshold=score_threshold
            )
            for text in intent.text_queries
        ]
        return [result for answer in answers for result in answer]


class NegativeRelevance(Good):
    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        results = await super().query(intent, top_k=top_k, score_threshold=score_threshold)
        if score_threshold:
            return results
        return [*results[:-1], *(replace(result, relevance=-0.1) for result in results[-1:])]


class MetadataNoDict(Changed):
    def change(self, results):
        return [replace(result, metadata=MappingProxyType(result.metadata)) for result in results]


class OneTooMany(Good):
    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        top_k += top_k == 2
        return await super().query(intent, top_k=top_k, score_threshold=score_threshold)


class OtherOrder(Good):
    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        results = await super().query(intent, top_k=max(2, top_k), score_threshold=score_threshold)
        return results[1:2] if top_k == 1 else results


class WarmsUp(Changed):
    calls = 0

    def change(self, results):
        self.calls += 1
        return [replace(result, score=float(min(self.calls, 15))) for result in results]


class IgnoresThreshold(Good):
    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        return await super().query(intent, top_k=top_k, score_threshold=0.0)


class NeedsAQuery(Good):
    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        _ = intent.text_queries[0]
        return await super().query(intent, top_k=top_k, score_threshold=score_threshold)


class ChokesOnQuotes(Good):
    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        if any('"' in text for text in intent.text_queries):
            raise RuntimeError("unterminated string")
        return await super().query(intent, top_k=top_k, score_threshold=score_threshold)


class Filtered(Good):
    """The good source with its filters changed by `filters`, a method of the subclass."""

    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        filters = self.filters(intent.filters.get("shop", {}))
        return await super().query(
            replace(intent, filters={"shop": filters}), top_k=top_k, score_threshold=score_threshold
        )


class IgnoresNot(Filtered):
    def filters(self, given):
        return {name: condition for name, condition in given.items() if not isinstance(condition, dict)}


class FallsBack(Filtered):
    def filters(self, given):
        known = {record.get("topic") for record in RECORDS}
        given_topic = given.get("topic")
        unknown = isinstance(given_topic, str) and given_topic not in known and given_topic != HOSTILE_VALUE
        return {} if unknown else given


class Injectable(Filtered):
    def filters(self, given):
        hostile = {name for name, condition in given.items() if isinstance(condition, str) and "'" in condition}
        return {name: condition for name, condition in given.items() if name not in hostile}


class MixesUpCallers(Good):
    running = 0

    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        self.running += 1
        await asyncio.sleep(0)
        crowded = self.running > 1
        await asyncio.sleep(0)
        self.running -= 1
        results = await super().query(intent, top_k=top_k, score_threshold=score_threshold)
        return results[1:] if crowded else results


class ClosesOnce(Good):
    closed = False

    async def close(self):
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


BROKEN = {
    "names": NoType,
    "schema": BadSchema,
    "metadata_fields": FieldsAsList,
    "finds": FindsNothing,
    "result_type": Namespaces,
    "own_name": ForeignName,
    "content": BlankContent,
    "source_ids": RepeatedIds,
    "relevance": NegativeRelevance,
    "metadata_json": MetadataNoDict,
    "top_k": OneTooMany,
    "order": OtherOrder,
    "deterministic": WarmsUp,
    "score_threshold": IgnoresThreshold,
    "no_queries": NeedsAQuery,
    "odd_queries": ChokesOnQuotes,
    "filters_hold": IgnoresNot,
    "filters_empty": FallsBack,
    "filters_hostile": Injectable,
    "concurrent": MixesUpCallers,
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
    report = await check_source(FindsNothing(), query=QUERY)
    lines = [str(check) for check in report.checks]
    assert "ok  names" in lines
    assert any(line.startswith("FAILED  finds: 0 results for 'refund policy'") for line in lines)


async def test_ask_awaits_a_decorated_coroutine_function_too():
    class Decorated(Good):
        def query(self, intent, **options):
            return super().query(intent, **options)

    source = Decorated()
    assert len(await ask(source, RetrievalIntent([QUERY]), top_k=5, score_threshold=0.0)) == 3

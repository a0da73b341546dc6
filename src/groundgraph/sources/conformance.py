"""Checks that a source keeps the contract, for anybody's source and without a test framework.

The kits of the other contracts, in `groundgraph.testing`, report in the same form.

::

    report = await check_source(MySource(...), query="a question that it answers")
    report.raise_for_failures()
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, timedelta, timezone
from typing import Any, TypeVar

from groundgraph.core.errors import FilterInvalid, SourceContractBroken, TenantUnknown
from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.core.filters import check_filters, matches, with_times, written_time
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import FIELD_TYPES, SourceSchema
from groundgraph.resilience.bounds import within
from groundgraph.sources.contract import GroundedSource, ask

# The checks of the conformance suite: functions of a `Probe` that raise when the contract is broken.

TOP_K = 5
AT_ONCE = 10
ANOTHER_ZONE = timezone(timedelta(hours=5, minutes=30))
NO_SUCH_VALUE = "groundgraph-conformance-no-such-value"
HOSTILE_VALUE = "'; DROP TABLE x; --"
_OPERATORS = ['"', "'", "NOT", "%", "_", "\\", "(((", "-", "^~*?", "{}[]", "col:val", "$1", "%(x)s", ":x", "\0"]
_SCRIPTS = ["\U0001f469\u200d\U0001f467 \U0001f642", "ёлка", "שלום", "漢字", "a\u0301", "\u200d"]
_LONG = ["x" * 5000, "word " * 1000]
ODD_QUERIES = ["", " \n\t", 'a"b AND (c* NEAR', "a OR", "SELECT 1; --", *_OPERATORS, *_SCRIPTS, *_LONG]


class Broken(Exception):
    """A check found the contract broken; the text says how."""


class DoesNotApply(Exception):
    """A check cannot be made on this source; the text says why."""


P = TypeVar("P")
Check = Callable[[P], Awaitable[None]]


@dataclass
class Probe:
    """The source under test, a query that it answers, and the conditions to filter by."""

    source: GroundedSource
    query: str
    filters: dict[str, Any] = field(default_factory=dict)

    async def ask(
        self,
        *queries: str,
        top_k: int = TOP_K,
        threshold: float = 0.0,
        filters: Mapping[str, Any] | None = None,
    ) -> list[SourceResult]:
        """What the source answers."""
        conditions = {**self.required_conditions(), **(filters or {})}
        intent = RetrievalIntent(list(queries), {self.source.name: conditions} if conditions else {})
        return await ask(self.source, intent, top_k=top_k, score_threshold=threshold)

    async def results(self, top_k: int = TOP_K) -> list[SourceResult]:
        """What the source answers to the query that it knows."""
        return await self.ask(self.query, top_k=top_k)

    def required_conditions(self) -> dict[str, Any]:
        """The conditions without which the source must not be asked."""
        schema = self.source.get_schema()
        required = schema.required_fields if isinstance(schema, SourceSchema) else []
        return {name: self.filters[name] for name in required if name in self.filters}

    def text_fields(self) -> list[str]:
        """The declared fields that take any text as a value; a check that needs one does not apply without any."""
        schema = self.source.get_schema()
        fields = schema.fields if isinstance(schema, SourceSchema) else {}
        kinds = ("string", "text")
        names = [name for name, spec in fields.items() if spec.get("type", "string") in kinds and not spec.get("enum")]
        if not names:
            raise DoesNotApply("no declared field takes any text")
        return names


def require(holds: bool, message: str) -> None:
    """Raise `Broken` with `message` unless it `holds`."""
    if not holds:
        raise Broken(message)


def _ids(results: list[SourceResult]) -> list[str]:
    return [result.source_id for result in results]


async def _names(probe: Probe) -> None:
    for attribute in ("name", "source_type"):
        value = getattr(probe.source, attribute)
        require(isinstance(value, str) and bool(value.strip()), f"{attribute} is {value!r}, not a text")


async def _schema(probe: Probe) -> None:
    schema = probe.source.get_schema()
    if schema is None:
        raise DoesNotApply("the source declares no schema")
    require(isinstance(schema, SourceSchema), f"get_schema() gave {type(schema).__name__}")
    for name, spec in schema.fields.items():
        kind = spec.get("type", "string")
        require(kind in FIELD_TYPES, f"field '{name}' has the type {kind!r}, not one of {', '.join(FIELD_TYPES)}")
        enum = spec.get("enum")
        require(enum is None or (isinstance(enum, list) and bool(enum)), f"the enum of '{name}' is {enum!r}")
    missing = set(schema.required_fields) - set(schema.fields)
    require(not missing, f"required but not declared: {', '.join(sorted(missing))}")


async def _metadata_fields(probe: Probe) -> None:
    fields = await probe.source.metadata_fields()
    require(
        isinstance(fields, set) and all(isinstance(name, str) for name in fields),
        f"metadata_fields() gave {fields!r}, not a set of names",
    )


async def _finds(probe: Probe) -> None:
    count = len(await probe.results())
    require(count >= 2, f"{count} results for {probe.query!r}; pass a query that has at least two")


async def _result_type(probe: Probe) -> None:
    results = await probe.results()
    require(isinstance(results, list), f"query() gave {type(results).__name__}, not a list")
    for result in results:
        require(isinstance(result, SourceResult), f"a result is a {type(result).__name__}, not a SourceResult")


async def _own_name(probe: Probe) -> None:
    expected = (probe.source.name, probe.source.source_type)
    for result in await probe.results():
        found = (result.source_name, result.source_type)
        require(found == expected, f"result {result.source_id!r} says {found}, the source {expected}")


async def _content(probe: Probe) -> None:
    for result in await probe.results():
        require(
            isinstance(result.content, str) and bool(result.content.strip()),
            f"result {result.source_id!r} has the content {result.content!r}",
        )


async def _source_ids(probe: Probe) -> None:
    # The same text twice: what both find must still come once.
    ids = _ids(await probe.ask(probe.query, probe.query))
    require(all(isinstance(found, str) and found for found in ids), f"not all ids are texts: {ids!r}")
    twice = sorted({found for found in ids if ids.count(found) > 1})
    require(not twice, f"more than one result has the id {', '.join(map(repr, twice))}")


async def _relevance(probe: Probe) -> None:
    for result in await probe.results():
        value = result.relevance
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        legal = is_number and math.isfinite(value) and 0 <= value <= 1
        require(legal, f"result {result.source_id!r} has the relevance {value!r}, not 0 to 1")


async def _metadata_json(probe: Probe) -> None:
    for result in await probe.results():
        require(isinstance(result.metadata, dict), f"metadata is a {type(result.metadata).__name__}")
        try:
            json.dumps(jsonable(result.metadata), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise Broken(f"the metadata of {result.source_id!r} cannot be JSON: {error}") from error


async def _top_k(probe: Probe) -> None:
    for top_k in (1, 2, TOP_K):
        count = len(await probe.results(top_k))
        require(count <= top_k, f"{count} results for top_k={top_k}")
    count = len(await probe.ask(probe.query, probe.query, top_k=1))
    require(count <= 2, f"{count} results for two text queries and top_k=1")


async def _order(probe: Probe) -> None:
    one, more = _ids(await probe.results(1)), _ids(await probe.results())
    require(one == more[:1], f"top_k=1 gives {one}, but top_k={TOP_K} starts with {more[:1]}")


async def _deterministic(probe: Probe) -> None:
    first, second = await probe.results(), await probe.results()
    require(first == second, f"two equal calls gave {_ids(first)} and {_ids(second)}, or other values")


async def _score_threshold(probe: Probe) -> None:
    found = [result.relevance for result in await probe.results()]
    for threshold in (max(found, default=1.0), 1.0):
        for result in await probe.ask(probe.query, threshold=threshold):
            require(
                result.relevance >= threshold,
                f"result {result.source_id!r} has {result.relevance}, below score_threshold={threshold}",
            )


async def _no_queries(probe: Probe) -> None:
    results = await probe.ask()
    require(isinstance(results, list), f"an intent without text queries gave {type(results).__name__}, not a list")


async def _odd_queries(probe: Probe) -> None:
    for query in ODD_QUERIES:
        shown = query if len(query) < 40 else f"{query[:20]}... ({len(query)} characters)"
        try:
            results = await probe.ask(query)
        except Exception as error:
            raise Broken(f"the query {shown!r} raised {type(error).__name__}: {error}") from error
        require(isinstance(results, list), f"the query {shown!r} gave {type(results).__name__}, not a list")


async def _filters_hold(probe: Probe) -> None:
    given = with_times(probe.source.get_schema(), probe.filters)
    conditions = [given] if given else list(_conditions(probe.source, await probe.results()))
    if not conditions:
        raise DoesNotApply("no declared field has a value in the results")
    for filters in conditions:
        results = await probe.ask(probe.query, filters=filters)
        for result in results:
            _require_satisfied(filters, result)
        may_exclude_all = any(isinstance(condition, Mapping) for condition in filters.values())
        require(bool(results) or may_exclude_all, f"{filters} gives nothing, though a result satisfies it")


def _require_satisfied(filters: Mapping[str, Any], result: SourceResult) -> None:
    present = {name: condition for name, condition in filters.items() if name in result.metadata}
    require(
        matches(present, result.metadata),
        f"result {result.source_id!r} does not satisfy {filters}: its metadata is {result.metadata}",
    )


def _conditions(source: GroundedSource, results: list[SourceResult]) -> Iterator[dict[str, Any]]:
    """For each declared field, equality with, a list of, and the negation of a value that a result has.

    A time is also asked for as it is in another zone.
    """
    schema = source.get_schema()
    if schema is None:
        return
    for name, declared in schema.fields.items():
        values = [result.metadata[name] for result in results if result.metadata.get(name) is not None]
        asked = [values[0], [values[0]], {"not": values[0]}] if values else []
        if asked and declared.get("type") in ("date", "datetime"):
            asked += _in_another_zone(values[0])
        for condition in asked:
            try:
                yield check_filters(schema, {name: condition}, source=source.name)
            except FilterInvalid:
                continue  # for example a list of tags, which no condition can be equal to


def _in_another_zone(value: Any) -> list[str]:
    """`value` as clocks in another zone show it, when it is a time."""
    moment = written_time(value) if isinstance(value, str) else None
    if moment is None or not 1 < moment.year < 9999:
        return []
    return [(moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(ANOTHER_ZONE).isoformat()]


async def _filters_empty(probe: Probe) -> None:
    for name in probe.text_fields():
        results = await _unless_unknown(probe, {name: NO_SUCH_VALUE})
        require(not results, f"{name} = {NO_SUCH_VALUE!r} matches nothing, yet gives {_ids(results)}")


async def _filters_hostile(probe: Probe) -> None:
    names = probe.text_fields()
    before = await probe.results()
    for name in names:
        results = await _unless_unknown(probe, {name: HOSTILE_VALUE})
        require(not results, f"{name} = {HOSTILE_VALUE!r} gives {_ids(results)}, not nothing")
    require(await probe.results() == before, f"after a filter with the value {HOSTILE_VALUE!r} answers differ")


async def _unless_unknown(probe: Probe, filters: Mapping[str, Any]) -> list[SourceResult]:
    """What the source answers; a source that keeps tenants apart may also say that it knows no such tenant."""
    try:
        return await probe.ask(probe.query, filters=filters)
    except TenantUnknown:
        return []


async def _concurrent(probe: Probe) -> None:
    alone = await probe.results()
    answers = await asyncio.gather(*(probe.results() for _ in range(AT_ONCE)))
    differing = sum(answer != alone for answer in answers)
    require(not differing, f"{differing} of {AT_ONCE} queries at once gave another answer than one alone")


async def _close_twice(probe: Probe) -> None:
    await probe.source.close()
    await probe.source.close()


# By id, in the order in which they run; closing comes last.
CHECKS: dict[str, Check[Probe]] = {
    "names": _names,
    "schema": _schema,
    "metadata_fields": _metadata_fields,
    "finds": _finds,
    "result_type": _result_type,
    "own_name": _own_name,
    "content": _content,
    "source_ids": _source_ids,
    "relevance": _relevance,
    "metadata_json": _metadata_json,
    "top_k": _top_k,
    "order": _order,
    "deterministic": _deterministic,
    "score_threshold": _score_threshold,
    "no_queries": _no_queries,
    "odd_queries": _odd_queries,
    "filters_hold": _filters_hold,
    "filters_empty": _filters_empty,
    "filters_hostile": _filters_hostile,
    "concurrent": _concurrent,
    "close_twice": _close_twice,
}


@dataclass(frozen=True)
class CheckOutcome:
    """What one check found.

    Attributes:
        id: the name of the check, stable between versions.
        passed: whether that part of the contract is kept; true when the check does not apply.
        detail: what was wrong, or why the check does not apply; else empty.
    """

    id: str
    passed: bool
    detail: str = ""

    def __str__(self) -> str:
        return f"{'ok' if self.passed else 'FAILED'}  {self.id}{': ' if self.detail else ''}{self.detail}"


@dataclass(frozen=True)
class ConformanceReport:
    """The outcomes of all checks, in order.

    Attributes:
        source_name: the name of the source, or of what else was checked.
        checks: what each check found.
        kind: what was checked, such as `source` or `knowledge store`.
    """

    source_name: str
    checks: list[CheckOutcome]
    kind: str = "source"

    @property
    def failures(self) -> list[CheckOutcome]:
        """The checks that failed."""
        return [check for check in self.checks if not check.passed]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    def raise_for_failures(self) -> None:
        """Raise `SourceContractBroken`, naming every failed check, when there is one."""
        if self.failures:
            lines = "\n".join(f"  {check.id}: {check.detail}" for check in self.failures)
            raise SourceContractBroken(f"The {self.kind} '{self.source_name}' breaks its contract:\n{lines}")


async def check_source(
    source: GroundedSource,
    *,
    query: str,
    filters: Mapping[str, Any] | None = None,
    timeout: float = 30.0,
) -> ConformanceReport:
    """Run every check on `source`; the last one closes it.

    Args:
        source: the source, which must not change meanwhile.
        query: a text query for which the source has at least two results.
        filters: conditions on the source's declared fields that at least one result of `query` satisfies;
            needed when the source has required fields. Without them the conditions are made from the declared
            fields and the metadata of the results.
        timeout: the longest that one check may take, in seconds.
    """
    probe = Probe(source, query, dict(filters or {}))
    return ConformanceReport(str(source.name), await outcomes(CHECKS, probe, timeout))


async def outcomes(checks: Mapping[str, Check[P]], probe: P, timeout: float) -> list[CheckOutcome]:
    """What each of `checks`, by id, finds when it is made on `probe`, one after the other.

    Args:
        timeout: the longest that one check may take, in seconds.
    """
    return [await _outcome(name, check, probe, timeout) for name, check in checks.items()]


async def _outcome(name: str, check: Check[P], probe: P, timeout: float) -> CheckOutcome:
    try:
        await within(timeout, check(probe))
    except Broken as broken:
        return CheckOutcome(name, False, str(broken))
    except DoesNotApply as reason:
        return CheckOutcome(name, True, f"does not apply: {reason}")
    except TimeoutError:
        return CheckOutcome(name, False, f"took longer than {timeout:g} s")
    except Exception as error:
        return CheckOutcome(name, False, f"raised {type(error).__name__}: {error}")
    return CheckOutcome(name, True)

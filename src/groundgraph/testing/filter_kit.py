"""Does a source filter as everything else does? Its results are held against `groundgraph.core.filters.matches`.

::

    (await check_filters(MySource(...), query="words that find everything")).raise_for_failures()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from functools import partial
from itertools import chain
from random import Random
from typing import Any

from groundgraph.core.errors import FilterInvalid, TenantUnknown
from groundgraph.core.filters import check_filters as checked
from groundgraph.core.filters import matches, written_time
from groundgraph.sources.conformance import (
    ANOTHER_ZONE,
    HOSTILE_VALUE,
    NO_SUCH_VALUE,
    Check,
    ConformanceReport,
    DoesNotApply,
    Probe,
    outcomes,
    require,
)
from groundgraph.sources.contract import GroundedSource

MOST_ROWS = 200
_ORDERED = ("gte", "gt", "lte", "lt")
_ODD = [HOSTILE_VALUE, NO_SUCH_VALUE, "%", "_", "*", "\\", '"', "$1", "%(x)s", ""]
_DAYS = ["0001-01-01", "2024-02-29", "9999-12-31"]
_NUMBERS = [0, 10**400, -(10**400)]
# By type what a source may well be wrong about.
_EXTREME: dict[str, list[Any]] = {
    "date": _DAYS,
    "datetime": _DAYS,
    "boolean": [True, False],
    "integer": _NUMBERS,
    "number": _NUMBERS,
}


@dataclass
class _Filtered:
    """A source that is filtered.

    Attributes:
        probe: asks it.
        examples: conditions of each form.
        seed: of what they are drawn by.
    """

    probe: Probe
    examples: int
    seed: int

    async def rows(self) -> dict[str, dict[str, Any]]:
        """By id the metadata of everything that the query finds."""
        results = await self.probe.results(MOST_ROWS)
        return {result.source_id: result.metadata for result in results}

    async def operands(self) -> dict[str, list[Any]]:
        """By declared field the values that conditions compare it with: those of the rows, and others near to them."""
        schema, rows = self.probe.source.get_schema(), (await self.rows()).values()
        fields = schema.fields if schema else {}
        held = {name: [row[name] for row in rows if row.get(name) is not None] for name in fields}
        free = [name for name in fields if name not in self.probe.filters and held[name]]
        if not free:
            raise DoesNotApply("no declared field has a value in the results")
        return {name: _near(fields[name].get("type", "string"), held[name]) for name in free}


def _near(kind: str, held: Sequence[Any]) -> list[Any]:
    values = [one for value in held for one in (value if isinstance(value, list) else [value])]
    near = [one for value in values for one in (value, *_beside(value))]
    if kind in ("date", "datetime"):
        near += chain.from_iterable(_times_beside(str(value)) for value in values)
    return [*near, *_EXTREME.get(kind, _ODD)]


def _beside(value: Any) -> list[Any]:
    """Values that are nearly `value`, and differ."""
    if isinstance(value, str):
        return [value.swapcase(), f"{value} ", f" {value}", value[:-1], value[1:]]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    return [value - 1, value + 1, value + 0.5, -value]


def _times_beside(value: str) -> list[str]:
    """The day of a time, those beside it, times of that day, and the same time as clocks elsewhere show it."""
    moment = written_time(value) or written_time(f"{value}T12:00:00")
    if moment is None or not 1 < moment.year < 9999:
        return []
    elsewhere = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(ANOTHER_ZONE)
    days = [(moment + timedelta(days=apart)).date().isoformat() for apart in (-1, 0, 1)]
    return [*days, elsewhere.isoformat(), moment.isoformat(), f"{days[1]}T12:00:00", f"{days[1]}T23:59:59Z"]


Form = Callable[[Random, Sequence[Any]], Any]


def _equal(random: Random, values: Sequence[Any]) -> Any:
    return random.choice(values)


def _one_of(random: Random, values: Sequence[Any]) -> Any:
    return random.choices(values, k=random.randint(1, 3))


def _negated(random: Random, values: Sequence[Any]) -> Any:
    return {"not": random.choice([_equal, _one_of])(random, values)}


def _contains(random: Random, values: Sequence[Any]) -> Any:
    text = str(random.choice(values))
    start = random.randint(0, len(text))
    piece = text[start : start + random.randint(1, 6)]
    return {"contains": random.choice([text, piece, piece.swapcase()])}


def _compared(random: Random, values: Sequence[Any]) -> Any:
    return {operator: random.choice(values) for operator in random.sample(_ORDERED, random.randint(1, 2))}


def _compared_and_negated(random: Random, values: Sequence[Any]) -> Any:
    return {"not": random.choice(values), random.choice(_ORDERED): random.choice(values)}


FORMS: dict[str, Form] = {
    "equal": _equal,
    "one_of": _one_of,
    "not": _negated,
    "contains": _contains,
    "compared": _compared,
    "compared_and_not": _compared_and_negated,
}


async def _finds_rows(filtered: _Filtered) -> None:
    count = len(await filtered.rows())
    require(
        2 <= count < MOST_ROWS, f"{count} results for {filtered.probe.query!r}; 2 to {MOST_ROWS - 1} can be checked"
    )


async def _form_holds(filtered: _Filtered, *, name: str) -> None:
    random, operands = Random(f"{name} {filtered.seed}"), await filtered.operands()
    drawn: list[Mapping[str, Any]] = []
    if name == "compared":
        # Only beside a value that a row has does `gt` differ from `gte`.
        drawn += [{field: {operator: values[0]}} for field, values in operands.items() for operator in _ORDERED]
    for _ in range(filtered.examples):
        field = random.choice(sorted(operands))
        drawn.append({field: FORMS[name](random, operands[field])})
    await _hold(filtered, drawn)


async def _several_hold(filtered: _Filtered) -> None:
    random, operands = Random(f"several {filtered.seed}"), await filtered.operands()
    drawn = []
    for _ in range(filtered.examples):
        fields = random.sample(sorted(operands), min(len(operands), random.randint(1, 3)))
        drawn.append({field: random.choice(list(FORMS.values()))(random, operands[field]) for field in fields})
    await _hold(filtered, drawn)


async def _hold(filtered: _Filtered, drawn: Sequence[Mapping[str, Any]]) -> None:
    source, rows, answered = filtered.probe.source, await filtered.rows(), 0
    for conditions in drawn:
        try:
            filters = checked(source.get_schema(), conditions, source=source.name)
            found = await filtered.probe.ask(
                filtered.probe.query, top_k=MOST_ROWS, filters={**filtered.probe.filters, **filters}
            )
        except (FilterInvalid, TenantUnknown):
            continue  # a value that is none of the field's type, or an operator that the source does not have
        answered += 1
        kept = {result.source_id for result in found}
        wanted = {name for name, row in rows.items() if matches(filters, row)}
        require(kept == wanted, f"{dict(conditions)} keeps {sorted(kept)}, and should keep {sorted(wanted)}")
    if not answered:
        raise DoesNotApply("the source refuses every such condition")


CHECKS: dict[str, Check[_Filtered]] = {
    "rows": _finds_rows,
    **{name: partial(_form_holds, name=name) for name in FORMS},
    "several": _several_hold,
}


async def check_filters(
    source: GroundedSource,
    *,
    query: str,
    filters: Mapping[str, Any] | None = None,
    examples: int = 40,
    seed: int = 0,
    timeout: float = 60.0,
) -> ConformanceReport:
    """Ask `source` with conditions of every form, and hold what it keeps against `matches` on the same metadata.

    The source stays open. Conditions compare each declared field with its own values, with others that are nearly
    those, and with hostile text.

    Args:
        source: must declare a schema, and must not change meanwhile.
        query: a text query that finds everything there is, at most 199 results; what filters hide is drawn from them.
        filters: conditions without which the source must not be asked, such as a tenant; no others are drawn for
            their fields.
        examples: how many conditions of each form are drawn.
        seed: of what is drawn; the same conditions come again with the same one.
        timeout: the longest that one form may take, in seconds.
    """
    filtered = _Filtered(Probe(source, query, dict(filters or {})), examples, seed)
    return ConformanceReport(str(source.name), await outcomes(CHECKS, filtered, timeout))

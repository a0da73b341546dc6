"""What a database of any kind leaves out, `matches` does not keep; and what it keeps is checked (R2, R3)."""

from __future__ import annotations

import json
import tempfile
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plant_database import fill
from portable_dialect import NAME
from written_times import near_times

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.filters import check_filters, matches
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.sql.introspect import Wanted
from groundgraph.sources.sql.location import OtherAddress
from groundgraph.sources.sql.portable.database import PortableDatabase

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
COLUMNS = {
    "word": ("string", "TEXT COLLATE NOCASE"),
    "whole": ("integer", "INTEGER"),
    "part": ("number", "REAL"),
    "day": ("date", "DATE"),
    "moment": ("datetime", "DATETIME"),
    "yes": ("boolean", "BOOLEAN"),
}
DAYS = st.dates().map(str)
MOMENTS = st.datetimes().map(lambda moment: moment.isoformat(timespec="seconds"))


def whole_seconds(text):
    return datetime.fromisoformat(text).isoformat(timespec="seconds")


WORDS = st.sampled_from(["a", "A", "b", "aB", "ёж", "Ёж", "5", "", "a b", "a ", "'; --", "%"])
NUMBERS = st.integers(-9, 9) | st.floats(-9, 9).map(lambda number: round(number, 1))
VALUES = {
    "word": WORDS,
    "whole": st.integers(-9, 9) | st.sampled_from([2**63 - 1, -(2**63)]),
    "part": NUMBERS,
    "day": DAYS,
    "moment": MOMENTS | near_times(zones=()).map(whole_seconds),
    "yes": st.booleans(),
}
WANTED = {**VALUES, "day": DAYS | near_times(), "moment": MOMENTS | DAYS | near_times()}
ROW = st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()})


def conditions(values):
    some = values | st.lists(values, min_size=1, max_size=3)
    operators = st.dictionaries(st.sampled_from(["gte", "gt", "lte", "lt", "not"]), values, min_size=1, max_size=2)
    return some | operators | st.builds(lambda text: {"contains": text}, WORDS)


@pytest.mark.guard
@QUICK
@given(
    rows=st.lists(ROW, max_size=6),
    wanted=st.fixed_dictionaries({}, optional={n: conditions(v) for n, v in WANTED.items()}),
)
def test_r2_the_rows_that_matches_keeps_are_kept_and_no_other(rows, wanted):
    schema = SourceSchema("fuzz", {name: {"type": kind} for name, (kind, _) in COLUMNS.items()})
    try:
        filters = check_filters(schema, wanted, source="fuzz")
    except FilterInvalid:
        return
    script = "CREATE TABLE t (id INTEGER PRIMARY KEY, {})".format(
        ", ".join(f"{name} {declared}" for name, (_, declared) in COLUMNS.items())
    )
    with tempfile.TemporaryDirectory() as folder:
        stored = [
            (n, *(row[c].replace("T", " ") if c == "moment" and row[c] else row[c] for c in COLUMNS))
            for n, row in enumerate(rows)
        ]
        path = fill(Path(folder) / "fuzz.db", script, **({"t": stored} if stored else {}))
        database = PortableDatabase(OtherAddress(f"{NAME}:///{path}"), source="fuzz", wanted=Wanted(["t"]))
        (shape,) = database.shapes(Wanted(["t"]))
        kept = json.loads(database.keys(shape, filters, 0))
        fetched = database.fetch(shape, list(range(len(rows))), filters)
        database.close()
    expected = [n for n, row in enumerate(rows) if matches(filters, row)]
    assert sorted(kept) == expected == sorted(fetched)

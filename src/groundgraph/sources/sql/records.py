"""Records of Python, a CSV file or a JSONL file as a table in memory (`backend: memory`)."""

from __future__ import annotations

import csv
import json
import sqlite3
import uuid
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem, SourceUnavailable, refuse_any
from groundgraph.core.evidence import jsonable
from groundgraph.core.exact_number import ExactNumber, exact_number
from groundgraph.sources.sql.shape import number

# Any table at all has a name by which results refer to it.
_DECLARED = {
    "integer": "INTEGER",
    "number": "REAL",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "datetime": "DATETIME",
    "array": "JSON",
}
KEY = "id"


class MemoryTable:
    """A table in a SQLite database in memory, filled when it is first needed.

    Args:
        name: the name of the table.
        records: mappings of column names to values.
        path: a CSV file with a header line, or a JSONL file with one object on each line.
        types: the declared types of fields; those of others follow from their values.
        columns: columns that exist even when no record has them.
    """

    def __init__(
        self,
        name: str,
        records: Iterable[Mapping[str, Any]] = (),
        *,
        path: Path | None = None,
        types: Mapping[str, str] | None = None,
        columns: Sequence[str] = (),
    ) -> None:
        self.uri = f"file:groundgraph-{uuid.uuid4().hex}?mode=memory&cache=shared"
        self.name = name
        self._records = records if path else _checked(name, records)
        self._path = path
        self._types = dict(types or {})
        self._columns = list(columns)
        self._connection: sqlite3.Connection | None = None

    def fill(self) -> None:
        """Create the table and its rows, once.

        Raises:
            SourceUnavailable: the file is not there or cannot be read.
        """
        if self._connection is not None:
            return
        records = [dict(record) for record in (_from_file(self._path) if self._path else self._records)]
        columns = list(
            dict.fromkeys([*(name for record in records for name in record), *self._types, *self._columns])
        ) or [KEY]
        connection = sqlite3.connect(self.uri, uri=True, check_same_thread=False)
        try:
            self._create(connection, columns, records)
        except (sqlite3.Error, UnicodeError, OverflowError) as error:
            connection.close()
            raise ConfigurationError([Problem(f"{self.name}.records", str(error))]) from error
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def close(self) -> None:
        """Forget the rows."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _create(self, connection: sqlite3.Connection, columns: Sequence[str], records: list[dict[str, Any]]) -> None:
        kinds = self._kinds(columns, records)
        if _is_csv(self._path):
            records = [{name: _typed(kinds[name], value) for name, value in record.items()} for record in records]
        key = f", PRIMARY KEY ({_quoted(KEY)})" if _is_key([record.get(KEY) for record in records]) else ""
        declared = ", ".join(f"{_quoted(name)} {_DECLARED.get(kinds[name], 'TEXT')}" for name in columns)
        with connection:
            connection.execute(f"CREATE TABLE {_quoted(self.name)} ({declared}{key})")
            marks = ", ".join("?" * len(columns))
            connection.executemany(
                f"INSERT INTO {_quoted(self.name)} VALUES ({marks})",
                ([_stored(record.get(name)) for name in columns] for record in records),
            )

    def _kinds(self, columns: Sequence[str], records: list[dict[str, Any]]) -> dict[str, str]:
        """By column what was declared, else what its values show."""
        infer = _kind_of_texts if _is_csv(self._path) else _kind
        return {name: self._types.get(name) or infer([record.get(name) for record in records]) for name in columns}


def _checked(name: str, records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    kept = list(records)
    problems = [
        Problem(f"{name}.records[{number}]", f"a record maps column names to values; this is {type(record).__name__}")
        for number, record in enumerate(kept)
        if not isinstance(record, Mapping) or not all(isinstance(key, str) and key for key in record)
    ]
    refuse_any(problems)
    return kept


def _from_file(path: Path) -> list[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if _is_csv(path):
                return [_told(row) for row in csv.DictReader(file)]
            found = [json.loads(line, parse_float=exact_number) for line in file if line.strip()]
    except (OSError, ValueError, csv.Error) as error:
        raise SourceUnavailable(f"The records in '{path}' cannot be read: {error}.") from error
    if not all(isinstance(record, dict) for record in found):
        raise SourceUnavailable(f"The records in '{path}' cannot be read: every line must be a JSON object.")
    return found


def _is_csv(path: Path | None) -> bool:
    return path is not None and path.suffix.lower() == ".csv"


def _told(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row of a CSV file without cells that have no name and names that have no cell."""
    return {name: value for name, value in row.items() if name and isinstance(value, str)}


_TYPES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("boolean", (bool,)),
    ("integer", (int,)),
    ("number", (int, float)),
    ("array", (list, tuple)),
)


def _kind(values: Sequence[Any]) -> str:
    """The kind of the values that are there; texts where they differ, and where SQLite could not hold one exactly."""
    present = [value for value in values if value is not None and value != ""]
    if not present or any(map(_is_beyond, present)):
        return "string"
    fitting = (kind for kind, types in _TYPES if all(isinstance(value, types) for value in present))
    return next(fitting, "string")


def _kind_of_texts(values: Sequence[Any]) -> str:
    """The kind of the values of a CSV column; what begins with 0 is a code, such as a postal one."""
    present = [value for value in values if value]
    codes = any(value[0] in "0+" and value.isdigit() and len(value) > 1 for value in present)
    return "string" if codes or not present else _kind([number(value, value) for value in present])


def _is_beyond(value: Any) -> bool:
    """Whether `value` is a number that neither 64 bits nor a float hold: that of an account, for example."""
    if isinstance(value, ExactNumber):
        return Decimal(value.written) != Decimal(repr(float(value)))
    return isinstance(value, int) and not -(1 << 63) <= value < 1 << 63


def _is_key(values: Sequence[Any]) -> bool:
    usable = all(isinstance(value, str | int) and value != "" for value in values)
    return bool(values) and usable and len(set(values)) == len(values) == len({str(value) for value in values})


def _typed(kind: str, value: Any) -> Any:
    if value == "":
        return None
    return number(value, value) if kind in ("integer", "number") else value


def _stored(value: Any) -> Any:
    if value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, float):
        return str(value) if _is_beyond(value) else float(value)
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else str(value)
    plain = jsonable(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

"""Small databases, and questions over their tables of which SQL tells the answer."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from groundgraph.text.words import is_cyrillic


@dataclass(frozen=True)
class Names:
    """What tables, columns and values are called in databases of one kind; a column has values of one list."""

    languages: str
    tables: Sequence[str]
    texts: Sequence[str]
    values: Sequence[Sequence[str]]
    integers: Sequence[str]
    dates: Sequence[str]
    flags: Sequence[str]


NAMES = (
    Names(
        "en de",
        ("customers", "orders", "order_items", "Members", "Räume", "заявки", "open orders", "status"),
        ("status", "city", "Type", "first name", "last_name", "Größe", "orders", "категория"),
        (
            ("open", "closed", "in progress", "started", "not started", "New York", "York", "high", "very high"),
            ("open", "paid", "new", "active", "status", "city", "customers", "orders", "March", "Open House"),
            ("Graz", "Köln", "Bad Ischl", "Müller & Co", "A", "B+", "3", "2021", "No", "current", "total", "новый"),
        ),
        ("hall", "birth_year", "in_stock", "Total price", "number of rooms"),
        ("joined", "closed_at", "valid from", "customer_since"),
        ("paid", "is_active", "not_paid", "open", "is_new", "paid late"),
    ),
    Names(
        "de",
        ("Kunden", "Rechnungen", "Offene Posten", "Räume"),
        ("Status", "Ort", "Größe", "Vorname", "Nachname", "Kunden"),
        (
            ("offen", "bezahlt", "in Arbeit", "Arbeit", "nicht offen", "neu", "Neu Ulm", "Ulm"),
            ("Köln", "Bad Ischl", "Ischl", "groß", "sehr groß", "Status", "Kunden", "März", "A", "3", "2021"),
        ),
        ("Halle", "Baujahr", "Anzahl der Zimmer", "im Lager"),
        ("Eingang", "gültig bis", "bezahlt am"),
        ("bezahlt", "ist_neu", "nicht_bezahlt"),
    ),
    Names(
        "ru",
        ("заявки", "клиенты", "открытые заявки", "статус"),
        ("статус", "город", "категория", "имя", "заявки"),
        (
            ("открыто", "закрыто", "в работе", "не начато", "начато", "новый", "новая", "Новый Оскол"),
            ("Москва", "Ростов-на-Дону", "Ростов", "очень важно", "важно", "статус", "март", "А", "3", "2021"),
        ),
        ("зал", "год рождения", "число комнат", "цена"),
        ("создано", "действует до", "дата"),
        ("оплачено", "не_оплачено", "активно"),
    ),
)
NUMBERS = (0, 3, 4, 5, 2021, 1985, -3)
DAYS = ("2021-03-01", "2021-03-15", "2021-12-31", "2022-01-01", "2023-03-02 17:00:00")
WRITTEN_DAYS = ("01.03.2021", "15.03.2021", "02.01.2022")
# What no table holds, though it may sound like a word that says nothing.
ABSENT = ("purple", "current", "present", "registered", "existing", "listed", "violett", "aktuelle", "редкий", "прочих")
# A value in itself; before or behind the name of a table it would be another word of the question.
_ONLY_NAMED = {
    *("A", "B+", "3", "2021", "No", "March", "status", "city", "customers", "orders", "total", "current"),
    *("Status", "Kunden", "März", "статус", "март", "А"),
}


@dataclass(frozen=True)
class Table:
    """A table: its columns with their types, and the rows."""

    name: str
    columns: dict[str, str]
    rows: list[tuple[Any, ...]]

    def of(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.columns.items() if kind in kinds]

    def values(self, column: str) -> list[Any]:
        at = list(self.columns).index(column)
        return list(dict.fromkeys(row[at] for row in self.rows if row[at] is not None))


@dataclass(frozen=True)
class Asked:
    """A question, all numbers that may be told for it, and whether it can be read for certain."""

    text: str
    may_be: frozenset[float]
    readable: bool = False


def _forms(text: str) -> list[str]:
    return [form.strip() for form in text.replace("\n", " ").split(" / ")]


# {t} is a table, {c} a column, {v} and {w} are values, {n} and {m} numbers, {d} is a time of the year {y}.
_ALL = _forms("How many {t} are there? / Wie viele {t} gibt es? / Сколько всего {t}? / Total number of {t}")
_VALUE = _forms("""How many {v} {t} are there? / How many {t} are {v}? / How many of the {t} are {v}? /
    Wie viele {t} sind {v}? / Wie viele {v} {t} gibt es? / Сколько {t} {v}? / Сколько {v} {t}?""")
_NAMED = _forms("""How many {t} have the {c} {v}? / How many {t} with {c} {v} are there? /
    Number of {t} with {c} = {v} /
    Wie viele {t} haben {c} {v}? / Wie viele {t} mit {c} {v} gibt es? / Сколько {t} с {c} {v}?""")
_TIME = _forms("""How many {t} have {c} in {d}? / How many {t} with {c} in {d} are there? /
    Wie viele {t} mit {c} im Jahr {y} gibt es? / Wie viele {t} gab es mit {c} im {d}? /
    Сколько {t} было с {c} в {d}?""")
_AND = _forms("How many {v} {t} with the {c} {w}? / How many {t} with {c} {w} that are {v}?")
_OR = _forms("How many {t} are {v} or {w}? / Wie viele {t} sind {v} oder {w}? / Сколько {t} {v} или {w}?")
_BOTH = _forms("How many {v} and {w} {t} are there? / Wie viele {v} und {w} {t} gibt es? / Сколько {t} {v} и {w}?")
_NOT = _forms("""How many {t} are not {v}? / How many {t} aren't {v}? / How many {t} other than {v} are there? /
    How many non-{v} {t} are there? / How many {t} are there except {v}? / How many {t} but {v} ones are there? /
    How many {t} have a {c} != {v}? / How many {t} with {c} <> {v}? / How many {t} without {c} {v} are there? /
    How many {t} are never {v}? / How many {t} can't be {v}? / How many {t} have {c} no longer {v}? /
    How many {t} instead of {v} are there? / How many {t} are anything but {v}? / How many {t} ohne {v}? /
    Apart from {v}, how many {t} are there? / How many {t} are there, not counting {v}? /
    Wie viele {t} sind nicht {v}? / Wie viele {t} außer {v} gibt es? / Wie viele {t} gibt es ohne {c} {v}? /
    Wie viele {t} sind weder {v}? / Wie viele nicht {v} {t} gibt es? / Wie viele {t} statt {v} gibt es? /
    Сколько {t} не {v}? / Сколько {t} кроме {v}? / Сколько {t} без {c} {v}? / Сколько {t} вместо {v}?""")
_RANGES = {
    "> {n}": """How many {t} have a {c} of more than {n}? / How many {t} have {c} > {n}? / How many {t} over {c} {n}? /
        How many {t} have {c} above {n}? / How many {t} exceed {c} {n}? / How many {t} have {c} beyond {n}? /
        Wie viele {t} haben {c} über {n}? / Wie viele {t} haben mehr als {c} {n}? / Сколько {t} с {c} больше {n}? /
        Сколько {t} с {c} свыше {n}?""",
    "< {n}": """How many {t} have {c} under {n}? / How many {t} have {c} <{n}? / How many {t} below {c} {n}? /
        Wie viele {t} haben {c} unter {n}? / Сколько {t} с {c} меньше {n}? / Сколько {t} до {c} {n}?""",
    ">= {n}": """How many {t} have {c} {n} or more? / How many {t} have {c} {n}+? / How many {t} have {c} ≥ {n}? /
        How many {t} have at least {c} {n}? / How many {t} are from {c} {n} on? / How many {t} have {c} {n} and up? /
        Wie viele {t} haben mindestens {c} {n}? / Wie viele {t} ab {c} {n} gibt es? / Сколько {t} от {c} {n}? /
        Сколько {t} не менее {c} {n}?""",
    "<= {n}": """How many {t} have up to {c} {n}? / How many {t} have at most {c} {n}? / Сколько {t} по {c} {n}? /
        How many {t} have {c} {n} or less? / Wie viele {t} bis {c} {n} gibt es? / How many {t} are there to {c} {n}?""",
    "between {n} and {m}": """How many {t} have {c} between {n} and {m}? / How many {t} have {c} {n} to {m}? /
        How many {t} have {c} {n}-{m}? / How many {t} with {c} from {n} through {m} are there? /
        Wie viele {t} haben {c} zwischen {n} und {m}? / Wie viele {t} haben {c} von {n} bis {m}? /
        Сколько {t} с {c} от {n} до {m}?""",
    "!= {n}": """How many {t} do not have {c} {n}? / How many {t} have {c} != {n}? / How many {t} have {c} ≠ {n}? /
        Wie viele {t} haben nicht {c} {n}? / Сколько {t} не с {c} {n}?""",
}
# Amounts in digits and in words.
_AMOUNTS = _forms("""How many {t} have {n} {c}? / How many {t} with {n} {c} are there? / Wie viele {t} haben {n} {c}? /
    Wie viele {t} mit {n} {c} gibt es? / Сколько {t} с {n} {c}? / How many {t} have exactly {n} {c}?""")
_MORE = _forms("""How many {t} have more than {n} {c}? / How many {t} have over {n} {c}? /
    Wie viele {t} haben über {n} {c}? / Сколько {t} с более чем {n} {c}? / Сколько {t} имеют больше {n} {c}?""")
_IN_WORDS = {3: {"en": "three", "de": "drei", "ru": "три"}, 5: {"en": "five", "de": "fünf", "ru": "пять"}}
_TIMES = {
    "< '{y}'": """How many {t} have {c} before {d}? / How many {t} have {c} prior to {d}? /
        How many {t} have {c} < {d}? /
        Wie viele {t} gab es mit {c} vor {d}? / Сколько {t} было с {c} до {d}? / Сколько {t} было раньше {d}?""",
    ">= '{z}'": """How many {t} have {c} after {d}? / How many {t} have {c} > {d}? / Сколько {t} было с {c} после {d}? /
        How many {t} have {c} later than {d}? / Wie viele {t} gab es mit {c} nach {d}?""",
    ">= '{y}'": """How many {t} have {c} since {d}? / How many {t} have {c} from {d} on? /
        How many {t} are {c} as of {d}? /
        How many {t} have {c} from {d} onwards? / How many {t} have {c} in {d} or later? / How many {t} since {d}? /
        Wie viele {t} gab es mit {c} seit {d}? / Wie viele {t} gab es mit {c} ab {d}? /
        Wie viele {t} gab es mit {c} von {d} an? / Сколько {t} было с {c} с {d}? / Сколько {t} с {c} начиная с {d}?""",
    "< '{z}'": """How many {t} have {c} until {d}? / How many {t} have {c} by {d}? / How many {t} have {c} up to {d}? /
        How many {t} have {c} through {d}? / How many {t} have {c} to {d}? / Wie viele {t} gab es mit {c} bis {d}? /
        Wie viele {t} gab es mit {c} bis zu {d}? / Сколько {t} было с {c} по {d}? / Сколько {t} было с {c} к {d}?""",
    "NOT BETWEEN '{y}' AND '{y}~'": """How many {t} have {c} not in {d}? / How many {t} have {c} outside of {d}? /
        Wie viele {t} gab es mit {c} nicht in {d}? / Сколько {t} было с {c} не в {d}?""",
}
_OF_PARENT = _forms("How many {p} with {c} {v} have {t}? / How many {v} {p} have {t}? / Wie viele {v} {p} haben {t}?")
_OF_CHILD = _forms("How many {t} have {p} with {c} {v}? / How many {t} of {v} {p} are there?")
# What has no number that could be told.
_NEVER = _forms("""How many {t} per {c} are there? / How many {t} by {c}? / How many {t} for each {c}? /
    Wie viele {t} je {c}? / Сколько {t} по {c}? / Сколько {t} на каждый {c}? / How many {v} {t} grouped by {c}? /
    How many of the top 3 {t} are {v}? / How many of the first 5 {t} have the {c} {v}? / Сколько {t} было в этом году? /
    How many {t} are from this year? / How many {t} were there in 2021? / Wie viele {t} gab es 2021? /
    Wie viele {t} gab es dieses Jahr? / Wie viele {t} haben Geschmack {v}? /
    How many {t} have the flavour {v}? / How many {t} have a {v} flavour? / How many flavours of {t} are {v}? /
    How many times were {t} {v}? / How many days were {t} {v}? / How many items are {t}? / How many of my {t} are {v}? /
    How many cases of {t} are there? / How many {v} flavours have {t}? / What share of {t} is {v}? /
    How many {t} are {v} on average? / How many more {t} are {v}? / How many of them are {v}? / How many are {v}? /
    How many {t} were {v} in early 2021? / How many {t} were {v} in the first half of 2021?""")
_NUMBER_OF = {
    "avg": "average {c} of {t} / Was ist der Durchschnitt von {c} der {t}? / Каково среднее {c} у {t}?",
    "sum": "What is the sum of {c} of all {t}? / Summe von {c} aller {t} / Какова сумма {c} всех {t}?",
    "max": "What is the highest {c} of the {t}? / Was ist das Maximum von {c} der {t}? / Максимум {c} у {t}?",
    "min": "What is the lowest {c} of the {t}? / Minimum von {c} der {t} / Какой минимум {c} у {t}?",
    "count": """How many different {c} do the {t} have? / How many {c} do the {t} have? / How many {c} are there? /
        Wie viele verschiedene {c} haben die {t}? / Сколько разных {c} у {t}? / Number of distinct {c} in {t}""",
}
_MONTHS = {"en": "March {}", "de": "März {}", "ru": "марте {} года"}


@dataclass(frozen=True)
class Database:
    """One to three tables, what is declared of their relations, and the languages in which one asks of them."""

    languages: str
    tables: list[Table]
    relations: list[str]


@st.composite
def databases(draw: st.DrawFn) -> Database:
    """The second table may refer to the first."""
    called = draw(st.sampled_from(NAMES))
    names = draw(st.lists(st.sampled_from(called.tables), min_size=1, max_size=3, unique=True))
    refers = draw(st.booleans())
    tables: list[Table] = []
    for place, name in enumerate(names):
        tables.append(draw(_tables(called, name, tables[0] if place == 1 and refers else None)))
    related = len(tables) > 1 and refers and draw(st.booleans())
    relation = f"{tables[1].name}.{tables[0].name}_id = {tables[0].name}.id" if related else ""
    return Database(called.languages, tables, [relation] if related else [])


@st.composite
def _tables(draw: st.DrawFn, called: Names, name: str, parent: Table | None) -> Table:
    columns = {"id": "key"}
    wanted = [("text", called.texts, 1, 3), ("integer", called.integers, 0, 1)]
    wanted += [("date", called.dates, 0, 2), ("flag", called.flags, 0, 2)]
    for kind, names, least, most in wanted:
        found = st.lists(st.sampled_from(names), min_size=least, max_size=most, unique=True)
        columns |= dict.fromkeys(draw(found), kind)
    cells = {column: _cells(draw, kind, called.values) for column, kind in columns.items() if kind != "key"}
    if parent:
        columns[f"{parent.name}_id"] = "reference"
        cells[f"{parent.name}_id"] = st.sampled_from([row[0] for row in parent.rows])
    drawn = [[draw(cell) for cell in cells.values()] for _ in range(draw(st.integers(3, 7)))]
    return Table(name, columns, [(100 + number, *row) for number, row in enumerate(drawn)])


def _cells(draw: st.DrawFn, kind: str, values: Sequence[Sequence[str]]) -> st.SearchStrategy[Any]:
    """The few values of one column, written in one way."""
    if kind == "text":
        of_one = st.lists(st.sampled_from(draw(st.sampled_from(values))), min_size=1, max_size=4, unique=True)
        return st.sampled_from([*draw(of_one), None])
    forms: dict[str, Sequence[Sequence[Any]]] = {
        "integer": [NUMBERS],
        "date": [DAYS, DAYS, WRITTEN_DAYS],
        "flag": [(0, 1), (0, 1), ("yes", "no")],
    }
    return st.sampled_from([*draw(st.sampled_from(forms[kind])), None])


def make_database(path: Path, tables: Sequence[Table]) -> None:
    types = {"key": "INTEGER PRIMARY KEY", "text": "TEXT", "date": "DATE", "flag": "BOOLEAN"}
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in tables:
            columns = ", ".join(f"{quoted(name)} {types.get(kind, 'INTEGER')}" for name, kind in table.columns.items())
            connection.execute(f"CREATE TABLE {quoted(table.name)} ({columns})")
            marks = ", ".join("?" * len(table.columns))
            connection.executemany(f"INSERT INTO {quoted(table.name)} VALUES ({marks})", table.rows)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def spoken(name: str) -> str:
    return name.replace("_", " ")


@dataclass(frozen=True)
class Questions:
    """The questions over one database, with what SQL says of them."""

    database: Database
    one: Callable[[str], float | None]

    @property
    def tables(self) -> list[Table]:
        return self.database.tables

    def every(self) -> Iterator[Asked]:
        return (one for one in self._every() if _language(one.text) in self.database.languages)

    def _every(self) -> Iterator[Asked]:
        for table in self.tables:
            yield from self._asked(_ALL, table, [()], readable=True)
            yield from self._with_values(table)
            yield from self._with_numbers(table)
            yield from self._with_times(table)
            yield from self._of_columns(table)
            yield from self._of_absent(table)
        if any(table.of("reference") for table in self.tables):
            yield from self._related(*self.tables[:2])

    def _count(self, table: Table, *conditions: str) -> float:
        kept = " AND ".join(conditions) or "1"
        return self.one(f"SELECT count(*) FROM {quoted(table.name)} WHERE {kept}") or 0

    def _asked(
        self,
        forms: Sequence[str],
        table: Table,
        readings: Sequence[Sequence[str]],
        /,
        readable: bool = False,
        **said: Any,
    ) -> Iterator[Asked]:
        """Each of the `forms`; where what it says can be read in two ways, both must come to the same."""
        counts = {self._count(table, *conditions) for conditions in readings}
        single = frozenset(counts) if len(counts) == 1 else frozenset[float]()
        for form in forms:
            yield Asked(form.format(t=spoken(table.name), **said), single, readable and len(readings) == 1)

    def _readings(self, table: Table, value: str) -> list[str]:
        """All that `value` by itself can say of a row."""
        return [*self._own_readings(table, value), *self._readings_of_parent(table, value)]

    def _own_readings(self, table: Table, value: str) -> list[str]:
        found = [f"{quoted(name)} = '{value}'" for name in table.of("text") if value in table.values(name)]
        said = {name: spoken(name) for name in table.of("flag")}
        return found + [_is_set(name) for name in said if value in (said[name], re.sub(r"\Ais?t? ", "", said[name]))]

    def _readings_of_parent(self, table: Table, value: str) -> list[str]:
        if self.database.relations and table is self.tables[1]:
            parent = self.tables[0]
            kept = f"{quoted(f'{parent.name}_id')} IN (SELECT id FROM {quoted(parent.name)} WHERE "
            its = [name for name in parent.of("text") if value in parent.values(name)]
            through = [f"{kept}{quoted(name)} = '{value}')" for name in its]
            return [one for one in through if self._count(table, one)]
        return []

    def _values(self, table: Table) -> list[tuple[str, str]]:
        return [(name, value) for name in table.of("text") for value in table.values(name)]

    def _with_values(self, table: Table) -> Iterator[Asked]:
        for name, value in self._values(table):
            said = {"c": spoken(name), "v": value}
            own = f"{quoted(name)} = '{value}'"
            yield from self._asked(_NAMED, table, [[own]], readable=value != "No", **said)
            if value in _ONLY_NAMED:
                continue
            readings = self._readings(table, value)
            denied = [one for word in ("not", "nicht", "не") for one in self._readings(table, f"{word} {value}")]
            yield from self._asked(_VALUE, table, [[one] for one in readings], readable=True, **said)
            denied += [f"({one}) IS NOT TRUE" for one in readings]
            named = [one for one in denied if quoted(name) in one]
            for form in _NOT:
                # Where the column is named, the value is one of it.
                yield from self._asked([form], table, [[one] for one in (named if "{c}" in form else denied)], **said)
            yield from self._with_two(table, name, value, readings)

    def _with_two(self, table: Table, name: str, value: str, readings: Sequence[str]) -> Iterator[Asked]:
        for other, another in self._values(table):
            if another in _ONLY_NAMED or another == value:
                continue
            said = {"c": spoken(other), "v": value, "w": another}
            own = f"{quoted(other)} = '{another}'"
            if other != name:
                yield from self._asked(_AND, table, [(one, own) for one in readings], readable=True, **said)
            either = [[f"({one} OR {two})"] for one, two in product(readings, self._readings(table, another))]
            yield from self._asked(_OR, table, either, **said)
            if other == name:
                yield from self._asked(_BOTH, table, either, **said)

    def _with_numbers(self, table: Table) -> Iterator[Asked]:
        for name in table.of("integer"):
            here, spelt = quoted(name), spoken(name)
            for number in [one for one in table.values(name) if one >= 0]:
                said = {"c": spelt, "v": number, "n": number, "m": number + 2}
                yield from self._asked(_NAMED, table, [[f"{here} = {number}"]], readable=True, **said)
                for condition, forms in _RANGES.items():
                    kept = f"({here} {condition.format(n=number, m=number + 2)}) IS TRUE"
                    kept = f"({here} = {number}) IS NOT TRUE" if condition.startswith("!") else kept
                    yield from self._asked(_forms(forms), table, [[kept]], **said)
                for sign, forms in (("=", _AMOUNTS), (">", _MORE)):
                    for form in forms:
                        written = _IN_WORDS.get(number, {}).get(_language(form), number)
                        for amount in {number, written}:
                            kept = f"({here} {sign} {number}) IS TRUE"
                            yield from self._asked([form], table, [[kept]], c=spelt, n=amount)

    def _with_times(self, table: Table) -> Iterator[Asked]:
        for name in table.of("date"):
            here = _iso(name)
            iso = all(str(value)[4] == "-" for value in table.values(name))
            for year in ("2021", "2022"):
                said = {"c": spoken(name), "d": year, "y": year}
                yield from self._asked(_TIME, table, [[f"{here} LIKE '{year}%'"]], readable=iso, **said)
                for condition, forms in _TIMES.items():
                    kept = f"{here} {condition.format(y=year, z=int(year) + 1)}"
                    yield from self._asked(_forms(forms), table, [[kept]], **said)
                for form in _TIME:
                    said["d"] = _MONTHS[_language(form)].format(year)
                    kept = f"{here} LIKE '{year}-03%'" if "{d}" in form else f"{here} LIKE '{year}%'"
                    yield from self._asked([form], table, [[kept]], readable=iso, **said)

    def _of_columns(self, table: Table) -> Iterator[Asked]:
        for name in table.of("text", "integer"):
            if spoken(name) in [spoken(one.name) for one in self.tables]:
                continue
            for function, forms in _NUMBER_OF.items():
                what = f"DISTINCT {quoted(name)}" if function == "count" else quoted(name)
                number = self.one(f"SELECT {function}({what}) FROM {quoted(table.name)}")
                may_be = frozenset([number] if isinstance(number, int | float) else [])
                for form in _forms(forms):
                    yield Asked(form.format(t=spoken(table.name), c=spoken(name)), may_be)
        called = [spoken(one.name) for one in self.tables]
        for name, value in [*self._values(table), *((one, "open") for one in table.of("flag", "date"))]:
            # "How many are orders?" may ask for all of them.
            for form in (one for one in _NEVER if "{t}" in one or value not in called):
                yield Asked(form.format(t=spoken(table.name), c=spoken(name), v=value), frozenset())

    def _of_absent(self, table: Table) -> Iterator[Asked]:
        known = " ".join(str(value) for name in table.of("text") for value in table.values(name))
        known += " ".join(spoken(name) for one in self.tables for name in one.columns)
        for word in ABSENT:
            if word in known:
                continue
            forms = [*_VALUE, "How many {t} with {v} {c} are there?"]
            column = spoken(table.of("text")[0])
            yield from (Asked(form.format(t=spoken(table.name), v=word, c=column), frozenset([0.0])) for form in forms)

    def _related(self, parent: Table, child: Table) -> Iterator[Asked]:
        p, c = quoted(parent.name), quoted(child.name)
        key = quoted(f"{parent.name}_id")
        having = self.one(f"SELECT count(DISTINCT {key}) FROM {c}") or 0
        spelt = {"p": spoken(parent.name), "t": spoken(child.name)}
        for form in _forms(
            "How many {p} have {t}? / Wie viele {p} haben {t}? / Сколько {p} имеют {t}? / How many {p} with {t}?"
        ):
            yield Asked(form.format(**spelt), frozenset([having]))
        for name, value in self._values(parent):
            if value in _ONLY_NAMED:
                continue
            kept = f"SELECT id FROM {p} WHERE {quoted(name)} = '{value}'"
            of_child = self.one(f"SELECT count(*) FROM {c} WHERE {key} IN ({kept})") or 0
            of_parent = self.one(f"SELECT count(DISTINCT {key}) FROM {c} WHERE {key} IN ({kept})") or 0
            said = {**spelt, "v": value, "c": spoken(name)}
            # That the parent has it is what is asked about, where no column of that name says so.
            clash = bool(self._own_readings(child, value))
            shared = name in child.columns
            of_another = sum(value in parent.values(one) for one in parent.of("text")) > 1
            for form in _OF_PARENT + _OF_CHILD:
                number = of_parent if form in _OF_PARENT else of_child
                unclear = (clash and (shared or "{c}" not in form)) or (of_another and "{c}" not in form)
                yield Asked(form.format(**said), frozenset([] if unclear else [number]))


def some_of(every: list[Asked], random: Random, each: int = 8) -> list[Asked]:
    """As many questions that can be read as others, of which there are many more."""
    kinds = [[one for one in every if one.readable is readable] for readable in (True, False)]
    return [one for kind in kinds for one in random.sample(kind, min(each, len(kind)))]


def _language(form: str) -> str:
    first = form.split(maxsplit=1)[0]
    return "ru" if is_cyrillic(first) else "de" if first in ("Wie", "Was", "Summe", "Minimum") else "en"


def _is_set(name: str) -> str:
    return f"({quoted(name)} IN (1, 'yes')) IS TRUE"


def _iso(name: str) -> str:
    here = quoted(name)
    turned = f"substr({here}, 7) || '-' || substr({here}, 4, 2) || '-' || substr({here}, 1, 2)"
    return f"(CASE WHEN {here} LIKE '__.__.____' THEN {turned} ELSE {here} END)"

"""Nothing that is asked writes to the user's database (R3, R15)."""

from __future__ import annotations

import hashlib
import shutil

import pytest
from plant_database import fill

from groundgraph.core.errors import GroundGraphError, SourceUnavailable
from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.sql import SqlSource
from groundgraph.sources.sql.database import SqliteDatabase

STATEMENTS = [
    "DROP TABLE {t}", "DELETE FROM {t}", "UPDATE {t} SET id = 0", "INSERT INTO {t} DEFAULT VALUES", "VACUUM",
    "ALTER TABLE {t} RENAME TO x", "CREATE TABLE x (y)", "PRAGMA user_version = 7", "PRAGMA writable_schema = 1",
    "ATTACH DATABASE 'x.db' AS x", "REINDEX", "PRAGMA journal_mode = wal", "DETACH DATABASE main",
]  # fmt: skip
QUOTES = ["'; {}; --", '"; {}; --', "x') OR 1=1; {}; --"]
HOSTILE = [quote.format(statement) for quote in QUOTES for statement in STATEMENTS] + ["\0'; \\ %s ${x} {{x}} [\"]"]


def hostile_intents(value: str, field: str):
    """Every place of an intent that a message or a model can fill."""
    yield RetrievalIntent([value])
    yield RetrievalIntent([f"How many rows have {field} {value}?"])
    for condition in (value, [value], {"contains": value}, {"not": value}, {"gte": value}):
        yield RetrievalIntent(["rows"], {"wtq": {field: condition}})
    yield RetrievalIntent(["rows"], {"wtq": {value: 1}})


@pytest.mark.covers("fault 58")
# A file that may not be written is refused by the system as well: a few values show that nothing is tried there.
@pytest.mark.parametrize(
    ("mode", "values"),
    [
        pytest.param(0o644, HOSTILE, id="0o644", marks=pytest.mark.slow),
        pytest.param(0o644, HOSTILE[::4], id="0o644 and every fourth"),
        pytest.param(0o444, HOSTILE[::13], id="0o444"),
    ],
)
async def test_forty_hostile_values_change_no_byte_of_the_file(tmp_path, data, mode, values):
    folder = tmp_path / "theirs"
    folder.mkdir()
    path = shutil.copy(data / "wtq" / "tables.sqlite", folder / "tables.sqlite")
    path.chmod(mode)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    source = SqlSource(path, name="wtq", index=tmp_path / "index.sqlite")
    await source.refresh()
    field = next(iter(source.get_schema().fields))
    assert len(set(HOSTILE)) == 40
    answered = refused = 0
    for value in values:
        for intent in hostile_intents(value.replace("{t}", "x"), field):
            try:
                await source.query(intent)
                answered += 1
            except GroundGraphError:
                refused += 1
    await source.close()
    assert (answered > 0, refused > 0) == (True, True)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert [entry.name for entry in folder.iterdir()] == ["tables.sqlite"]


@pytest.mark.covers("R3")
@pytest.mark.parametrize(
    "statement", ["DELETE FROM t", "DROP TABLE t", "CREATE TABLE x (y)", "PRAGMA user_version = 7"]
)
def test_the_connection_itself_refuses_to_write(tmp_path, statement):
    path = fill(tmp_path / "t.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)", t=[(1, "kept")])
    before = path.read_bytes()
    database = SqliteDatabase(path, source="t")
    with pytest.raises(SourceUnavailable, match="readonly"), database.reading() as connection:
        connection.exec_driver_sql(statement)
    database.close()
    assert path.read_bytes() == before

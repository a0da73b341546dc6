"""What is known of the words of an index, asked by several threads at once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from asking import ask_ids, opened

from groundgraph.core.latest import Latest
from groundgraph.sources.sql import SqlSource
from groundgraph.sources.sql.postgres.lexemes import Lexemes, spellings

pytestmark = pytest.mark.covers("R3")


class Emptied(Latest):
    """Another thread empties it as soon as it was asked."""

    def __init__(self, **values):
        super().__init__(9)
        for key, value in values.items():
            self.put(key, value)

    def get(self, key):
        found = super().get(key)
        self.clear()
        return found


def test_counts_that_another_thread_forgets_meanwhile_are_no_error():
    lexemes = Lexemes("english")
    lexemes._common = {}
    lexemes._counted = Emptied(pump=3)
    assert lexemes._frequencies(None, None, ["pump"], 10) == {"pump": 3}


def test_queries_that_another_thread_forgets_meanwhile_are_no_error():
    lexemes = Lexemes("english")
    lexemes._queries = Emptied(pumps="'pump'")
    assert lexemes._looked_up(connection("utf-8"), ["pumps"]) == {"pumps": "'pump'"}


def test_a_word_that_the_encoding_of_the_database_lacks_is_in_no_row():
    lexemes = Lexemes("simple")
    lexemes._queries = Emptied(café="'café'")
    assert lexemes._looked_up(connection("iso8859-1"), ["насос", "café"]) == {"насос": None, "café": "'café'"}


def test_a_word_is_looked_for_as_it_was_written_and_folded():
    assert spellings("Café pump") == {"cafe": ["Café", "CAFÉ", "cafe", "café"], "pump": ["pump"]}


def test_other_forms_of_a_word_that_no_rule_makes_are_looked_for_too():
    assert spellings("Who wrote it?")["write"] == ["write", "written", "wrote"]


@pytest.mark.live
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
async def test_words_with_capitals_are_found_whatever_the_locale(postgres, locale):
    postgres.execute("DROP DATABASE IF EXISTS capitals")
    like = f"TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE '{locale}' LC_CTYPE '{locale}'"
    postgres.execute(f"CREATE DATABASE capitals {like}")
    index = "CREATE INDEX ON notes USING gin (to_tsvector('simple', body))"
    postgres.execute(f"CREATE TABLE notes (id INT PRIMARY KEY, body TEXT); {index}", "capitals")
    postgres.fill("capitals", notes=[(1, "Die Ölpumpe ist ÄUSSERST alt."), (2, "Насос ОБСЛУЖЕН")])
    source = opened(SqlSource(postgres.url("capitals"), name="plant", tables=["notes"]))
    for word, row in (("ölpumpe", "1"), ("Äusserst", "1"), ("насос", "2"), ("обслужен", "2")):
        assert await ask_ids(source, word) == [f"notes/{row}"]


def connection(encoding):
    driver = SimpleNamespace(info=SimpleNamespace(encoding=encoding))
    return SimpleNamespace(connection=SimpleNamespace(driver_connection=driver))

"""What is known of the words of an index, asked by several threads at once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from groundgraph.core.latest import Latest
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
    assert spellings("Café") == {"cafe": ["cafe", "café"]}


def connection(encoding):
    driver = SimpleNamespace(info=SimpleNamespace(encoding=encoding))
    return SimpleNamespace(connection=SimpleNamespace(driver_connection=driver))

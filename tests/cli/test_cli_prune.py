"""`groundgraph prune`: small files, conversations that go on (U5)."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

pytestmark = pytest.mark.covers("U5")


@pytest.fixture
def asked(filled):
    for thread in ("a", "a", "a", "b"):
        assert filled("ask", "When does an access token expire?", "--thread", thread).code == 0
    return filled


def test_the_last_turns_stay_and_it_says_what_went(asked):
    ran = asked("prune", "--keep-turns", "1", "--json")
    assert ran.code == 0
    assert (ran.json["threads"], ran.json["forgotten"], ran.json["records"]) == (2, 0, 2)
    assert ran.json["checkpoints"] > 0
    assert asked("ask", "What does a scope limit?", "--thread", "a", "--json").json["outcome"] == "answered"
    ran = asked("prune", "--keep-turns", "5")
    assert ran.out.startswith("Looked at 2 conversations and forgot 0. Removed: 0 checkpoints")


def test_old_conversations_are_forgotten(asked):
    assert asked("prune", "--older-than", "1d", "--json").json["forgotten"] == 0
    ran = asked("prune", "--older-than", "0h", "--json")
    assert ran.json["forgotten"] == 2
    assert ran.json["bodies"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--keep-turns"),
        (("--keep-turns", "0"), "at least the last turn"),
        (("--older-than", "soon"), "12h, 30d or 8w"),
        (("--older-than", "999999999999w"), "longer than"),
    ],
)
def test_wrong_use_is_explained(call, arguments, message):
    ran = call("prune", *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_without_conversations_there_is_nothing_to_do(call):
    ran = call("prune", "--keep-turns", "1", "--json")
    assert (ran.code, ran.json["threads"]) == (0, 0)
    assert "There are no conversations" in ran.err


@pytest.mark.covers("F2", "fault 88")
def test_a_conversation_that_cannot_be_read_is_listed_with_what_removes_it(asked, tmp_path):
    with closing(sqlite3.connect(tmp_path / ".groundgraph" / "threads.sqlite")) as db, db:
        assert db.execute("UPDATE writes SET value = X'c1' WHERE thread_id = 'b'").rowcount
    ran = asked("prune", "--keep-turns", "1", "--json")
    assert (ran.code, ran.json["threads"], ran.json["records"], list(ran.json["damaged"])) == (1, 1, 2, ["b"])
    ran = asked("prune", "--keep-turns", "1")
    assert ran.code == 1
    assert ran.out.startswith("Looked at 1 conversation and forgot 0.")
    assert "Remove this one with: groundgraph forget b\n" in ran.out
    assert asked("forget", "b").code == 0
    assert asked("prune", "--keep-turns", "1").code == 0

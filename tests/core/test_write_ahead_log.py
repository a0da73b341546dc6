"""Connections that switch one new SQLite file to its write-ahead log at once."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest

from groundgraph.core.write_ahead_log import use_write_ahead_log


@pytest.mark.covers("fault 45")
def test_a_connection_that_meets_another_ones_switch_waits_for_it(tmp_path):
    path = tmp_path / "new.sqlite"
    # Autocommit of Python's module would end the transaction that stands in the way.
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        asked = threading.Event()
        threading.Thread(target=lambda: (asked.wait(30), other.execute("COMMIT"))).start()
        with closing(sqlite3.connect(path, timeout=0)) as connection:
            connection.set_trace_callback(lambda _: asked.set())
            use_write_ahead_log(connection, timeout=30)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.covers("fault 45")
def test_a_file_that_stays_locked_is_given_up_after_the_timeout(tmp_path):
    path = tmp_path / "new.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with (
            closing(sqlite3.connect(path, timeout=0)) as connection,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            use_write_ahead_log(connection, timeout=0.05)


def test_what_is_no_database_is_not_asked_again(tmp_path):
    path = tmp_path / "text.sqlite"
    path.write_bytes(b"no database" * 1000)
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.DatabaseError, match="not a database"):
        use_write_ahead_log(connection, timeout=30)


def test_many_threads_open_one_new_file(tmp_path):
    path = tmp_path / "new.sqlite"
    start = threading.Barrier(8)
    failed = []

    def switch():
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            start.wait(30)
            try:
                use_write_ahead_log(connection, timeout=30)
            except sqlite3.Error as error:
                failed.append(error)

    threads = [threading.Thread(target=switch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []

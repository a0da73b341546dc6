"""A query that nobody waits for any more is ended on the server, and no other one (fault 31)."""

from __future__ import annotations

import threading
import time

import pytest

from groundgraph.core.errors import SourceUnavailable
from groundgraph.sources.sql.postgres.connect import Running

pytestmark = pytest.mark.covers("fault 31")


class Connection:
    """A connection of psycopg whose cancelling takes a while."""

    def __init__(self):
        self.told, self.go_on = threading.Event(), threading.Event()

    def cancel_safe(self, *, timeout):
        self.told.set()
        assert self.go_on.wait(30)


def test_a_connection_is_not_given_back_while_the_server_is_told_to_end_its_statement():
    running, connection, given_back = Running(), Connection(), threading.Event()
    ended = threading.Event()

    def query():
        with running.using(connection):
            assert connection.told.wait(30)
            ended.set()
        given_back.set()

    threads = [threading.Thread(target=query), threading.Thread(target=running.cancel)]
    threads[0].start()
    while not running._connections:
        time.sleep(0.01)
    threads[1].start()
    assert ended.wait(30)
    # Whoever took it from the pool now would have its own statement ended.
    assert not given_back.wait(0.2)
    connection.go_on.set()
    assert given_back.wait(30)
    for thread in threads:
        thread.join(30)


def test_a_query_that_was_cancelled_begins_no_other_statement():
    running = Running()
    running.cancel()
    with pytest.raises(SourceUnavailable, match="cancelled"), running.using(Connection()):
        pass

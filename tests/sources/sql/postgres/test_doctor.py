"""`groundgraph doctor` tells what the owner of a PostgreSQL database should change."""

from __future__ import annotations

import pytest

from groundgraph import load_settings
from groundgraph.cli.doctor_checks import examine


@pytest.mark.live
async def test_doctor_warns_of_a_superuser_and_of_a_missing_index(postgres, tmp_path):
    url = postgres.database(
        "doctor", "CREATE TABLE t (id int PRIMARY KEY, body text); INSERT INTO t VALUES (1, 'pump')"
    )
    given = {"sources": [{"type": "sql", "name": "plant", "url": url, "table": "t", "pool_size": 2}]}
    settings = load_settings(given).model_copy(update={"base_dir": tmp_path})
    told = [finding for finding in await examine(settings) if finding.check == "source plant"]
    assert [finding.state for finding in told] == ["ok", "warn", "warn"]
    assert "superuser" in told[1].message
    assert "CREATE INDEX" in told[2].message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool_size": 1}, "must be a number, 2 or more"),
        ({"statement_timeout": 0}, "seconds above 0"),
        ({"statement_timeout": 0.0001}, "0.001 to"),
        ({"statement_timeout": float("inf")}, "0.001 to"),
        ({"text_index": "none"}, "is none of auto, database, own"),
        ({"vector_weight": 2}, "from 0 to 1"),
        ({"backend": "sqlite"}, "the url names another database"),
        ({"relations": ["a = b"]}, "each written as `table.column`"),
        ({"fts": "x", "table": "t"}, "FTS5 table of SQLite"),
    ],
)
def test_options_that_cannot_work_are_refused_when_the_graph_is_built(options, message):
    from groundgraph import turn_graph
    from groundgraph.core.errors import ConfigurationError

    url = "postgresql://reader@127.0.0.1:9/d"
    given = {"sources": [{"type": "sql", "name": "plant", "url": url, **options}]}
    with pytest.raises(ConfigurationError, match=message):
        turn_graph(load_settings(given))

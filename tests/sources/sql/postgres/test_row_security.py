"""Sessions of one server that see different rows, in one folder: neither meets the other's rows."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from asking import ask, opened

from groundgraph.cli.main import main
from groundgraph.core.errors import ConfigurationError
from groundgraph.sources.sql import SqlSource

pytestmark = [pytest.mark.live, pytest.mark.covers("F17", "fault 98")]

ROWS = """
DROP ROLE IF EXISTS tenants_reader; CREATE ROLE tenants_reader LOGIN;
CREATE TABLE docs (id integer PRIMARY KEY, tenant text, body text);
INSERT INTO docs VALUES (1, 'globex', 'The okapi pump of globex leaks.'), (2, 'acme', 'The zebra pump of acme leaks.');
CREATE VIEW own_docs AS SELECT id, body FROM docs WHERE tenant = current_setting('app.tenant');
GRANT SELECT ON docs, own_docs TO tenants_reader;
"""
SECURITY = """
ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON docs FOR SELECT USING (tenant = current_setting('app.tenant'));
"""
INDEX = "CREATE INDEX ON docs USING gin (to_tsvector('english', body)); ANALYZE docs;"


@asynccontextmanager
async def session(server, tenant, *, table="docs", user="tenants_reader", **options):
    url = f"{server.url('tenants', user)}?options=-c app.tenant={tenant}"
    source = SqlSource(url, name="docs", table=table, **options)
    try:
        yield source
    finally:
        await source.close()


async def seen(server, tenant, **options):
    async with session(server, tenant, **options) as source:
        return [result.content for result in await ask(source, "Which pump leaks?")]


def index_files(folder):
    return sorted((folder / ".groundgraph" / "index").glob("*.sqlite"))


@pytest.fixture
def tenants(postgres):
    postgres.database("tenants", "DROP OWNED BY tenants_reader" if _has_reader(postgres) else "")
    postgres.execute(ROWS, "tenants")
    return postgres


def _has_reader(server):
    return bool(server.execute("SELECT 1 FROM pg_roles WHERE rolname = 'tenants_reader'"))


async def test_sessions_with_other_options_share_no_index_file(tenants, tmp_path):
    for _ in range(2):
        for tenant, animal in (("globex", "okapi"), ("acme", "zebra")):
            (found,) = await seen(tenants, tenant, table="own_docs")
            assert animal in found
    files = index_files(tmp_path)
    assert len(files) == 2
    assert not any("globex" in file.name or "acme" in file.name for file in files)
    for file, animal in ((file, animal) for file in files for animal in (b"okapi", b"zebra")):
        assert (animal in file.read_bytes()) is not (_other(animal) in file.read_bytes())


def _other(animal):
    return b"okapi" if animal == b"zebra" else b"zebra"


async def test_sessions_of_other_roles_share_no_index_file(tenants, tmp_path, monkeypatch):
    tenants.execute("CREATE VIEW by_role AS SELECT id, body FROM docs WHERE (tenant = 'globex') = (current_user = "
                    "'tenants_reader'); GRANT SELECT ON by_role TO tenants_reader", "tenants")  # fmt: skip
    assert "okapi" in (await seen(tenants, "x", table="by_role"))[0]
    # The role of an address without one comes from the environment.
    monkeypatch.setenv("PGUSER", "groundgraph")
    url = tenants.url("tenants").replace("groundgraph@", "") + "?options=-c app.tenant=x"
    source = opened(SqlSource(url, name="docs", table="by_role"))
    assert "zebra" in (await ask(source, "Which pump leaks?"))[0].content
    assert len(index_files(tmp_path)) == 2


async def test_two_sessions_that_name_one_index_file_each_see_their_own_rows(tenants):
    for _ in range(2):
        for tenant, animal in (("globex", "okapi"), ("acme", "zebra")):
            assert animal in (await seen(tenants, tenant, table="own_docs", index="shared.sqlite"))[0]


@pytest.mark.parametrize("index", [None, "named.sqlite"])
@pytest.mark.parametrize("text_index", ["auto", "own"])
@pytest.mark.parametrize("table", ["docs", "over"])
async def test_rows_behind_row_level_security_are_kept_in_no_file(tenants, tmp_path, index, text_index, table):
    from groundgraph.sources.sql.postgres.options import PostgresOptions

    tenants.execute(SECURITY, "tenants")
    tenants.execute(
        "CREATE VIEW over WITH (security_invoker) AS SELECT id, body FROM docs; GRANT SELECT ON over TO tenants_reader",
        "tenants",
    )
    with pytest.raises(ConfigurationError, match=r"row-level security.*CREATE INDEX.*index: ':memory:'"):
        await seen(tenants, "acme", table=table, index=index, postgres=PostgresOptions(text_index=text_index))
    assert not any(b"zebra" in file.read_bytes() for file in tmp_path.rglob("*.sqlite"))


async def test_rows_that_get_row_level_security_later_are_refused_from_then_on(tenants):
    async with session(tenants, "acme") as source:
        assert len(await ask(source, "Which pump leaks?")) == 2
        tenants.execute(SECURITY, "tenants")
        with pytest.raises(ConfigurationError, match="row-level security"):
            await ask(source, "Which pump leaks?")


@pytest.mark.parametrize("own_index", [True, False])
async def test_with_an_index_of_the_database_or_in_memory_each_session_sees_its_own_rows(tenants, tmp_path, own_index):
    tenants.execute(SECURITY + INDEX * own_index, "tenants")
    options = {} if own_index else {"index": ":memory:"}
    for tenant, animal in (("globex", "okapi"), ("acme", "zebra")):
        (found,) = await seen(tenants, tenant, **options)
        assert animal in found
    assert index_files(tmp_path) == []


async def test_who_sees_all_rows_may_keep_them(tenants, tmp_path):
    tenants.execute(SECURITY, "tenants")
    assert len(await seen(tenants, "acme", user="groundgraph")) == 2
    assert len(index_files(tmp_path)) == 1


def test_doctor_says_why_and_what_to_do(tenants, tmp_path, capsys):
    tenants.execute(SECURITY, "tenants")
    url = f"{tenants.url('tenants', 'tenants_reader')}?options=-c app.tenant=acme"
    (tmp_path / "groundgraph.yaml").write_text(
        f"sources:\n  - {{type: sql, name: docs, url: '{url}', table: docs, pool_size: 2}}\n"
    )
    with pytest.raises(SystemExit, match="1"):
        main(["doctor"])
    told = " ".join(capsys.readouterr().out.split())
    assert "row-level security" in told
    assert 'CREATE INDEX ON "public"."docs"' in told
    assert "index: ':memory:'" in told

"""Checkpoints and the store in a real PostgreSQL (T3; decision 9; faults 41, 42, 45, 46, 47)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress

import psycopg
import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from postgres_fixture import postgres  # noqa: F401 - a fixture
from pydantic import ValidationError
from run_apart import told_by
from turns import asking, docs, thread

from groundgraph import load_provenance, load_settings, open_graph
from groundgraph.cli.doctor_checks import examine
from groundgraph.core.errors import (
    ConfigurationError,
    StorageDamaged,
    StorageLocked,
    StorageUnavailable,
    ThreadBusy,
    ThreadConflict,
)
from groundgraph.graph.forget_thread import forget_thread
from groundgraph.settings.services import CheckpointerSettings
from groundgraph.storage import postgres_storage

STRUCTURED = {"intent": {"mode": "static"}, "synthesis": {"style": "structured"}}


def settings_for(url, **others):
    kept = {"type": "postgres", "url": url}
    return load_settings({**STRUCTURED, "checkpointer": kept, "store": kept, **others})


@pytest.fixture
def url(postgres):  # noqa: F811
    return postgres.database("threads")


@pytest.mark.covers("fault 47")
@pytest.mark.live
async def test_the_saver_passes_the_conformance_suite(url) -> None:
    from groundgraph.storage.postgres_storage import PostgresStorage

    @checkpointer_test(name="postgres")
    async def saver() -> AsyncIterator[object]:
        async with AsyncExitStack() as stack:
            yield await PostgresStorage(stack).saver(url, 4)

    report = await validate(saver)
    assert report.passed_all_base(), report.to_dict()


@pytest.mark.covers("T3")
@pytest.mark.live
async def test_threads_evidence_and_records_are_kept_over_restarts_and_can_be_forgotten(url) -> None:
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        first = await graph.ainvoke(asking(), thread())
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        second = await graph.ainvoke(asking("pump 17"), thread())
        assert len(second["messages"]) == 4
        assert await load_provenance(graph, "t", first["provenance"]["turn_id"]) == first["provenance"]
        gone = await forget_thread(graph, "t")
        assert gone.records == 2
        assert gone.checkpoints > 8
        assert not (await graph.aget_state(thread())).values


@pytest.mark.live
@pytest.mark.parametrize("date", ["infinity", "-infinity", "0044-03-15 BC"])
async def test_records_whose_date_is_none_of_python_are_read_and_can_be_forgotten(url, date: str) -> None:
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        first = await graph.ainvoke(asking(), thread())
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("UPDATE store SET created_at = %s, updated_at = %s", [date, date])
        second = await graph.ainvoke(asking("pump 17"), thread())
        for output in (first, second):
            assert await load_provenance(graph, "t", output["provenance"]["turn_id"]) == output["provenance"]
        assert (await forget_thread(graph, "t")).records == 2


@pytest.mark.live
async def test_two_processes_may_set_up_the_same_database_at_once(url) -> None:
    async def use(number: int) -> str:
        async with open_graph(settings_for(url), sources=[docs()]) as graph:
            return (await graph.ainvoke(asking(), thread(f"t{number}")))["outcome"]

    assert await asyncio.gather(*(use(number) for number in range(4))) == ["answered"] * 4


@pytest.mark.live
async def test_50_threads_at_once_share_few_connections_and_nothing_else(url, postgres) -> None:  # noqa: F811
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        outputs = await asyncio.gather(*(graph.ainvoke(asking(), thread(f"t{n}")) for n in range(50)))
        used = postgres.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = 'threads'")[0][0]
    assert {output["outcome"] for output in outputs} == {"answered"}
    assert {len(output["messages"]) for output in outputs} == {2}
    assert used <= 11, "ten of the pool and the one that holds the claims"


@pytest.mark.covers("fault 75")
@pytest.mark.live
async def test_two_processes_on_one_thread_take_turns_and_lose_nothing(url) -> None:
    async with (
        open_graph(settings_for(url), sources=[docs()]) as one,
        open_graph(settings_for(url), sources=[docs()]) as other,
    ):
        await asyncio.gather(*(graph.ainvoke(asking(), thread()) for graph in (one, other) for _ in range(4)))
        messages = (await one.aget_state(thread())).values["messages"]
    assert len(messages) == 16


@pytest.mark.live
async def test_a_thread_that_another_process_holds_is_busy(url) -> None:
    async with open_graph(settings_for(url, deadlines={"turn": 5}), sources=[docs()]) as graph:
        await graph.ainvoke(asking(), thread())
        from groundgraph.storage.postgres_storage import ThreadClaims

        other = ThreadClaims(url)
        async with other.hold("t", 1):
            with pytest.raises(ThreadBusy, match="another process"):
                await graph.ainvoke(asking(), thread())
        assert (await graph.ainvoke(asking(), thread()))["outcome"] == "answered"
        await other.close()


@pytest.mark.covers("fault 75")
@pytest.mark.live
@pytest.mark.parametrize("cancellations", [1, 2])
async def test_turns_cancelled_while_they_claim_a_thread_leave_no_claim_and_break_none(
    url,
    postgres,  # noqa: F811
    cancellations,
) -> None:
    from groundgraph.storage.postgres_storage import ThreadClaims

    claims = ThreadClaims(url)
    locks = "SELECT objid, pid FROM pg_locks WHERE locktype = 'advisory'"

    async def turn(name: str) -> None:
        async with claims.hold(name, 1):
            await asyncio.sleep(0.001)

    async with claims.hold("in use", 1):
        in_use = postgres.execute(locks, "threads")
        for number in range(200):
            running = asyncio.create_task(turn(f"t{number}"))
            for _ in range(cancellations):
                # From before the statement is sent until after the claim is given back.
                await asyncio.sleep(number % 40 / 8000)
                running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        async with claims.hold("the last", 1):
            # Statements run one after another, so those before it are through.
            pass
        assert postgres.execute(locks, "threads") == in_use
    await claims.close()
    assert postgres.execute(locks, "threads") == []


@pytest.mark.covers("fault 80")
@pytest.mark.live
async def test_a_turn_that_outlives_its_graph_opens_no_connection_again(url, postgres) -> None:  # noqa: F811
    from groundgraph.storage.postgres_storage import ThreadClaims

    claims = ThreadClaims(url)
    async with claims.hold("t", 1):
        await claims.close()
    opened = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'groundgraph claims'"
    deadline = asyncio.get_running_loop().time() + 60
    while postgres.execute(opened, "threads") != [(0,)]:
        assert asyncio.get_running_loop().time() < deadline, "a connection was left behind"
        await asyncio.sleep(0.05)


@pytest.mark.covers("fault 5")
@pytest.mark.live
async def test_a_model_that_escapes_nul_in_names_and_values_breaks_no_turn(url) -> None:
    from groundgraph.testing import ScriptedChatModel

    reply = '{"text_queries": ["grant types"], "x\\u0000": "\\u0000", "filters": {"docs": {"a\\u0000": 1}}}'
    async with open_graph(
        settings_for(url, intent={"mode": "extract"}), sources=[docs()], extractor=ScriptedChatModel(reply)
    ) as graph:
        output = await graph.ainvoke(asking(), thread())
        intent = output["provenance"]["intent"]
        assert intent["raw_data"]["x\ufffd"] == "\ufffd"
        assert "docs.a\ufffd" in [one["field"] for one in intent["dropped"]]
        assert await load_provenance(graph, "t", output["provenance"]["turn_id"]) == output["provenance"]


@pytest.mark.live
async def test_a_process_that_asks_no_claim_and_races_is_told_of_the_conflict(url) -> None:
    from groundgraph import InMemorySource

    class Racing(InMemorySource):
        async def query(self, *args, **kwargs):
            if self.race:
                race, self.race = self.race, None
                await race()
            return await super().query(*args, **kwargs)

    source = Racing([{"id": "a", "content": "OAuth has four grant types."}], name="racing")
    source.race = None
    async with (
        open_graph(settings_for(url), sources=[source]) as graph,
        open_graph(settings_for(url), sources=[docs()]) as other,
    ):
        await graph.ainvoke(asking(), thread())
        other.checkpointer.claims = None
        source.race = lambda: other.ainvoke(asking("of another process"), thread())
        with pytest.raises(ThreadConflict, match="Another process wrote"):
            await graph.ainvoke(asking(), thread())
        assert (await graph.ainvoke(asking(), thread()))["outcome"] == "answered"


@pytest.mark.covers("fault 45")
@pytest.mark.live
async def test_a_locked_table_is_a_typed_error_and_the_thread_goes_on(url) -> None:
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        await graph.ainvoke(asking(), thread())
        with psycopg.connect(url) as holder:
            holder.execute("LOCK TABLE checkpoint_writes IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(StorageLocked, match="locked for longer than five seconds"):
                await graph.ainvoke(asking("grant types again"), thread())
            holder.rollback()
        assert (await graph.ainvoke(asking("grant types once more"), thread()))["outcome"] == "answered"


@pytest.mark.live
async def test_a_server_that_is_killed_and_comes_back_is_a_typed_error_meanwhile(url, postgres) -> None:  # noqa: F811
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        await graph.ainvoke(asking(), thread())
        postgres.kill()
        try:
            with pytest.raises(StorageUnavailable, match="does not answer"):
                await graph.ainvoke(asking("while it is down"), thread())
        finally:
            postgres.start()
        output = await graph.ainvoke(asking("grant types when it is back"), thread())
    assert output["outcome"] == "answered"
    assert [message.text for message in output["messages"]][-2] == "grant types when it is back"


@pytest.mark.live
async def test_a_server_that_was_away_for_long_is_asked_at_once_when_it_is_back(url, postgres) -> None:  # noqa: F811
    settings = settings_for(url)
    small = settings.checkpointer.model_copy(update={"pool_size": 1})
    async with open_graph(settings.model_copy(update={"checkpointer": small}), sources=[docs()]) as graph:
        await graph.ainvoke(asking(), thread())
        postgres.kill()
        try:
            with pytest.raises(StorageUnavailable, match="does not answer"):
                await graph.aget_state(thread())
            # By then intervals that double would have the next try later than anybody waits.
            await asyncio.sleep(7)
        finally:
            postgres.start()
        assert (await graph.aget_state(thread())).values["messages"]


async def test_no_server_at_the_start_is_a_typed_error() -> None:
    with pytest.raises(StorageUnavailable, match="does not answer"):
        async with open_graph(settings_for("postgresql://reader:s3cret@127.0.0.1:9/x"), sources=[docs()]):
            pass


@pytest.mark.live
async def test_the_first_turn_after_a_restart_of_the_server_is_answered(url, postgres) -> None:  # noqa: F811
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        for _ in range(2):
            async with AsyncExitStack() as many:
                for _ in range(7):
                    await many.enter_async_context(graph.checkpointer.conn.connection())
            assert (await graph.ainvoke(asking(), thread()))["outcome"] == "answered"
            ended = postgres.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = 'threads'"
            )
            assert ended[0][0] >= 8, "those of the pool and that of the claims"


@pytest.mark.live
@pytest.mark.parametrize("suffix", ["", "?options=-csearch_path%3Dnowhere"])
async def test_a_role_that_may_create_no_table_is_a_typed_error_that_says_what_it_needs(url, postgres, suffix) -> None:  # noqa: F811
    postgres.execute("DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN")
    with pytest.raises(StorageUnavailable, match=r"(permission denied|no schema).*may create tables"):
        async with open_graph(settings_for(url.replace("groundgraph@", "poor@") + suffix), sources=[docs()]):
            pass


@pytest.mark.live
@pytest.mark.parametrize("change", ["DROP TABLE checkpoint_blobs", "REVOKE ALL ON checkpoints FROM poor"])
async def test_a_table_that_is_gone_or_refused_is_a_typed_error_for_every_way_in(url, postgres, change) -> None:  # noqa: F811
    postgres.execute("DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN")
    postgres.execute("GRANT ALL ON SCHEMA public TO poor", "threads")
    async with open_graph(settings_for(url), sources=[docs()]):
        postgres.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO poor", "threads")
    async with open_graph(settings_for(url.replace("groundgraph@", "poor@")), sources=[docs()]) as graph:
        await graph.ainvoke(asking(), thread())
        postgres.execute(change, "threads")
        for one in (graph.ainvoke(asking(), thread()), graph.aget_state(thread()), forget_thread(graph, "t")):
            with pytest.raises(StorageUnavailable, match="refuses"):
                await one


@pytest.mark.live
async def test_forgetting_while_the_server_is_away_is_a_typed_error(url, postgres) -> None:  # noqa: F811
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        await graph.ainvoke(asking(), thread())
        postgres.execute("DROP DATABASE threads WITH (FORCE)")
        with pytest.raises(StorageUnavailable, match="does not answer"):
            await forget_thread(graph, "t")


@pytest.mark.live
async def test_doctor_tells_of_a_server_that_is_away_or_refuses(url, postgres, tmp_path) -> None:  # noqa: F811
    async def states(address: str) -> dict[str, str]:
        settings = settings_for(address).model_copy(update={"base_dir": tmp_path})
        return {one.check: one.state for one in await examine(settings) if one.check in ("checkpointer", "store")}

    postgres.execute("DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN")
    for address in ("postgresql://reader@127.0.0.1:9/x", url.replace("groundgraph@", "poor@")):
        assert await states(address) == {"checkpointer": "fail", "store": "fail"}
    assert await states(url) == {"checkpointer": "ok", "store": "ok"}
    assert postgres.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", "threads") == [(0,)]


@pytest.mark.live
async def test_doctor_tells_of_a_right_that_is_missing_on_a_table_that_is_there(url, postgres, tmp_path) -> None:  # noqa: F811
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        await graph.ainvoke(asking(), thread())
    rights = "GRANT ALL ON SCHEMA public TO poor; GRANT ALL ON ALL TABLES IN SCHEMA public TO poor"
    postgres.execute("DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN")
    postgres.execute(f"{rights}; REVOKE UPDATE, DELETE ON store FROM poor", "threads")
    given = settings_for(url.replace("groundgraph@", "poor@")).model_copy(update={"base_dir": tmp_path})
    told = {one.check: one for one in await examine(given) if one.check in ("checkpointer", "store")}
    assert {name: one.state for name, one in told.items()} == {"checkpointer": "ok", "store": "fail"}
    assert "no right to DELETE on store, UPDATE on store" in told["store"].message


@pytest.mark.parametrize(
    ("given", "message"),
    [({"type": "postgres"}, "needs `url`"), ({"url": "postgresql://h/d"}, "belongs to type 'postgres'")],
)
def test_a_url_and_the_type_postgres_belong_together(given, message) -> None:
    with pytest.raises(ValidationError, match=message):
        CheckpointerSettings(**given)
    with pytest.raises(ConfigurationError, match=message):
        load_settings({"checkpointer": given})


POINTS = ["begin_turn", "retrieve_source", "answer_conversational", "inside_model"]


@pytest.fixture(scope="module")
def killed(tmp_path_factory, postgres):  # noqa: F811
    postgres.database("killed")
    return told_by("killed_turn.py", tmp_path_factory.mktemp("killed"), postgres.url("killed"), *POINTS)


@pytest.mark.covers("fault 41")
@pytest.mark.live
@pytest.mark.parametrize("point", POINTS)
def test_killed_and_resumed_from_postgresql_with_the_same_prompt(killed, point) -> None:
    whole, resumed = killed["nowhere"], killed[point]
    assert resumed["killed"] == 9
    assert set(resumed["prompts"]) == set(whole["prompts"])
    assert resumed["result"]["answer"] == whole["result"]["answer"] == "Four types [1], clients [2]."
    assert resumed["queries"] == 2, "completed steps do not run again"


@pytest.mark.covers("fault 42")
@pytest.mark.live
@pytest.mark.parametrize("point", POINTS)
def test_killed_after_synthesis_there_is_one_record_and_one_answer(killed, point) -> None:
    result = killed[point]["result"]
    assert [kind for kind, _ in result["messages"]] == ["human", "ai"]
    assert (result["records"], result["history"]) == (1, 1)


@pytest.mark.live
@pytest.mark.covers("F20")
async def test_an_outage_is_one_line_of_the_pools_log(url, caplog, monkeypatch) -> None:
    # Another test of this process may have had an outage a moment ago.
    monkeypatch.setattr(postgres_storage._QUIET, "_last", float("-inf"))
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        await graph.ainvoke(asking(), thread())
        pool = logging.getLogger("psycopg.pool")
        caplog.clear()
        for _ in range(12):
            # As psycopg_pool says it for each connection that it tries.
            pool.warning("error connecting in %r: %s", "pool-1", "connection refused")
            pool.warning("discarding closed connection: %s", "[BAD]")
            pool.warning("reconnection attempt in pool %r failed after %s sec", "pool-1", 10.0)
        pool.warning("rolling back returned connection: %s", "[INTRANS]")
        pool.error("something else")
    told = [record.getMessage() for record in caplog.records if record.name == "psycopg.pool"]
    assert [line.split(" ")[0] for line in told] == ["error", "rolling", "something"]


@pytest.mark.live
@pytest.mark.covers("F4", "fault 90")
async def test_a_database_that_takes_no_writes_is_told_as_that_and_the_thread_goes_on_afterwards(url, postgres) -> None:  # noqa: F811
    told = "PostgreSQL, which keeps .* takes no writes: .*read-only.*target_session_attrs.*ask again"
    read_only = "ALTER DATABASE threads SET default_transaction_read_only = on"
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'threads'"
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        first = await graph.ainvoke(asking(), thread())
        postgres.execute(read_only)
        try:
            # As after a fail-over: the same name, other connections; that the old ones are cut is told once.
            postgres.execute(cut)
            with suppress(StorageUnavailable):
                await graph.ainvoke(asking("pump 17"), thread())
            for use in (
                lambda: graph.ainvoke(asking("pump 17"), thread()),
                lambda: graph.store.aput(("groundgraph", "tried"), "k", {"a": 1}),
                lambda: forget_thread(graph, "t"),
                lambda: load_provenance(graph, "t"),
            ):
                with pytest.raises(StorageUnavailable, match=told):
                    await use()
            assert len((await graph.aget_state(thread())).values["messages"]) == 2
            with pytest.raises(StorageUnavailable, match=told):
                async with open_graph(settings_for(url), sources=[docs()]):
                    pass
        finally:
            postgres.execute("ALTER DATABASE threads RESET default_transaction_read_only")
        postgres.execute(cut)
        # The pool waits longer from try to try, so that some questions may come too soon.
        for _ in range(6):
            with suppress(StorageUnavailable):
                await graph.ainvoke(asking("pump 17"), thread())
                break
        assert await load_provenance(graph, "t", first["provenance"]["turn_id"]) == first["provenance"]
        assert (await graph.ainvoke(asking("pump 17"), thread()))["outcome"] == "answered"


@pytest.mark.covers("fault 80")
@pytest.mark.live
async def test_what_the_store_does_in_the_background_ends_with_it_though_a_cancellation_is_lost(
    url, monkeypatch
) -> None:
    begun = asyncio.Event()

    async def lost(*_: object) -> list[object]:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        # As a pool that is closed while somebody waits for it.
        raise psycopg.OperationalError("closed")

    async with AsyncExitStack() as stack:
        store = await postgres_storage.PostgresStorage(stack).store(url, 2)
        monkeypatch.setattr(store, "abatch", lost)
        asked = asyncio.create_task(store.aget(("a",), "b"))
        await begun.wait()
    try:
        assert store._task.done()
    finally:
        # Else the loop of a test that failed would wait for it.
        store._task.cancel()
    with pytest.raises(psycopg.OperationalError):
        await asked
    with pytest.raises(StorageUnavailable):
        await store.aget(("a",), "b")


@pytest.mark.covers("fault 88")
@pytest.mark.live
@pytest.mark.parametrize("parent", ["checkpoint_id", "(SELECT max(checkpoint_id) FROM checkpoints)"])
async def test_a_circle_of_checkpoints_is_told_and_can_be_forgotten(url, parent: str) -> None:
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        await graph.ainvoke(asking(), thread("hurt"))
    async with await psycopg.AsyncConnection.connect(url) as db:
        # What LangGraph reads stands in a snapshot, where it stops, or behind the circle.
        await db.execute(f"UPDATE checkpoints SET parent_checkpoint_id = {parent}")
    async with open_graph(settings_for(url), sources=[docs()]) as graph:
        with pytest.raises(StorageDamaged, match=r"'hurt' cannot be read: the checkpoint .* is its own ancestor"):
            await graph.ainvoke(asking(), thread("hurt"))
        await graph.ainvoke(asking(), thread("other"))
        assert (await forget_thread(graph, "hurt")).records == 1
        assert (await graph.ainvoke(asking(), thread("hurt")))["outcome"] == "answered"

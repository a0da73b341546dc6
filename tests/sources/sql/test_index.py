"""The index beside the database: built once, kept fresh, never a lie (R3)."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from asking import ask, ask_ids, opened
from kept_index import check_index, index_files
from plant_database import change, fill, watched_threads

from groundgraph.search import word_index
from groundgraph.sources.sql import SqlSource, keep_index, shape

pytestmark = pytest.mark.covers("R3")


@pytest.fixture
def stemmed(monkeypatch):
    """The texts that were stemmed for an index."""
    seen = []
    plain = shape.stems
    monkeypatch.setattr(shape, "stems", lambda text: seen.append(text) or plain(text))
    return seen


async def asked_once(plant, question="pump 17"):
    source = opened(SqlSource(plant, table="pumps", name="plant"))
    return await ask_ids(source, question)


async def test_the_index_lies_beside_and_only_changed_rows_are_read_again(plant, stemmed):
    await asked_once(plant)
    assert len(index_files(plant.parent)) == 1
    stemmed.clear()
    await asked_once(plant)
    assert stemmed == []
    change(plant, "UPDATE pumps SET name = 'Okapi' WHERE id = 3")
    assert (await asked_once(plant, "okapi"))[0] == "pumps/3"
    assert "Okapi" in stemmed
    assert len(stemmed) == 3  # the text columns of one row


async def test_the_index_counts_what_it_holds_after_any_changes(plant):
    for statement in (
        "UPDATE pumps SET notes = 'new words here' WHERE id < 10",
        "DELETE FROM pumps WHERE id > 30",
        "INSERT INTO pumps VALUES (77, 'Zebra', NULL, NULL, NULL)",
    ):
        change(plant, statement)
        await asked_once(plant)
    (file,) = index_files(plant.parent)
    assert check_index(file, "new") == list(range(1, 10))


@pytest.mark.parametrize("index", [None, ":memory:"])
async def test_a_long_update_is_not_waited_for_and_results_say_so(plant, monkeypatch, index):
    source = opened(SqlSource(plant, table="pumps", name="plant", index=index))
    (best, *_) = await ask(source, "pump 17")
    assert "index" not in best.metadata
    change(plant, "INSERT INTO pumps VALUES (99, 'Zebra', 'striped', 1, 'hall C')")
    go_on = threading.Event()
    plain = keep_index.update_index
    monkeypatch.setattr(keep_index, "REFRESH_WAIT", 0.1)

    def update_and_wait(connection, *args, **options):
        # What is written and not committed must neither be seen nor stand in the way.
        removed = plain(connection, *args, **options)
        connection.execute("UPDATE state SET version = 'not yet'")
        assert go_on.wait(30)
        return removed

    monkeypatch.setattr(keep_index, "update_index", update_and_wait)
    (best, *_) = await ask(source, "pump 17")
    assert (best.source_id, best.metadata["index"]) == ("pumps/17", "stale")
    assert await ask_ids(source, "zebra") == []
    go_on.set()
    await source.refresh()
    assert await ask_ids(source, "zebra") == ["pumps/99"]


@pytest.mark.parametrize("index", [None, ":memory:"])
async def test_many_first_queries_at_once_build_one_index(plant, stemmed, index):
    source = opened(SqlSource(plant, table="pumps", name="plant", index=index))
    found = await asyncio.gather(*(ask_ids(source, "pump 17") for _ in range(10)))
    assert all(answer == found[0] for answer in found)
    assert len([text for text in stemmed if text == "Pump 17"]) == 1


async def test_an_index_that_others_just_create_is_not_taken_for_somebody_elses_file(plant):
    # Each looks whose file it is while the others make its tables.
    for number in range(5):
        many = [
            SqlSource(plant, table="pumps", name="plant", index=str(plant.parent / f"{number}.index")) for _ in range(4)
        ]
        found = await asyncio.gather(*(ask_ids(one, "pump 17") for one in many for _ in range(3)))
        assert all(answer == found[0] for answer in found)
        for one in many:
            await one.close()


@pytest.mark.parametrize("lost", ["*", "meta.json", "*.term"])
async def test_a_full_text_index_that_lost_files_is_built_again_from_the_stems(plant, stemmed, lost):
    before = await asked_once(plant)
    (file,) = index_files(plant.parent)
    assert Path(f"{file}-words").stat().st_mode & 0o777 == 0o700
    for path in Path(f"{file}-words").glob(lost):
        path.unlink()
    stemmed.clear()
    assert await asked_once(plant) == before
    assert stemmed == []
    change(plant, "UPDATE pumps SET name = 'Okapi' WHERE id = 3", "DELETE FROM pumps WHERE id = 17")
    assert (await asked_once(plant, "okapi"))[0] == "pumps/3"
    assert "pumps/17" not in await asked_once(plant)


@pytest.mark.parametrize("index", [None, ":memory:"])
async def test_a_row_that_changes_again_and_again_is_found_by_what_it_says_now(plant, index):
    source = opened(SqlSource(plant, table="pumps", name="plant", index=index))
    for word in ("okapi", "zebra", "yak", "okapi"):
        change(plant, f"UPDATE pumps SET name = '{word}' WHERE id = 3")
        await source.refresh()
        for asked in ("okapi", "zebra", "yak"):
            assert await ask_ids(source, asked) == (["pumps/3"] if asked == word else [])


@pytest.mark.covers("L5")
async def test_a_filter_keeps_the_same_rows_looked_up_or_picked_from_the_best(plant, monkeypatch):
    found = []
    for few in (-1, 10**9):
        monkeypatch.setattr(word_index, "_FEW_LISTED", few)
        source = opened(SqlSource(plant, table="pumps", name="plant"))
        found.append(await ask_ids(source, "pump", top_k=40, hall="hall B"))
    assert found[0] == found[1]
    assert len(found[0]) == 20


async def test_a_damaged_index_is_named(plant):
    from groundgraph.core.errors import SourceUnavailable

    (plant.parent / "broken.sqlite").write_bytes(b"no database" * 1000)
    source = opened(SqlSource(plant, table="pumps", name="plant", index="broken.sqlite"))
    with pytest.raises(SourceUnavailable, match=r"broken\.sqlite.*built again"):
        await ask_ids(source, "pump")


async def test_nothing_of_sqlite_runs_on_the_event_loops_thread(plant, monkeypatch):
    seen = watched_threads(monkeypatch)
    source = opened(SqlSource(plant, name="plant"))
    source.get_schema()
    await ask_ids(source, "pump 17")
    assert len(seen) > 20
    assert threading.main_thread() not in seen


async def test_a_database_in_wal_mode_is_read_and_its_changes_are_seen(plant):
    with closing(sqlite3.connect(plant)) as owner:
        owner.execute("PRAGMA journal_mode = WAL")
        source = opened(SqlSource(plant, table="pumps", name="plant"))
        assert await ask_ids(source, "zebra") == []
        owner.execute("INSERT INTO pumps VALUES (99, 'Zebra', 'striped', 1, 'hall C')")
        owner.commit()
        assert await ask_ids(source, "zebra") == ["pumps/99"]


WRITTEN_BY_0_1 = Path(__file__).parents[2] / "data" / "written_by" / "0.1.0" / "index" / "plant.sqlite"


@pytest.mark.covers("F17", "fault 98")
async def test_two_databases_under_one_name_have_an_index_each_that_only_its_owner_reads(plant):
    other = fill(
        plant.parent / "other.db", "CREATE TABLE pumps (id INTEGER PRIMARY KEY, name TEXT)", pumps=[(1, "Yak")]
    )
    assert (await asked_once(plant))[0] == "pumps/17"
    assert await asked_once(other, "yak") == ["pumps/1"]
    assert (await asked_once(plant))[0] == "pumps/17"
    assert len(index_files(plant.parent)) == 2
    assert {file.stat().st_mode & 0o777 for file in index_files(plant.parent)} == {0o600}


@pytest.mark.covers("F17")
@pytest.mark.parametrize("index", [None, ":memory:"])
async def test_the_index_file_of_version_0_1_is_deleted(plant, index):
    former = plant.parent / ".groundgraph" / "index" / "plant.sqlite"
    former.parent.mkdir(parents=True)
    shutil.copy(WRITTEN_BY_0_1, former)
    source = opened(SqlSource(plant, table="pumps", name="plant", index=index))
    assert (await ask_ids(source, "pump 17"))[0] == "pumps/17"
    assert not former.exists()


@pytest.mark.covers("F17")
@pytest.mark.parametrize("foreign", ["text", "database", "later"])
async def test_a_file_under_the_former_name_that_is_no_index_of_0_1_stays(plant, foreign):
    former = plant.parent / ".groundgraph" / "index" / "plant.sqlite"
    former.parent.mkdir(parents=True)
    if foreign == "text":
        former.write_text("mine")
    else:
        shutil.copy(WRITTEN_BY_0_1, former)
        change(former, "CREATE TABLE mine (x)" if foreign == "database" else "PRAGMA application_id = 7")
    before = former.read_bytes()
    assert (await asked_once(plant))[0] == "pumps/17"
    assert former.read_bytes() == before

"""The files of the index beside a database: derived from its rows, whatever happens to either."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import tantivy
from asking import ask, ask_ids, opened
from kept_index import check_index, index_files, words_of
from plant_database import change, fill, rows_of

from groundgraph.core.errors import SourceUnavailable
from groundgraph.search.word_index import WordIndex
from groundgraph.sources.sql import SqlSource

NAMES = ("apple", "pear", "fig", "plum")
TABLE = "CREATE TABLE trees (id INTEGER PRIMARY KEY, name TEXT)"

pytestmark = pytest.mark.covers("R3")


@pytest.fixture
async def trees(tmp_path: Path) -> Path:
    """A database with a row for each of `NAMES`, whose index was brought up to date twice."""
    rows = [(number, f"{name} tree") for number, name in enumerate((*NAMES, "zucchini"))]
    path = fill(tmp_path / "trees.db", TABLE, trees=rows)
    source = source_over(path)
    await source.refresh()
    change(path, "UPDATE trees SET name = 'quince tree' WHERE id = 3")
    await source.refresh()
    change(path, "UPDATE trees SET name = 'plum tree' WHERE id = 3")
    long_ago(path, 1)
    await source.refresh()
    await source.close()
    return path


def long_ago(path: Path, number: int) -> None:
    """Of a file that changed just now nobody knows whether it changed again: let this one be followed once only."""
    os.utime(path, (1e9 + number, 1e9 + number))


def source_over(path: Path, **options: str) -> SqlSource:
    return opened(SqlSource(path, name="plant", **options))


def index_of(path: Path) -> Path:
    [file] = index_files(path.parent)
    return file


async def is_right(path: Path, source: SqlSource | None = None, **options: str) -> bool:
    asked = source or source_over(path, **options)
    found = [await ask_ids(asked, name) for name in (*NAMES, "quince")]
    return found == [[f"trees/{number}"] for number in range(len(NAMES))] + [[]]


def cut(folder: Path, ending: str) -> None:
    for file in folder.glob(f"*{ending}"):
        whole = file.read_bytes()
        # Another file in its place: what an open reader has mapped stays as it was.
        file.unlink()
        file.write_bytes(whole[: len(whole) // 2])


DAMAGES = {
    "missing": shutil.rmtree,
    "empty": lambda folder: [file.unlink() for file in folder.iterdir()],
    "meta cut": lambda folder: cut(folder, "meta.json"),
    "postings cut": lambda folder: cut(folder, ".idx"),
    "terms cut": lambda folder: cut(folder, ".term"),
    "numbers cut": lambda folder: cut(folder, ".fast"),
    "meta foreign": lambda folder: (folder / "meta.json").write_text("[1]"),
}


@pytest.mark.covers("fault 97")
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_full_text_index_is_built_again_whoever_comes_first(trees, damage):
    known = source_over(trees)
    assert await is_right(trees, known)
    for first, second in ((known, None), (None, known)):
        DAMAGES[damage](words_of(index_of(trees)))
        assert await is_right(trees, first)
        assert await is_right(trees, second)
    DAMAGES[damage](words_of(index_of(trees)))
    change(trees, "UPDATE trees SET name = 'plum tree again' WHERE id = 3")
    await known.refresh()
    assert await is_right(trees, known)
    assert await is_right(trees)
    assert check_index(index_of(trees), "plum") == [3]


@pytest.mark.covers("fault 97")
@pytest.mark.parametrize("damage", ["missing", "cut", "overwritten"])
async def test_a_damaged_file_is_built_again_or_named_and_never_believed(trees, damage):
    file = index_of(trees)
    if damage == "missing":
        file.unlink()
    else:
        whole = file.read_bytes()
        half = len(whole) // 2
        file.write_bytes(whole[:half] if damage == "cut" else whole[:half] + b"\xa5" * half)
        with pytest.raises(SourceUnavailable, match=r"\.sqlite' cannot be used: .*a damaged one can be deleted"):
            await is_right(trees)
        file.unlink()
    assert await is_right(trees)
    assert check_index(file, "plum") == [3]


class Killed(BaseException):
    """The process ended here."""


@pytest.mark.covers("fault 48")
async def test_who_dies_between_full_text_index_and_rows_is_never_seen(trees, monkeypatch):
    plain = WordIndex.commit

    def dying(*args, **how):
        plain(*args, **how)
        raise Killed

    known = source_over(trees)
    assert await is_right(trees, known)
    change(trees, "UPDATE trees SET name = 'medlar tree' WHERE id = 1")
    with monkeypatch.context() as patched:
        patched.setattr(WordIndex, "commit", dying)
        with pytest.raises(Killed):
            await source_over(trees).refresh()
    # The number that the row had is given to another one now.
    change(trees, "UPDATE trees SET name = 'pear tree' WHERE id = 1", "INSERT INTO trees VALUES (9, 'sloe tree')")
    await known.refresh()
    assert await is_right(trees, known)
    assert await is_right(trees)
    assert check_index(index_of(trees), "sloe") == [9]
    assert check_index(index_of(trees), "medlar") == []


@pytest.mark.parametrize("put_back", ["index", "full text", "both"])
async def test_an_index_that_is_older_than_its_table_is_brought_up_to_date(trees, tmp_path, put_back):
    file, kept = index_of(trees), tmp_path / "kept"
    kept.mkdir()
    shutil.copy(file, kept / "index")
    shutil.copytree(words_of(file), kept / "words")
    known = source_over(trees)
    change(trees, "UPDATE trees SET name = 'medlar tree' WHERE id = 1", "INSERT INTO trees VALUES (9, 'sloe tree')")
    long_ago(trees, 2)
    assert await ask_ids(known, "medlar") == ["trees/1"]
    await known.close()
    if put_back in ("index", "both"):
        shutil.copy(kept / "index", file)
    if put_back in ("full text", "both"):
        shutil.rmtree(words_of(file))
        (kept / "words").rename(words_of(file))
    source = source_over(trees)
    assert await ask_ids(source, "medlar") == ["trees/1"]
    assert await ask_ids(source, "sloe") == ["trees/9"]
    assert await ask_ids(source, "pear") == []
    assert check_index(file, "tree") == [0, 1, 2, 3, 4, 9]


@pytest.mark.covers("F17")
async def test_an_index_of_another_database_is_not_believed(trees, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    other = fill(tmp_path / "elsewhere" / "trees.db", TABLE, trees=[(1, "apple pear plum"), (2, "fig"), (7, "quince")])
    shared = str(tmp_path / "shared.sqlite")
    assert await ask_ids(source_over(other, index=shared), "quince") == ["trees/7"]
    known = source_over(trees, index=shared)
    assert await is_right(trees, known)
    assert await ask_ids(source_over(other, index=shared), "quince") == ["trees/7"]
    assert await is_right(trees, known)
    shutil.copy(shared, index_of(trees))
    assert await is_right(trees)


@pytest.mark.covers("F17")
async def test_an_index_of_a_later_version_is_built_anew(trees):
    file = index_of(trees)
    change(file, "CREATE TABLE invented (x)", "ALTER TABLE rows RENAME TO lines", "PRAGMA user_version = 99")
    assert await is_right(trees)
    assert check_index(file, "plum") == [3]
    assert rows_of(file, "SELECT name FROM sqlite_master WHERE name IN ('invented', 'lines')") == []


@pytest.mark.covers("fault 98")
@pytest.mark.parametrize("layout", [0, 2, 3])
async def test_a_database_of_something_else_is_refused_and_stays_as_it_is(trees, tmp_path, layout):
    mine = fill(tmp_path / "mine.db", f"CREATE TABLE state (x); CREATE TABLE rows (y); PRAGMA user_version = {layout}")
    change(mine, "INSERT INTO state VALUES ('precious')")
    for file in (mine, trees):
        before = file.read_bytes()
        with pytest.raises(SourceUnavailable, match=rf"{file.name}' is no text index.*Name a file of its own"):
            await ask_ids(source_over(trees, index=str(file)), "apple")
        assert file.read_bytes() == before
        assert not words_of(file).exists()


@pytest.mark.parametrize("gone", ["DELETE FROM trees WHERE id = 4", "DROP TABLE trees"])
async def test_of_rows_that_are_gone_the_files_hold_nothing(trees, gone):
    file = index_of(trees)
    change(trees, "CREATE TABLE others (id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO others VALUES (1, 'okapi')")
    source = source_over(trees)
    await source.refresh()
    assert holds(file, "zucchin")
    change(trees, gone)
    await source.refresh()
    # The source is still open, as that of a server is.
    assert not holds(file, "zucchin")
    assert holds(file, "okapi")
    assert await ask_ids(source, "okapi") == ["others/1"]


def holds(file: Path, word: str) -> bool:
    """Whether any file of the index holds `word`, or how it begins."""
    by_sqlite = any(word.encode() in one.read_bytes() for one in file.parent.glob(f"{file.name}*") if one.is_file())
    # The dictionaries of all segments; these are the only place that has words, and tantivy packs their letters.
    searcher = tantivy.Index.open(str(words_of(file))).searcher()
    by_tantivy = bool(searcher.terms_with_prefix("stems", word))
    assert by_sqlite == by_tantivy
    return by_sqlite


SMALL_FILES = """
import asyncio, resource, sys
from groundgraph import RetrievalIntent
from groundgraph.core.errors import SourceUnavailable
from groundgraph.sources.sql import SqlSource
async def main():
    source = SqlSource(sys.argv[1], name="plant")
    try:
        for word in sys.argv[2:]:
            found = await source.query(RetrievalIntent([word]))
            print(*(f"{one.source_id} {one.metadata.get('index', 'fresh')}" for one in found))
    except SourceUnavailable as error:
        print(error)
    await source.close()
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
asyncio.run(main())
"""


def ask_on_a_full_disk(path: Path, *words: str) -> list[str]:
    # Without -B a module that changed would be compiled into a file that is cut, and broken for whoever loads it next.
    command = [sys.executable, "-B", "-c", SMALL_FILES, str(path), *words]
    ran = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


@pytest.mark.covers("fault 90")
async def test_on_a_full_disk_an_index_that_cannot_be_built_is_named_and_built_later(trees):
    file = index_of(trees)
    file.unlink()
    shutil.rmtree(words_of(file))
    [told] = ask_on_a_full_disk(trees, "apple")
    assert f"{file.name}' cannot be used" in told
    assert "Name a file that can be written" in told
    assert await is_right(trees)
    assert check_index(file, "plum") == [3]


@pytest.mark.covers("fault 90")
async def test_on_a_full_disk_questions_are_answered_from_the_rows_as_they_were(trees):
    file = index_of(trees)
    change(trees, "INSERT INTO trees VALUES (9, 'sloe tree')")
    # SQLite's own files are there already, so that no byte of them has to be written to read.
    with closing(sqlite3.connect(file)) as keeping:
        keeping.execute("SELECT * FROM rows").fetchall()
        assert ask_on_a_full_disk(trees, "apple", "sloe", "pear") == ["trees/0 stale", "", "trees/1 stale"]
    assert await ask_ids(source_over(trees), "sloe") == ["trees/9"]
    assert check_index(file, "tree") == [0, 1, 2, 3, 4, 9]


@pytest.mark.covers("fault 90")
async def test_a_folder_that_nobody_may_write_has_its_index_in_memory(trees, caplog):
    folder = words_of(index_of(trees))
    shutil.rmtree(folder)
    folder.write_text("no folder")
    source = source_over(trees)
    assert await is_right(trees, source)
    assert caplog.text.count("it is built in memory") == 1
    change(trees, "INSERT INTO trees VALUES (9, 'sloe tree')")
    assert [one.metadata["index"] for one in await ask(source, "apple")] == ["stale"]
    with pytest.raises(SourceUnavailable, match="cannot be used"):
        await source.refresh()
    folder.unlink()
    assert await ask_ids(source, "sloe") == ["trees/9"]

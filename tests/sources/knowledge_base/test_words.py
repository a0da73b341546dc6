"""The full-text index beside a base: derived from SQLite, whatever happens to either."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
import tantivy
from asking import ask_ids, opened
from filled_base import check_counts, fill, prepared
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plant_database import change, rows_of

from groundgraph.core.document import Document
from groundgraph.core.errors import NeverIngested, SourceUnavailable, StorageLocked
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.search.word_index import WordIndex, Words
from groundgraph.sources.knowledge_base import EmbeddedStore, KnowledgeBaseSource, KnowledgeBaseWriter, searcher
from groundgraph.sources.knowledge_base.chained_source import Search
from groundgraph.sources.knowledge_base.document_rows import document_rows
from groundgraph.sources.knowledge_base.schema import WORDS as WORDS_OF_A_BASE
from groundgraph.sources.knowledge_base.schema import mend_words, open_for_reading, open_for_writing, transaction
from groundgraph.sources.knowledge_base.searcher import Searcher

WORDS = ("apple", "pear", "fig", "plum")


@pytest.fixture
async def base(tmp_path) -> Path:
    """A base with a document for each of `WORDS`; that of plums was replaced once."""
    path = tmp_path / "kb.sqlite"
    await fill(path, [Document(word, f"{word} tree") for word in (*WORDS[:3], "zucchini")])
    await fill(path, [Document("plum", "quince")])
    await fill(path, [Document("plum", "plum tree")])
    return path


def folder_of(path: Path) -> Path:
    return Path(f"{path}-words")


async def is_right(path: Path, source: KnowledgeBaseSource | None = None) -> bool:
    asked = source or opened(KnowledgeBaseSource(path))
    found = [await ask_ids(asked, word) for word in (*WORDS, "quince")]
    return found == [[f"{word}#0"] for word in WORDS] + [[]]


def cut(folder: Path, ending: str) -> None:
    for file in folder.glob(f"*{ending}"):
        held = file.read_bytes()
        # Another file in its place: what an open reader has mapped stays as it was.
        file.unlink()
        file.write_bytes(held[: len(held) // 2])


DAMAGES = {
    "missing": shutil.rmtree,
    "empty": lambda folder: [file.unlink() for file in folder.iterdir()],
    "no meta": lambda folder: (folder / "meta.json").unlink(),
    "meta cut": lambda folder: cut(folder, "meta.json"),
    "postings cut": lambda folder: cut(folder, ".idx"),
    "terms cut": lambda folder: cut(folder, ".term"),
    "numbers cut": lambda folder: cut(folder, ".fast"),
    "meta foreign": lambda folder: (folder / "meta.json").write_text("[1]"),
    "a file": lambda folder: [shutil.rmtree(folder), folder.write_text("mine")],
}


@pytest.mark.covers("R5", "fault 97")
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_index_is_built_again_by_readers_and_by_writers(base, damage):
    known = opened(KnowledgeBaseSource(base))
    assert await is_right(base, known)
    DAMAGES[damage](folder_of(base))
    assert await is_right(base)
    assert await is_right(base, known)
    if damage == "a file":
        return
    DAMAGES[damage](folder_of(base))
    await fill(base, [Document("plum", "plum tree again")])
    assert await is_right(base)
    assert await is_right(base, known)
    check_counts(base)


@pytest.mark.covers("R5")
@pytest.mark.parametrize("other", ["an older state", "another base", "another schema"])
async def test_an_index_of_something_else_is_not_believed(base, tmp_path, other):
    kept = tmp_path / "kept"
    if other == "an older state":
        shutil.copytree(folder_of(base), kept)
        await fill(base, [Document("pear", "medlar")])
        await fill(base, [Document("pear", "pear tree")])
    elif other == "another base":
        await fill(tmp_path / "other.sqlite", [Document("fig", "apple pear plum")])
        folder_of(tmp_path / "other.sqlite").rename(kept)
    else:
        kept.mkdir()
        tantivy.Index(tantivy.SchemaBuilder().add_text_field("body").build(), str(kept)).writer().commit()
    shutil.rmtree(folder_of(base))
    kept.rename(folder_of(base))
    assert await is_right(base)
    check_counts(base)


@pytest.mark.covers("R5")
async def test_a_base_that_was_put_back_finds_what_it_holds_and_goes_on(base, tmp_path):
    rows_of(base, "PRAGMA wal_checkpoint(TRUNCATE)")
    kept = base.read_bytes()
    source = opened(KnowledgeBaseSource(base))
    for text in ("medlar", "sloe", "rowan"):
        await fill(base, [Document("pear", text)])
        assert await ask_ids(source, text) == ["pear#0"]
    for ending in ("-wal", "-shm"):
        Path(f"{base}{ending}").unlink(missing_ok=True)
    base.unlink()
    base.write_bytes(kept)
    assert await is_right(base, source)
    await fill(base, [Document("extra", "elder")])
    assert await ask_ids(source, "elder rowan") == ["extra#0"]
    assert await is_right(base)


@pytest.mark.covers("R5")
async def test_what_else_lies_in_the_folder_of_an_index_stays(base):
    (folder_of(base) / "notes.txt").write_text("mine")
    (folder_of(base) / "meta.json").unlink()
    assert await is_right(base)
    assert (folder_of(base) / "notes.txt").read_text() == "mine"


@pytest.mark.covers("K1")
async def test_of_what_is_removed_the_files_of_the_index_hold_nothing(base):
    def held(stem: str) -> bool:
        # The dictionaries of all segments; these are the only place that has words, and tantivy packs their letters.
        return bool(tantivy.Index.open(str(folder_of(base))).searcher().terms_with_prefix("stems", stem))

    def segments() -> set[str]:
        return {file.name for file in folder_of(base).iterdir() if len(file.stem) == 32}

    before = segments()
    assert held("zucchini")
    assert held("plum")
    store = opened(EmbeddedStore(base))
    assert await store.remove(["zucchini"]) == 1
    assert not held("zucchini")
    assert not held("quinc")
    assert held("plum")
    assert before.isdisjoint(segments())
    assert await is_right(base)


class Killed(BaseException):
    """The process ended here."""


async def write_and_die(path: Path, document: Document) -> None:
    """Write `document` to the index, and never commit it in SQLite."""
    plain = WordIndex.commit

    def dying(*args, **how):
        plain(*args, **how)
        raise Killed

    writer = KnowledgeBaseWriter(path)
    rows = document_rows(await prepared(document))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(WordIndex, "commit", dying)
        with pytest.raises(Killed):
            writer.write([rows])
    writer.close()


@pytest.mark.covers("fault 48")
async def test_a_writer_that_dies_between_index_and_base_is_never_seen(base):
    source = opened(KnowledgeBaseSource(base))
    assert await is_right(base, source)
    for text in ("medlar", "sloe"):
        await write_and_die(base, Document("pear", text))
        assert await is_right(base, source)
        assert await is_right(base)
    # The numbers that those rows had are given to others now.
    await fill(base, [Document("new", "rowan")])
    assert await ask_ids(source, "medlar sloe rowan") == ["new#0"]
    assert await is_right(base, source)
    check_counts(base)


@pytest.mark.covers("fault 48")
@pytest.mark.parametrize("known", [True, False])
async def test_what_a_killed_writer_was_writing_stands_in_no_other_s_way(base, known):
    folder = folder_of(base)
    meta = json.loads((folder / "meta.json").read_text())
    segments = {segment["segment_id"].replace("-", "") for segment in meta["segments"]}
    stamps = range(meta["opstamp"] + 1, meta["opstamp"] + 30)
    left = {f"{segment}.{stamp}.del" for segment in segments for stamp in stamps}
    for name in left:
        (folder / name).touch()
    if known:
        listed = folder / ".managed.json"
        listed.write_text(json.dumps([*json.loads(listed.read_text()), *left]))
    source = opened(KnowledgeBaseSource(base))
    await fill(base, [Document("pear", "pear anew"), Document("new", "rowan")])
    await fill(base, [Document("pear", "pear tree")])
    assert await is_right(base, source)
    assert await ask_ids(source, "rowan anew") == ["new#0"]
    # What tantivy knows of is taken away; anything else has the index built again.
    assert known == any((folder / f"{segment}.term").exists() for segment in segments)
    check_counts(base)


SMALL_FILES = """
import asyncio, resource, sys
from groundgraph import RetrievalIntent
from groundgraph.core.errors import NeverIngested, SourceUnavailable, StorageLocked
from groundgraph.sources.knowledge_base import KnowledgeBaseSource, KnowledgeBaseWriter
from groundgraph.core.knowledge_store import BaseIdentity
path = sys.argv[1]
async def main():
    source = KnowledgeBaseSource(path)
    print(len(await source.query(RetrievalIntent(["apple"]))))
    await source.close()
    try:
        KnowledgeBaseWriter(__import__("pathlib").Path(path)).settle(BaseIdentity())
    except SourceUnavailable as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
asyncio.run(main())
"""


@pytest.mark.covers("fault 48")
async def test_while_an_index_is_built_again_readers_have_the_one_before(base):
    index, found = WordIndex(folder_of(base), WORDS_OF_A_BASE), []

    def look() -> None:
        with closing(Searcher(base, 0.1, "docs")) as reader:
            (matches,) = reader.run([Search("plum", None, "", 0.0, {}, 3, 0.1)])
        found.append([one.result.source_id for one in matches])

    with closing(open_for_writing(base)) as connection, transaction(connection):
        connection.set_progress_handler(look, 10)
        index.mend(connection, anew=True)
        connection.set_progress_handler(None, 0)
    assert found == [["plum#0"]] * len(found)
    assert len(found) > 2


@pytest.mark.covers("fault 48")
async def test_a_file_that_a_writer_takes_away_while_an_index_is_opened_is_looked_for_again(base, monkeypatch):
    index, read, tries = WordIndex(folder_of(base), WORDS_OF_A_BASE), WordIndex._read, []

    def gone_at_first(self: WordIndex) -> Words | None:
        tries.append(1)
        if len(tries) == 1:
            raise FileNotFoundError("a.store")
        return read(self)

    monkeypatch.setattr(WordIndex, "_read", gone_at_first)
    with closing(open_for_reading(base)) as connection:
        assert index.at(connection).searcher.num_docs


@pytest.mark.covers("fault 48")
@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_reader_does_not_wait_for_whoever_holds_the_base(base, tmp_path, monkeypatch, comes_back):
    monkeypatch.setattr(searcher, "_HELD", 0.5)
    source, tried = opened(KnowledgeBaseSource(base)), threading.Event()
    monkeypatch.setattr(searcher, "mend_words", lambda *given, **more: (tried.set(), mend_words(*given, **more)))
    folder_of(base).rename(tmp_path / "away")
    with closing(open_for_writing(base)) as connection, transaction(connection):
        asking = asyncio.create_task(ask_ids(source, "plum"))
        await asyncio.to_thread(tried.wait, 10)
        if not comes_back:
            with pytest.raises(StorageLocked, match=r"stayed locked .* more than 0\.5 s"):
                await asking
            return
        (tmp_path / "away").rename(folder_of(base))
        assert await asking == ["plum#0"]


@pytest.mark.covers("fault 90")
async def test_on_a_full_disk_a_reader_has_the_index_in_memory_and_a_writer_says_so(base):
    shutil.rmtree(folder_of(base))
    # SQLite's own files are there already, so that no byte of them has to be written.
    with sqlite3.connect(base) as keeping:
        keeping.execute("SELECT * FROM documents").fetchall()
        # Without -B a module that changed would be compiled into a file that is cut.
        command = [sys.executable, "-B", "-c", SMALL_FILES, str(base)]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
    keeping.close()
    found, told = ran.stdout.splitlines()
    assert found == "1"
    assert "kb.sqlite-words' of the knowledge base" in told
    assert "Make room on the disk" in told
    assert await is_right(base)


async def test_a_folder_that_nobody_may_write_has_its_index_in_memory(base, caplog):
    shutil.rmtree(folder_of(base))
    folder_of(base).write_text("no folder")
    source = opened(KnowledgeBaseSource(base))
    assert await is_right(base, source)
    assert caplog.text.count("it is built in memory") == 1
    with pytest.raises(SourceUnavailable, match="Make room on the disk, or the folder writable"):
        await fill(base, [Document("new", "rowan")])
    assert await ask_ids(source, "rowan") == []


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["write", "killed"]), st.sampled_from("abc"), st.sampled_from(WORDS)),
        st.tuples(st.just("remove"), st.sampled_from("abc"), st.none()),
        st.tuples(st.sampled_from(["tidy", "lose", "ask"]), st.none(), st.none()),
    ),
    max_size=10,
)


@pytest.mark.guard
@pytest.mark.covers("R5")
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_an_open_reader_finds_what_the_base_holds_whatever_happens(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("kb") / "kb.sqlite"
    await fill(path, [Document("d", "date")])
    source, store = KnowledgeBaseSource(path), EmbeddedStore(path)
    await store.open(BaseIdentity())
    held = {"d": "date"}
    try:
        for step, name, word in steps:
            if step == "write":
                await store.write([await prepared(Document(name, word))])
                held[name] = word
            elif step == "killed":
                await write_and_die(path, Document(name, word))
            elif step == "remove":
                await store.remove([name])
                held.pop(name, None)
            elif step == "tidy":
                await store.tidy()
            elif step == "lose":
                shutil.rmtree(folder_of(path), ignore_errors=True)
            else:
                await finds(source, held)
        await finds(source, held)
        # One that has nothing of a lost index open has it built again.
        await finds(opened(KnowledgeBaseSource(path)), held)
    finally:
        await source.close()
        await store.close()
    check_counts(path)


async def finds(source: KnowledgeBaseSource, held: dict[str, str]) -> None:
    for word in WORDS:
        expected = sorted(f"{name}#0" for name, text in held.items() if text == word)
        assert sorted(await ask_ids(source, word)) == expected


async def test_a_base_without_texts_has_an_index_too(tmp_path):
    path = tmp_path / "kb.sqlite"
    await fill(path, [])
    source = opened(KnowledgeBaseSource(path))
    with pytest.raises(NeverIngested, match=r"holds no document.*groundgraph ingest PATH"):
        await ask_ids(source, "apple")
    change(path, "DELETE FROM words_gone")
    await fill(path, [Document("a", "apple")])
    assert await ask_ids(source, "apple") == ["a#0"]

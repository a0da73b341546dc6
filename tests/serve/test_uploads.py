"""Documents that are dropped on the page: what is taken in, what is refused, and that no name leads elsewhere."""

from __future__ import annotations

import asyncio
import http.client
import json
import sqlite3
import stat
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from served import PUMPS, filled, serving
from two_users import SETTINGS

from groundgraph.core.errors import ConfigurationError, InputInvalid, StorageLocked
from groundgraph.serve import uploads
from groundgraph.serve.app import Served
from groundgraph.serve.conversations import User
from groundgraph.serve.uploads import MOST_BYTES, Ingest, Uploads, checked_name
from groundgraph.serve.users import Users

VALVES = b"# Valves\n\nThe valve of hall 9 is opened by hand.\n"


@dataclass(frozen=True)
class House:
    url: str
    folder: Path

    def drop(self, name: str, body: bytes) -> httpx.Response:
        quoted = "".join(f"%{byte:02x}" for byte in name.encode("utf-8", "surrogatepass"))
        return httpx.put(f"{self.url}/api/documents/{quoted}", content=body)

    def answer(self, question: str) -> str:
        thread = httpx.post(f"{self.url}/api/threads", json={"title": question}).json()["id"]
        lines = httpx.post(f"{self.url}/api/threads/{thread}/turns", json={"question": question}).text.splitlines()
        return str(json.loads(lines[-1])["html"])


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("uploads")
    settings = filled(folder, {"pumps.md": PUMPS})
    with serving(settings, Served(each_minute=1_000_000, uploads=folder / "docs")) as url:
        yield House(url, folder)


def told(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.mark.covers("U8")
def test_a_document_that_is_dropped_is_answered_from_at_once_and_kept_as_a_file_that_cannot_run(house: House):
    events = told(house.drop("valves of hall 9.md", VALVES))
    assert events[-1]["taken"] == 1
    assert {"stage": "write_documents"} in events
    assert "by hand" in house.answer("How is the valve of hall 9 opened?")
    file = house.folder / "docs" / "valves of hall 9.md"
    assert file.read_bytes() == VALVES
    assert not file.stat().st_mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    # The same once more is no other document; another one under its name is refused.
    assert told(house.drop("valves of hall 9.md", VALVES))[-1]["taken"] == 1
    refused = house.drop("valves of hall 9.md", b"# Valves\n\nAll are gone.\n")
    assert refused.status_code == 400
    assert "another document of this name" in refused.json()["error"]
    assert file.read_bytes() == VALVES


@pytest.mark.covers("U8")
def test_what_cannot_be_read_is_refused_with_its_reason_and_not_kept(house: House):
    [*_, last] = told(house.drop("broken.pdf", b"%PDF-1.7 nothing"))
    assert last["failed"]
    assert not (house.folder / "docs" / "broken.pdf").exists()
    assert "not read" in house.drop("run.sh", b"#!/bin/sh").json()["error"]
    wire = http.client.HTTPConnection(house.url.removeprefix("http://"))
    wire.putrequest("PUT", "/api/documents/large.md")
    wire.putheader("content-length", str(MOST_BYTES + 1))
    wire.endheaders()
    assert wire.getresponse().status == 413
    wire.close()
    assert sorted(path.suffix for path in (house.folder / "docs").iterdir() if path.name.startswith(".")) == []


@pytest.mark.covers("U8")
def test_a_reason_is_told_in_the_readers_language(house: House):
    russian = {"Accept-Language": "ru-RU,ru;q=0.9"}
    named, broken = (
        httpx.put(f"{house.url}/api/documents/{name}", content=b"%PDF-1.7 nothing", headers=russian).text
        for name in (".hidden.pdf", "broken.pdf")
    )
    assert json.loads(named)["error"].startswith("С таким именем")
    assert json.loads(broken.splitlines()[-1])["failed"].startswith("Это не PDF")


@given(st.text(max_size=20), st.sampled_from([".md", ".html", ".pdf", ".py", ".yaml", ""]))
@example("../pumps", ".md")
@example("..\\pumps", ".md")
@example("/etc/passwd", ".txt")
@example(".hidden", ".md")
@example("con", ".txt")
@example("a\0", ".md")
@example("x\u202egpj", ".md")
@example("<img src=x onerror=alert(1)>", ".md")
@example("-rf", ".md")
@example("x.md/..", ".md")
@example("x" * 300, ".md")
@pytest.mark.guard
def test_no_name_leaves_the_folder(stem: str, suffix: str):
    try:
        name = checked_name(stem + suffix)
    except InputInvalid:
        return
    folder = Path("/folder/of/documents")
    assert (folder / name).parent == folder
    assert Path(name).name == name
    assert name.isprintable()
    assert name.endswith((".md", ".html", ".pdf"))
    assert not name.startswith((".", "-", "~"))
    assert not set('<>:"/\\|?*\0') & set(name)


@pytest.mark.parametrize(
    "name", ["../pumps.md", "%2e%2e/pumps.md", ".hidden.md", "CON.txt", "x\u202egpj.md", "x.md.py", "groundgraph.yaml"]
)
def test_a_hostile_name_changes_nothing(house: House, name: str):
    before = {path: path.read_bytes() for path in house.folder.rglob("*.md")}
    assert house.drop(name, VALVES).status_code in (400, 404)
    assert {path: path.read_bytes() for path in house.folder.rglob("*.md")} == before


def test_a_link_in_the_folder_is_not_written_through(house: House, tmp_path: Path):
    outside = tmp_path / "outside.md"
    link = house.folder / "docs" / "link.md"
    link.symlink_to(outside)
    try:
        assert house.drop("link.md", VALVES).status_code == 400
        assert not outside.exists()
    finally:
        link.unlink()


def test_where_it_is_not_switched_on_nothing_can_be_given(tmp_path: Path):
    with serving(filled(tmp_path, {"pumps.md": PUMPS})) as url:
        assert httpx.put(f"{url}/api/documents/x.md", content=VALVES).status_code == 404
        assert httpx.get(f"{url}/api/page").json()["uploads"] is None
    assert not (tmp_path / "docs" / "x.md").exists()


def test_nobody_gives_a_document_without_a_token(tmp_path: Path):
    served = Served(Users.of("secret", None), uploads=tmp_path / "docs")
    with serving(filled(tmp_path, {"pumps.md": PUMPS}), served) as url:
        for headers, status in (
            ({}, 401),
            ({"Authorization": "Bearer other"}, 401),
            ({"Authorization": "Bearer secret"}, 200),
        ):
            sent = httpx.put(f"{url}/api/documents/valves.md", content=VALVES, headers=headers)
            assert (sent.status_code, (tmp_path / "docs" / "valves.md").exists()) == (status, status == 200)


def test_a_folder_into_which_nothing_can_be_dropped_is_told(tmp_path: Path):
    settings = filled(tmp_path, {"pumps.md": PUMPS}, **SETTINGS)
    with pytest.raises(ConfigurationError, match="tenant"):
        Uploads(settings, tmp_path / "docs")
    with pytest.raises(ConfigurationError, match="is no folder; make it"):
        Uploads(settings, tmp_path / "nowhere")


async def test_a_body_that_breaks_off_leaves_nothing(tmp_path: Path):
    async def broken() -> AsyncIterator[bytes]:
        yield b"# Valves"
        raise ConnectionError

    taking = Uploads(filled(tmp_path, {"pumps.md": PUMPS}), tmp_path / "docs")
    with pytest.raises(ConnectionError):
        await taking.keep("valves.md", broken())
    assert [path.name for path in (tmp_path / "docs").iterdir()] == ["pumps.md"]


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_reader_who_leaves_while_sending_is_nothing_to_tell(
    house: House, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
):
    docs = house.folder / "docs"
    for path, part in (("/api/documents/half.md", b"# Half"), ("/api/threads", b'{"title":')):
        wire = http.client.HTTPConnection(house.url.removeprefix("http://"))
        wire.putrequest("PUT" if part.startswith(b"#") else "POST", path)
        wire.putheader("content-type", "application/json")
        wire.putheader("content-length", "1000")
        wire.endheaders()
        wire.send(part)
        if part.startswith(b"#"):
            until(lambda: any(docs.glob(".*.part")))
        wire.close()
    until(lambda: not any(docs.glob(".*.part")))
    assert httpx.get(f"{house.url}/health").is_success
    assert not (docs / "half.md").exists()
    assert "failed" not in caplog.text
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_reader_who_leaves_while_a_document_is_taken_in_leaves_no_file_without_its_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(uploads, "own_ingest", lambda settings: hanging())
    settings = filled(tmp_path, {"pumps.md": PUMPS})
    place = tmp_path / "docs" / "valves.md"
    with serving(settings, Served(uploads=tmp_path / "docs")) as url:
        with httpx.stream("PUT", f"{url}/api/documents/valves.md", content=VALVES) as answer:
            # A generator that nobody holds ends, and with it the answer.
            lines = answer.iter_lines()
            assert next(lines) == '{"stage": "find_documents"}'
            assert place.exists()
        until(lambda: not place.exists())


def hanging(*values: dict[str, Any]) -> Ingest:
    async def hangs(user: User, path: str) -> AsyncGenerator[tuple[str, Any]]:
        for value in values:
            yield "values", value
        yield "custom", {"stage": "find_documents"}
        await asyncio.Event().wait()

    return hangs


@pytest.mark.parametrize(
    ("values", "stay"),
    [([], ["pumps.md"]), ([{}], ["pumps.md"]), ([{"report": {"documents": 1}}], ["pumps.md", "valves.md"])],
)
@pytest.mark.parametrize("how", ["cancelled", "closed"])
async def test_what_is_not_in_the_base_when_its_reader_leaves_is_taken_back(
    tmp_path: Path, values: list[dict[str, Any]], stay: list[str], how: str
):
    taking = Uploads(filled(tmp_path, {"pumps.md": PUMPS}), tmp_path / "docs", hanging(*values))
    for name, text in {"pumps.md": PUMPS.encode(), "valves.md": VALVES}.items():
        events = taking.take_in(User(), await taking.keep(name, body(text)))
        assert await anext(events) == {"stage": "find_documents"}
        if how == "closed":
            await events.aclose()
        else:
            following = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0.01)
            following.cancel()
            with pytest.raises(asyncio.CancelledError):
                await following
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == stay


async def body(text: bytes) -> AsyncIterator[bytes]:
    yield text


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StorageLocked("The base stayed locked."), "stayed locked"),
        (sqlite3.OperationalError("disk I/O error"), "The server failed. Its log says why."),
        (None, "log says why"),
    ],
)
async def test_what_fails_takes_a_new_file_back_and_never_one_that_lay_there_before(
    tmp_path: Path, error: Exception | None, told: str
):
    async def ends_early(user: User, path: str) -> AsyncGenerator[tuple[str, Any]]:
        yield "custom", {"stage": "find_documents"}
        if error:
            raise error

    taking = Uploads(filled(tmp_path, {"pumps.md": PUMPS}), tmp_path / "docs", ends_early)
    for name, text in {"pumps.md": PUMPS.encode(), "valves.md": VALVES}.items():
        dropped = await taking.keep(name, body(text))
        events = [event async for event in taking.take_in(User(), dropped)]
        assert told in events[-1]["failed"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "docs").iterdir()} == {"pumps.md": PUMPS.encode()}

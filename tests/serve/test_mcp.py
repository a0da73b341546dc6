"""Editors and assistants ask by the Model Context Protocol: the official client holds the conversation."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl
from served import PUMPS, filled, serving
from two_users import DOCUMENTS, SETTINGS, users_file

from groundgraph import __version__
from groundgraph.serve.app import Served
from groundgraph.serve.users import Users

pytestmark = pytest.mark.covers("U10")

QUESTION = "How often is pump 17 serviced?"


@asynccontextmanager
async def over_http(url: str, token: str = "") -> AsyncIterator[ClientSession]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx.AsyncClient(headers=headers) as http,
        streamable_http_client(f"{url}/mcp", http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        yield session


@asynccontextmanager
async def over_stdio(folder: Path) -> AsyncIterator[ClientSession]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GROUNDGRAPH_")}
    command = StdioServerParameters(command=sys.executable, args=["-m", "groundgraph", "mcp"], env=clean, cwd=folder)
    async with stdio_client(command) as streams, ClientSession(*streams) as session:
        told = await session.initialize()
        assert (told.serverInfo.name, told.serverInfo.version) == ("groundgraph", __version__)
        yield session


async def called(session: ClientSession, tool: str, **arguments: Any) -> Any:
    found = await session.call_tool(tool, arguments)
    assert not found.isError, found.content
    return found.structuredContent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcp")
    filled(folder, {"pumps.md": PUMPS})
    return folder


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(filled(tmp_path_factory.mktemp("mcp"), {"pumps.md": PUMPS})) as url:
        yield url


@pytest.mark.parametrize("way", ["http", "stdio"])
async def test_a_conversation_has_a_citation_a_follow_up_and_an_abstention(address: str, folder: Path, way: str):
    async with over_http(address) if way == "http" else over_stdio(folder) as session:
        tools = {tool.name for tool in (await session.list_tools()).tools}
        assert tools == {"ask", "search", "open_passage", "list_sources"}
        first = await called(session, "ask", question=QUESTION)
        assert first["outcome"] == "answered"
        assert first["citations"][0]["place"] == "docs/pumps.md:5"
        place = {"thread": first["thread"], "turn": first["turn"]}
        passage = await called(session, "open_passage", **place, label=first["citations"][0]["label"])
        assert "every **90 days**" in passage["text"]
        second = await called(session, "ask", question="And pump 18?", thread=first["thread"])
        assert "Pump 18 is retired" in second["answer"]
        assert second["thread"] == first["thread"]
        third = await called(session, "ask", question="Who wrote the opera Parsifal?")
        assert (third["outcome"], third["citations"]) == ("insufficient", [])


async def test_passages_are_found_sources_listed_and_documents_read(address: str):
    async with over_http(address) as session:
        found = await called(session, "search", query="pump 18", top_k=1)
        assert [passage["document"] for passage in found["passages"]] == ["docs/pumps.md"]
        assert "retired" in found["passages"][0]["text"]
        (source,) = (await called(session, "list_sources"))["result"]
        assert (source["name"], source["kind"]) == ("knowledge_base", "knowledge_base")
        (resource,) = (await session.list_resources()).resources
        assert (resource.name, resource.title) == ("docs/pumps.md", "Pumps")
        (read,) = (await session.read_resource(resource.uri)).contents
        assert read.text == PUMPS  # type: ignore[union-attr]


async def test_what_is_not_there_is_told_as_an_error(address: str):
    async with over_http(address) as session:
        for arguments in ({"thread": "x", "turn": "y", "label": 1}, {"thread": "../x", "turn": "", "label": 1}):
            found = await session.call_tool("open_passage", arguments)
            assert found.isError
            assert "no such" in found.content[0].text  # type: ignore[union-attr]
        with pytest.raises(Exception, match="no such"):
            await session.read_resource(AnyUrl("groundgraph://knowledge_base/docs%2F..%2Fsecret.md"))
        with pytest.raises(Exception, match="no such"):
            await session.read_resource(AnyUrl("groundgraph://other/docs%2Fpumps.md"))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        # The SDK reads these two, and calls them its own failure.
        (b"\xff", 500),
        (b"[]", 400),
        (b'{"jsonrpc": "2.0"}', 400),
        (b"[" * 100_000, 500),
        (b'"' + b"x" * 2_000_000 + b'"', 413),
    ],
)
def test_malformed_and_huge_requests_are_refused_in_the_protocols_form(address: str, body: bytes, status: int):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    for sent in (body, iter([body])):
        answer = httpx.post(f"{address}/mcp", content=sent, headers=headers)
        told = answer.json()
        assert (answer.status_code, told["jsonrpc"]) == (status, "2.0"), answer.text
        assert told["error"]["code"] < -32000
        assert told["error"]["message"]
        assert "Traceback" not in answer.text


def test_whoever_is_not_signed_in_is_told_in_the_protocols_form(tmp_path: Path):
    served = Served(Users.of("secret", None))
    with serving(filled(tmp_path, {"pumps.md": PUMPS}), served) as url:
        answer = httpx.post(f"{url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["error"]["code"] == -32600


@pytest.mark.covers("I8", "fault 60")
async def test_a_filter_of_everybody_hides_documents_too(tmp_path: Path):
    filters = {"mode": "static", "default_filters": {"knowledge_base": {"tenant": "acme"}}}
    settings = {"knowledge_base": SETTINGS["knowledge_base"], "intent": filters}
    with serving(filled(tmp_path, DOCUMENTS, **settings), Served()) as url:
        async with over_http(url) as session:
            assert (await session.list_resources()).resources == []
            with pytest.raises(Exception, match="no such"):
                await session.read_resource(AnyUrl("groundgraph://knowledge_base/docs%2Fglobex.md"))


async def test_users_are_kept_apart(tmp_path: Path):
    served = Served(Users.of(None, users_file(tmp_path)), each_minute=1000)
    asked = "How often is the pump serviced?"
    with serving(filled(tmp_path, DOCUMENTS, **SETTINGS), served) as url:
        async with over_http(url, "alice-token") as session:
            first = await called(session, "ask", question=asked)
            assert "30 days" in first["answer"]
            assert "globex" not in str(await called(session, "search", query=asked, top_k=9))
            # Which of the documents are Alice's only a search tells.
            assert (await session.list_resources()).resources == []
            with pytest.raises(Exception, match="no such"):
                await session.read_resource(AnyUrl("groundgraph://knowledge_base/docs%2Fglobex.md"))
        async with over_http(url, "bob-token") as session:
            for tool, more in (("ask", {"question": asked}), ("open_passage", {"turn": first["turn"], "label": 1})):
                found = await session.call_tool(tool, {"thread": first["thread"], **more})
                assert found.isError
                assert "acme" not in found.content[0].text  # type: ignore[union-attr]

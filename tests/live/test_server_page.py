"""The page on a LangGraph Server: the tests of the page itself pass there, and so do those of what is whose."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import page_servers
import pytest
import yaml
from example_copy import copy_example, module_at
from langgraph_sdk import get_client
from page_servers import address, folder, written  # noqa: F401 - fixtures
from served import filled
from two_users import SETTINGS, users_file

from groundgraph.core.errors import ConfigurationError
from groundgraph.serve.conversations import Asked, User
from groundgraph.serve.openai_api import openai_routes
from groundgraph.serve.page_api import page_routes
from groundgraph.serve.server_conversations import ServerConversations
from groundgraph.serve.server_page import server_ingest
from groundgraph.serve.users import Users

pytestmark = [pytest.mark.live, pytest.mark.covers("U2", "U8")]

ROOT = Path(__file__).parent.parent.parent
PLAIN: dict[str, Any] = {"synthesis": {"style": "structured", "listing": False}, "server": {"page_rate": 1_000_000}}


def module_of(name: str) -> ModuleType:
    """The module of the tests of the same router on its own server."""
    return module_at(ROOT / "tests" / "serve" / f"{name}.py", f"own_{name}")


def taking(module: ModuleType) -> Iterator[tuple[str, Callable[..., None]]]:
    """Those tests of a module that run over whatever server their place is, and have no server of their own."""
    for name, test in vars(module).items():
        if name.startswith("test_") and PLACES & set(inspect.signature(test).parameters):
            yield f"{name}_on_a_langgraph_server", test


PLACES = {"address", "written", "guarded", "house", "opened", "page"}
PAGE, USE, ISOLATION = module_of("test_page"), module_of("test_page_use"), module_of("test_isolation")
globals().update([*taking(PAGE), *taking(USE), *taking(ISOLATION)])


@pytest.fixture(scope="module")
def start(serve: Any) -> page_servers.Start:
    """A LangGraph Server."""

    @contextmanager
    def served(place: Path, settings: Mapping[str, Any]) -> Iterator[str]:
        support = str(Path(page_servers.__file__).parent)
        with serve(place, yaml.safe_dump(settings), place / "log", PYTHONPATH=support, OPENAI_API_KEY="test") as url:
            yield f"{url}/page"

    return served


@pytest.fixture(scope="module")
def guarded(house: Any) -> tuple[str, str]:
    return house.url, "alice-token"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, serve: Any) -> Iterator[Any]:
    """A server with the rules of `examples/serve` and two users, where Alice took a turn."""
    place = copy_example("serve", tmp_path_factory.mktemp("house") / "serve")
    project = place / "langgraph.json"
    described = json.loads(project.read_text("utf-8"))
    described["source"]["root"] = os.path.relpath(ROOT, place)
    project.write_text(json.dumps(described))
    settings = filled(place, ISOLATION.DOCUMENTS, **SETTINGS)
    config = yaml.safe_dump({**PLAIN, **SETTINGS})
    users = str(users_file(place))
    with serve(place, config, place / "log", project=project, SERVE_USERS=users) as url:
        here = f"{url}/page"
        alice = ISOLATION.Client(here, "alice")
        thread = alice.post("/api/threads", json={"title": ISOLATION.QUESTION}).json()["id"]
        lines = alice.post(f"/api/threads/{thread}/turns", json={"question": ISOLATION.QUESTION}).text.splitlines()
        turn = json.loads(lines[-1])["ended"]
        # What the handlers do is not looked at, only where they stand.
        routes = [*page_routes(None, settings, Users({})), *openai_routes(None)]  # type: ignore[arg-type]
        yield ISOLATION.House(here, thread, turn, routes)


def test_the_tests_of_the_page_were_found():
    assert [len(dict(taking(module))) for module in (PAGE, USE, ISOLATION)] == [34, 9, 7]


def test_what_the_page_keeps_is_the_servers_and_its_rules_hold(house: Any):
    """The thread stands in the server's own API for its owner, and for nobody else."""
    server = house.url.removesuffix("/page")
    for name, status in (("alice", 200), ("bob", 404)):
        headers = {"Authorization": f"Bearer {name}-token"}
        assert httpx.get(f"{server}/threads/{house.thread}", headers=headers).status_code == status
    # Relative: below which path a proxy serves it, only its client knows.
    assert httpx.get(f"{server}/page", follow_redirects=False).headers["location"] == "page/"
    wrong = httpx.post(f"{house.url}/sign-in", json={"token": "nobodys"})
    assert (wrong.status_code, wrong.json()["error"]) == (401, "Nobody has this token.")
    with httpx.Client(base_url=house.url, timeout=60) as page:
        assert page.post("/sign-in", json={"token": "alice-token"}).status_code == 200
        listed = page.get("/api/threads").json()["threads"]
        assert house.thread in [thread["id"] for thread in listed]
        # A conversation is forgotten there too.
        own = page.post("/api/threads", json={"title": "x"}).json()["id"]
        assert page.request("DELETE", f"/api/threads/{own}").status_code == 204
        headers = {"Authorization": "Bearer alice-token"}
        assert httpx.get(f"{server}/threads/{own}", headers=headers).status_code == 404


def test_a_conversation_that_is_forgotten_while_it_is_answered_keeps_no_worker(
    written: page_servers.Written,  # noqa: F811 - the fixture
):
    """The server has one; it wrote to the forgotten thread until the model had answered."""
    question = {"question": page_servers.QUESTION}
    with httpx.Client(base_url=written.address, timeout=30) as page, written.model.held():

        @contextmanager
        def asked() -> Iterator[str]:
            thread = page.post("/api/threads", json={"title": "x"}).json()["id"]
            with page.stream("POST", f"/api/threads/{thread}/turns", json=question) as answer:
                lines = answer.iter_lines()
                assert any('"knowledge_base"' in line for line in lines)
                yield thread

        with asked() as forgotten:
            assert page.request("DELETE", f"/api/threads/{forgotten}").status_code == 204
            with asked():
                pass


def test_behind_a_first_question_that_was_cut_there_each_first_question_begins_anew(house: Any):
    user, headers = User("alice"), {"Authorization": "Bearer alice-token"}

    async def told(conversations: ServerConversations, thread: str, until: str) -> None:
        async with aclosing(conversations.ask(user, thread, Asked(ISOLATION.QUESTION))) as events:
            async for event in events:
                if until in event:
                    return

    async def cut_and_ask() -> None:
        async with get_client(url=house.url.removesuffix("/page"), headers=headers) as client:
            conversations = ServerConversations(lambda _: client)
            thread = (await conversations.start(user, "cut")).id
            await told(conversations, thread, "stage")
            for _ in range(2):
                await told(conversations, thread, "ended")
                state: Any = await client.threads.get_state(thread)
                assert [message["type"] for message in state["values"]["messages"]] == ["human", "ai"]

    run_elsewhere(cut_and_ask)


def test_a_server_without_a_graph_for_documents_says_so(house: Any):
    async def drop() -> None:
        headers = {"Authorization": "Bearer alice-token"}
        async with get_client(url=house.url.removesuffix("/page"), headers=headers) as client:
            async for _ in server_ingest(lambda _: client)(User("alice-token"), "valves.md"):
                pass

    with pytest.raises(ConfigurationError, match="has no graph 'ingest'"):
        run_elsewhere(drop)


def run_elsewhere(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """The driver of the browser holds the event loop of this thread."""
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, work()).result()

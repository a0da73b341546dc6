"""The page on a LangGraph Server: the tests of the page itself pass there, and so do those of what is whose."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
import yaml
from example_copy import copy_example
from served import filled
from two_users import SETTINGS, users_file

from groundgraph.serve.openai_api import openai_routes
from groundgraph.serve.page_api import page_routes
from groundgraph.serve.users import Users

pytestmark = pytest.mark.live

ROOT = Path(__file__).parent.parent.parent
PLAIN: dict[str, Any] = {"synthesis": {"style": "structured", "listing": False}, "server": {"page_rate": 1_000_000}}


def module_of(name: str) -> ModuleType:
    """The module of the tests of the same router on its own server."""
    spec = importlib.util.spec_from_file_location(f"own_{name}", ROOT / "tests" / "serve" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Data classes look for their module there.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def taking(module: ModuleType, place: str) -> Iterator[tuple[str, Callable[..., None]]]:
    """Those tests of a module that run over whatever server is at `place`, and have no server of their own."""
    for name, test in vars(module).items():
        if name.startswith("test_") and place in inspect.signature(test).parameters:
            yield f"{name}_on_a_langgraph_server", test


PAGE, ISOLATION = module_of("test_page"), module_of("test_isolation")
globals().update([*taking(PAGE, "address"), *taking(ISOLATION, "house")])


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, serve: Any) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("page")
    filled(folder, PAGE.DOCUMENTS)
    with serve(folder, yaml.safe_dump(PLAIN), folder / "log") as url:
        yield f"{url}/page"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, serve: Any) -> Iterator[Any]:
    """A server with the rules of `examples/serve` and two users, where Alice took a turn."""
    folder = copy_example("serve", tmp_path_factory.mktemp("house") / "serve")
    project = folder / "langgraph.json"
    described = json.loads(project.read_text("utf-8"))
    described["source"]["root"] = os.path.relpath(ROOT, folder)
    project.write_text(json.dumps(described))
    settings = filled(folder, ISOLATION.DOCUMENTS, **SETTINGS)
    config = yaml.safe_dump({**PLAIN, **SETTINGS})
    users = str(users_file(folder))
    with serve(folder, config, folder / "log", project=project, SERVE_USERS=users) as url:
        here = f"{url}/page"
        alice = ISOLATION.Client(here, "alice")
        thread = alice.post("/api/threads", json={"title": ISOLATION.QUESTION}).json()["id"]
        lines = alice.post(f"/api/threads/{thread}/turns", json={"question": ISOLATION.QUESTION}).text.splitlines()
        turn = json.loads(lines[-1])["ended"]
        # What the handlers do is not looked at, only where they stand.
        routes = [*page_routes(None, settings, Users({})), *openai_routes(None)]  # type: ignore[arg-type]
        yield ISOLATION.House(here, thread, turn, routes)


def test_the_tests_of_the_page_were_found():
    assert len(dict(taking(PAGE, "address"))) >= 8
    assert len(dict(taking(ISOLATION, "house"))) >= 6


@pytest.mark.covers("U2", "U8")
def test_what_the_page_keeps_is_the_servers_and_its_rules_hold(house: Any):
    """The thread stands in the server's own API for its owner, and for nobody else."""
    server = house.url.removesuffix("/page")
    for name, status in (("alice", 200), ("bob", 404)):
        headers = {"Authorization": f"Bearer {name}-token"}
        assert httpx.get(f"{server}/threads/{house.thread}", headers=headers).status_code == status
    assert httpx.get(f"{server}/page", follow_redirects=False).headers["location"].endswith("/page/")
    wrong = httpx.post(f"{house.url}/sign-in", json={"token": "nobodys"})
    assert (wrong.status_code, wrong.json()["error"]) == (401, "Nobody has this token.")
    with httpx.Client(base_url=house.url) as page:
        assert page.post("/sign-in", json={"token": "alice-token"}).status_code == 200
        listed = page.get("/api/threads").json()["threads"]
        assert house.thread in [thread["id"] for thread in listed]
        # A conversation is forgotten there too.
        own = page.post("/api/threads", json={"title": "x"}).json()["id"]
        assert page.request("DELETE", f"/api/threads/{own}").status_code == 204
        headers = {"Authorization": "Bearer alice-token"}
        assert httpx.get(f"{server}/threads/{own}", headers=headers).status_code == 404

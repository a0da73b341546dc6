"""What stands before every route: names of the host, other sites, size, rate, health."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from served import PUMPS, filled, serving
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from groundgraph import load_settings
from groundgraph.cli.serve import LOOPBACK
from groundgraph.serve.app import Served, page_app
from groundgraph.serve.gate import Gate, Rate
from groundgraph.serve.page_api import page_routes
from groundgraph.serve.users import COOKIE, Users


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    served = Served(hosts=LOOPBACK, each_minute=1_000_000)
    with serving(filled(tmp_path_factory.mktemp("gate"), {"pumps.md": PUMPS}), served) as url:
        yield url


@pytest.mark.covers("U8")
def test_the_policy_lets_nothing_in_from_elsewhere(address: str):
    for path in ("/", "/static/page.js", "/api/threads", "/nothing"):
        headers = httpx.get(address + path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    html = httpx.get(address).text
    assert "http" not in html
    assert "style=" not in html
    assert "<script>" not in html


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""])
def test_a_name_of_somebody_elses_for_this_machine_is_refused(address: str, host: str):
    assert httpx.get(f"{address}/api/threads", headers={"Host": host}).status_code == 421
    assert httpx.get(f"{address}/api/threads", headers={"Host": "localhost:99"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
    ],
)
def test_a_page_of_another_site_cannot_ask(address: str, headers: dict[str, str]):
    body = b'{"title": "x"}'
    known = {"Content-Type": "application/json", **headers}
    assert httpx.post(f"{address}/api/threads", content=body, headers=known).status_code in (400, 403)
    assert httpx.get(f"{address}/api/threads").json()["threads"] == []


ASKED = (
    b'{"model": "groundgraph", "messages": [{"role": "user", "content": "How often is pump 17 serviced?"}], "x": "="}'
)
SENT = {"Origin": "https://evil.example", "Sec-Fetch-Mode": "navigate"}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
def test_a_form_of_another_site_cannot_ask(address: str, site: str, kind: str):
    headers = {**SENT, "Sec-Fetch-Site": site, "Content-Type": kind}
    answer = httpx.post(f"{address}/v1/chat/completions", content=ASKED, headers=headers)
    assert (answer.status_code, answer.json()["error"]["type"]) == (403, "permission_error")
    assert httpx.get(f"{address}/api/threads").json()["threads"] == []


def test_a_link_of_another_site_leads_to_the_page(address: str):
    for method in ("GET", "HEAD"):
        sent = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert httpx.request(method, address, headers=sent).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_chat_clients_send_json_and_say_so(address: str, kind: str):
    url = f"{address}/v1/chat/completions"
    answer = httpx.post(url, content=ASKED, headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]["message"]
    assert httpx.post(url, content=ASKED, headers={"Content-Type": "Application/JSON; charset=utf-8"}).is_success


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"title": 3}', b'{"title": "x", "y": 1}', b"[" * 90_000])
def test_a_body_that_is_something_else_is_refused(address: str, body: bytes):
    answer = httpx.post(f"{address}/api/threads", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_a_body_that_is_too_long_is_refused_however_it_is_sent(address: str):
    for body in (b"x" * 1_100_000, iter([b"x" * 600_000, b"x" * 600_000])):
        answer = httpx.post(f"{address}/api/threads", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413


def test_health_and_readiness_are_told(address: str):
    assert httpx.get(f"{address}/health").json() == {"ok": True}
    assert httpx.get(f"{address}/ready").json() == {"ok": True}


@pytest.mark.covers("U8")
def test_who_asks_too_often_waits(tmp_path_factory: pytest.TempPathFactory):
    settings = filled(tmp_path_factory.mktemp("rate"), {"pumps.md": PUMPS})
    with serving(settings, Served(each_minute=3)) as url:
        statuses = [httpx.post(f"{url}/api/threads", json={"title": "x"}).status_code for _ in range(5)]
        assert statuses == [201, 201, 201, 429, 429]
        told = httpx.post(f"{url}/v1/chat/completions", json={})
        assert told.status_code == 429
        assert told.headers["retry-after"] == "5"
        assert told.json()["error"]["code"] == "rate_limit_exceeded"
        assert httpx.get(f"{url}/api/threads").status_code == 200


@pytest.mark.guard
@given(st.integers(1, 50), st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 30)), max_size=200))
def test_in_no_minute_more_are_let_through_than_twice_the_rate(each: int, asked: list[tuple[str, float]]):
    now = 0.0
    rate = Rate(each, clock=lambda: now)
    passed: dict[str, list[float]] = {"a": [], "b": []}
    for name, pause in asked:
        now += pause
        if rate.allows(name):
            passed[name].append(now)
    for times in passed.values():
        for first in times:
            # A full measure at once, and what is given back meanwhile.
            assert sum(first <= time < first + 60 for time in times) <= 2 * each


def signs_in(token: str) -> Gate:
    """A page where whoever has `token` signs in; nothing is asked there."""
    users = Users.of(token, None)
    return Gate(page_app(page_routes(None, load_settings({}), users)), users, rate=Rate(1000))  # type: ignore[arg-type]


@pytest.mark.covers("U8")
@pytest.mark.parametrize("paths", [("/a", "/b"), ("/a", "")])
def test_servers_below_paths_of_one_host_do_not_sign_each_others_readers_out(paths: tuple[str, str]):
    tokens = dict(zip(paths, ("first", "second"), strict=True))
    host = Starlette(routes=[Mount(path, app=signs_in(token)) for path, token in tokens.items()])
    with TestClient(host) as client:

        def known() -> list[bool]:
            return [client.get(f"{path}/api/page").json()["known"] for path in paths]

        for path, token in tokens.items():
            assert client.post(f"{path}/sign-in", json={"token": token}).is_success
        assert known() == [True, True]
        assert client.post(f"{paths[1]}/sign-out").is_success
        assert known() == [True, False]


@pytest.mark.covers("U8")
def test_whoever_signed_in_before_cookies_had_a_path_can_sign_out():
    host = Starlette(routes=[Mount("/a", app=signs_in("first"))])
    with TestClient(host) as client:
        client.cookies.set(COOKIE, "first", domain="testserver.local", path="/")
        assert client.get("/a/api/page").json()["known"]
        assert client.post("/a/sign-out").is_success
        assert not client.get("/a/api/page").json()["known"]

"""Users whom a function of one's own knows, as a LangGraph Server asks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import Auth
from served import filled, serving
from starlette.requests import HTTPConnection
from two_users import DOCUMENTS, SETTINGS

from groundgraph.core.errors import ConfigurationError
from groundgraph.serve.app import Served
from groundgraph.serve.users import OwnAuth

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "serve" / "auth.py"
QUESTION = {"model": "groundgraph", "messages": [{"role": "user", "content": "How often is the pump serviced?"}]}


def request(**headers: str) -> HTTPConnection:
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    return HTTPConnection({"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": sent})


def knowing(handler: Any) -> OwnAuth:
    auth = Auth()
    auth.authenticate(handler)
    return OwnAuth(auth)


@pytest.mark.covers("U8", "R13")
def test_the_example_of_the_langgraph_server_signs_in_here_and_scopes_are_of_its_users(tmp_path: Path):
    served = Served(OwnAuth.at(f"{EXAMPLE}:auth"), each_minute=1000)
    with serving(filled(tmp_path, DOCUMENTS, **SETTINGS), served) as url:
        answers = {}
        for name in ("alice", "bob"):
            headers = {"Authorization": f"Bearer {name}-demo-token"}
            found = httpx.post(f"{url}/v1/chat/completions", json=QUESTION, headers=headers, timeout=60)
            answers[name] = found.json()["choices"][0]["message"]["content"]
            assert httpx.get(f"{url}/api/page", headers=headers).json()["user"] == name
        assert "30 days" in answers["alice"]
        assert "60 days" in answers["bob"]
        for sent in ({}, {"Authorization": "Bearer nobodys"}, {"Authorization": "alice-demo-token"}):
            assert httpx.get(f"{url}/api/threads", headers=sent).status_code == 401
            assert httpx.post(f"{url}/v1/chat/completions", json=QUESTION, headers=sent).status_code == 401
        # The page's cookie stands for the header.
        with httpx.Client(base_url=url, timeout=60) as page:
            assert page.post("/sign-in", json={"token": "nobodys\n"}).status_code == 401
            assert page.post("/sign-in", json={"token": "alice-demo-token"}).status_code == 200
            assert page.get("/api/page").json()["user"] == "alice"


async def plain(authorization: str | None) -> str:
    return (authorization or "").removeprefix("Bearer ")


async def with_permissions(request: Any) -> Any:
    return ["read"], {"identity": request.headers["x-user"], "tenant": "acme"}


def by_key(headers: dict[bytes, bytes], unused: int = 3) -> dict[str, str]:
    if headers.get(b"x-api-key") != b"k":
        raise Auth.exceptions.HTTPException(status_code=403, detail="no")
    return {"identity": "carol"}


@pytest.mark.parametrize(
    ("handler", "headers", "name"),
    [
        (plain, {"authorization": "Bearer dora"}, "dora"),
        (plain, {}, None),
        (with_permissions, {"x-user": "erik"}, "erik"),
        (by_key, {"x-api-key": "k"}, "carol"),
        (by_key, {"x-api-key": "other"}, None),
    ],
)
async def test_every_form_of_a_function_and_of_a_user_is_understood(handler: Any, headers: dict[str, str], name: Any):
    found = await knowing(handler).of_request(request(**headers))
    assert (found.identity if found else None) == name


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no Auth named 'auth'"),
        ("from langgraph_sdk import Auth\nauth = Auth()", "nobody is authenticated"),
        ("from langgraph_sdk import Auth\nauth = Auth()\n@auth.authenticate\nasync def a(body): ...", "asks for body"),
        (None, "there is no file"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(tmp_path: Path, text: str | None, told: str):
    if text is not None:
        (tmp_path / "own.py").write_text(text)
    with pytest.raises(ConfigurationError, match=told):
        OwnAuth.at(f"{tmp_path / 'own.py'}:auth")


@pytest.mark.covers("U8")
def test_a_function_that_fails_lets_nobody_in_and_tells_nothing(tmp_path: Path):
    async def broken(authorization: str | None) -> str:
        raise RuntimeError(f"the directory of {authorization} is down")

    with serving(filled(tmp_path, DOCUMENTS, **SETTINGS), Served(knowing(broken))) as url:
        for path in ("/api/threads", "/v1/models"):
            found = httpx.get(url + path, headers={"Authorization": "Bearer secret"})
            assert found.status_code == 500
            assert "secret" not in found.text
        assert httpx.get(f"{url}/v1/models").json()["error"]["type"] == "server_error"
        assert httpx.get(f"{url}/static/page.js").status_code == 200

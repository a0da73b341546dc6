"""Who asks: everybody the same, whoever has the token, users by their tokens, or whom a function of yours knows."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from langgraph_sdk import Auth
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request, cookie_parser

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.resilience.blocking import run_blocking
from groundgraph.serve.conversations import User

COOKIE = "groundgraph"
_HASH = "token_sha256"


class KnowsUsers(Protocol):
    """What knows who sent a request."""

    @property
    def sign_in(self) -> bool:
        """Whether anybody has to sign in; where nobody has, everybody is the same user."""

    async def of_request(self, request: HTTPConnection) -> User | None:
        """Whoever sent a request, by its headers; None for nobody who is known."""


@dataclass(frozen=True)
class Users:
    """The users by the SHA-256 of their tokens, so that no token is kept; none where nobody signs in."""

    by_token: Mapping[str, User]

    @classmethod
    def of(cls, token: str | None, file: Path | None) -> Users:
        """The one user of a `token`, those in `file` beside them, or nobody in particular.

        The file is JSON: by name, an object with `token_sha256` and what scope filters take as `user.NAME`.

        Raises:
            ConfigurationError: the file cannot be read, or is another kind of file.
        """
        found = {_hashed(token): User()} if token else {}
        if file is None:
            return cls(found)
        try:
            table = json.loads(file.read_text("utf-8"))
            named = {str(known[_HASH]): User(name, _public(known)) for name, known in table.items() if name}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            told = f"{file} is no table of users: by name, an object with '{_HASH}' ({type(error).__name__}: {error})"
            raise ConfigurationError([Problem("users", told)]) from None
        if not named:
            raise ConfigurationError([Problem("users", f"{file} names nobody")])
        return cls({**found, **named})

    @property
    def sign_in(self) -> bool:
        """See `KnowsUsers`."""
        return bool(self.by_token)

    async def of_request(self, request: HTTPConnection) -> User | None:
        """See `KnowsUsers`."""
        if not self.sign_in:
            return User()
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return self.by_token.get(_hashed(token.strip())) if scheme.lower() == "bearer" else None


def with_cookie(request: HTTPConnection) -> HTTPConnection:
    """The request with the token in the page's cookie as its `Authorization`, unless it has one."""
    sent = request.headers.get("cookie", "")
    # The first of two is that of the longer path; the other one a server above this one has set.
    token = cookie_parser(";".join(reversed(sent.split(";")))).get(COOKIE, "")
    return request if "authorization" in request.headers or not token else with_token(request, token)


def with_token(request: HTTPConnection, token: str) -> HTTPConnection:
    """The request as if it came with a token; one that no header can hold is none."""
    changed = {**request.scope, "headers": [*request.scope["headers"]]}
    sent = token.strip() if token.isascii() and token.isprintable() else ""
    MutableHeaders(scope=changed)["authorization"] = f"Bearer {sent}"
    return HTTPConnection(changed)


def _public(known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if name != _HASH}


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


# Users whom a function of yours knows: the one that a LangGraph Server asks too.

_EXAMPLE = "name an `Auth` of langgraph_sdk with a function for `authenticate`, as FILE.py:NAME"
# What the function may ask for, by the names that a LangGraph Server has for it.
_GIVEN: Mapping[str, Callable[[HTTPConnection], Any]] = {
    "request": lambda request: Request(request.scope),
    "authorization": lambda request: request.headers.get("authorization"),
    "headers": lambda request: dict(request.scope["headers"]),
    "method": lambda request: request.scope["method"],
    "path": lambda request: request.scope["path"],
    "path_params": lambda request: request.path_params,
    "query_params": lambda request: request.query_params,
    "scope": lambda request: request.scope,
}


class OwnAuth:
    """See `KnowsUsers`: users as the `authenticate` of an `Auth` knows them. Its rules about threads are those of the
    server here: everybody's are their own.

    Args:
        auth: as in the `langgraph.json` of a LangGraph Server.
    """

    sign_in = True

    def __init__(self, auth: Auth) -> None:
        """
        Raises:
            ConfigurationError: it authenticates nobody, or asks for what is not known here.
        """
        handler: Any = auth._authenticate_handler
        if handler is None:
            raise ConfigurationError([Problem("auth", f"nobody is authenticated: {_EXAMPLE}")])
        wanted = inspect.signature(handler).parameters
        self._handler = handler
        self._wanted = [name for name in wanted if name in _GIVEN]
        lacking = [name for name, one in wanted.items() if name not in _GIVEN and one.default is one.empty]
        if lacking:
            told = f"asks for {', '.join(lacking)}; there is: {', '.join(sorted(_GIVEN))}"
            raise ConfigurationError([Problem("auth", told)])

    @classmethod
    def at(cls, place: str) -> OwnAuth:
        """That in a file, as `FILE.py:NAME`.

        Raises:
            ConfigurationError: there is none.
        """
        file, _, name = place.rpartition(":")
        spec = importlib.util.spec_from_file_location("groundgraph_own_auth", file) if Path(file).is_file() else None
        if spec is None or spec.loader is None:
            raise ConfigurationError([Problem("auth", f"there is no file for '{place}': {_EXAMPLE}")])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found = getattr(module, name, None)
        if not isinstance(found, Auth):
            raise ConfigurationError([Problem("auth", f"{file} has no Auth named '{name}': {_EXAMPLE}")])
        return cls(found)

    async def of_request(self, request: HTTPConnection) -> User | None:
        """See `KnowsUsers`."""
        given = {name: _GIVEN[name](request) for name in self._wanted}
        try:
            if inspect.iscoroutinefunction(self._handler):
                return _user(await self._handler(**given))
            return _user(await run_blocking(lambda: self._handler(**given)))
        except (Auth.exceptions.HTTPException, HTTPException, AssertionError):
            return None


def _user(found: Any) -> User | None:
    """Whoever was recognised: a name, a mapping or an object with `identity`, also behind a list of permissions."""
    if isinstance(found, (tuple, list)) and len(found) == 2:
        found = found[1]
    if isinstance(found, str):
        found = {"identity": found}
    if found is not None and not isinstance(found, Mapping):
        found = vars(found) | {"identity": found.identity}
    # An empty name is that of everybody where nobody signs in.
    return User(str(found["identity"]), dict(found)) if found and found.get("identity") else None

"""Who asks: everybody the same, whoever has the token, users by their tokens, or whom a function of yours knows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection

from groundgraph.core.errors import ConfigurationError, Problem
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
    token = request.cookies.get(COOKIE, "")
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

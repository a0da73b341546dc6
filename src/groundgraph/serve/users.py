"""Who asks: everybody the same, whoever has the token, or users by their tokens."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import HTTPConnection

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.serve.conversations import User

COOKIE = "groundgraph"
_HASH = "token_sha256"


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
        """Whether anybody has to."""
        return bool(self.by_token)

    def of_token(self, token: str) -> User | None:
        """The user of a token; None for one that nobody has."""
        return self.by_token.get(_hashed(token))

    def of_request(self, request: HTTPConnection) -> User | None:
        """Whoever sent a request, by its header or by the cookie of the page; None for nobody who is known."""
        if not self.sign_in:
            return User()
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            token = request.cookies.get(COOKIE, "")
        return self.of_token(token.strip())


def _public(known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if name != _HASH}


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()

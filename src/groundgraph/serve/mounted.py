"""Where the router stands: at the root of its own server, or below a path of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import HTTPConnection


def own_path(scope: Mapping[str, Any]) -> str:
    """The path of a request as the router has it."""
    return str(scope["path"]).removeprefix(scope.get("root_path", ""))


def own_address(request: HTTPConnection) -> str:
    """The address of the page, with a slash at its end."""
    return f"{request.url.scheme}://{request.url.netloc}{request.scope.get('root_path', '')}/"

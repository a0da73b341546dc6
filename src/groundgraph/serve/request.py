"""What a request tells: its path below where the router stands, and the language of its reader, in which the page
speaks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.requests import HTTPConnection
from yaml import safe_load


def own_path(scope: Mapping[str, Any]) -> str:
    """The path of a request as the router has it."""
    return str(scope["path"]).removeprefix(scope.get("root_path", ""))


def own_address(request: HTTPConnection) -> str:
    """The address of the page, with a slash at its end."""
    return f"{request.url.scheme}://{request.url.netloc}{request.scope.get('root_path', '')}/"


_LANGUAGE = "en"
# What the server tells a reader stands among the words under names that begin so, in English as the server says it.
TOLD = "server_"


@cache
def words(language: str) -> dict[str, Any]:
    """The page's words in a language that has a file, English in place of what it lacks."""
    folder = files("groundgraph.serve") / "words"
    known = {entry.name.removesuffix(".yaml"): entry for entry in folder.iterdir() if entry.name.endswith(".yaml")}
    chosen = language if language in known else _LANGUAGE
    read = [safe_load(known[name].read_text("utf-8")) for name in (_LANGUAGE, chosen)]
    return {**read[0], **read[1], "language": chosen, "languages": sorted(known)}


def language_of(scope: Mapping[str, Any]) -> str:
    """The language that a request asks for, or the first that its browser prefers."""
    request = HTTPConnection(dict(scope))
    preferred = request.headers.get("accept-language", "").partition(",")[0].partition(";")[0].partition("-")[0]
    return str(words(request.query_params.get("language") or preferred.lower())["language"])


def told_in(language: str, message: str) -> str:
    """What the server tells, in a language whose words have it; else as it is, in English."""
    english = words(_LANGUAGE).items()
    name = next((name for name, text in english if text == message and name.startswith(TOLD)), "")
    return str(words(language)[name]) if name else message

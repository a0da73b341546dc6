"""Reading an intent out of whatever a model made of the request for one.

A JSON object is looked for in the arguments of tool calls, between fences, after thinking and among prose; trailing
commas are taken out and one that was cut off is closed behind its last complete value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.messages import AIMessage
from pydantic import BaseModel

from groundgraph.answers.generate_queries import MAX_QUERY_CHARS
from groundgraph.core.characters import clean_text
from groundgraph.core.evidence import jsonable
from groundgraph.models.replies import strip_thoughts

KNOWN = ("text_queries", "scope", "output_style", "filters")
# More than an intent needs; what is longer is cut, and then closed as a reply that the provider cut off.
MAX_CHARS = 50_000
MAX_DEPTH = 30
_MAX_STARTS = 20
_FENCE = re.compile(r"```[\w-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}\[\],]', re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")

Fault = Literal["no_object", "no_queries"]


class ExtractionUnreadable(Exception):
    """A reply holds no intent; `fault` says what is missing."""

    def __init__(self, fault: Fault) -> None:
        self.fault: Fault = fault
        super().__init__(fault)


@dataclass(frozen=True)
class Extraction:
    """What a model proposed.

    Attributes:
        text_queries: at least one, cleaned, without repetitions.
        values: the other values of an intent, as they were written.
        extra: keys that an intent does not have.
        raw: the whole object.
    """

    text_queries: list[str]
    values: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    raw: dict[str, Any] = field(default_factory=dict)


def read_extraction(reply: object, limit: int) -> Extraction:
    """The intent in `reply`, a message, a text or a mapping, with at most `limit` queries.

    Raises:
        ExtractionUnreadable: there is no object in it, or one without a query.
    """
    objects = list(objects_in(reply))
    if not objects:
        raise ExtractionUnreadable("no_object")
    for found in objects:
        queries = _queries(found.get("text_queries"), limit)
        if queries:
            values = {name: found[name] for name in KNOWN[1:] if name in found}
            extra = {str(name): value for name, value in found.items() if name not in KNOWN}
            return Extraction(queries, values, extra, found)
    raise ExtractionUnreadable("no_queries")


def _queries(given: Any, limit: int) -> list[str]:
    items = given if isinstance(given, list) else [given]
    texts = [" ".join(clean_text(item).split())[:MAX_QUERY_CHARS] for item in items if isinstance(item, str)]
    return [text for text in dict.fromkeys(texts) if any(map(str.isalnum, text))][:limit]


def objects_in(reply: object) -> Iterator[dict[str, Any]]:
    """The JSON objects of `reply`, the likeliest first."""
    if isinstance(reply, BaseModel) and not isinstance(reply, AIMessage):
        reply = reply.model_dump(mode="json")
    if isinstance(reply, Mapping):
        yield from _objects_of_text(_as_json(reply))
    elif isinstance(reply, AIMessage):
        for arguments in _arguments(reply):
            yield from _objects_of_text(arguments)
        yield from _objects_of_text(str(reply.text))
    elif isinstance(reply, str):
        yield from _objects_of_text(reply)


def _arguments(reply: AIMessage) -> Iterator[str]:
    yield from (_as_json(call["args"]) for call in reply.tool_calls)
    yield from (str(call.get("args") or "") for call in reply.invalid_tool_calls)


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return ""


def _objects_of_text(text: str) -> Iterator[dict[str, Any]]:
    # A backslash at the end escapes nothing any more.
    said = strip_thoughts(clean_text(text[:MAX_CHARS])).rstrip("\\")
    for part in (*_FENCE.findall(said), said):
        starts = [found.start() for found in re.finditer(r"\{", part)][:_MAX_STARTS]
        end = 0
        for start in starts:
            # An object within the one before it is none of its own.
            if start < end:
                continue
            found, length = _object_at(part[start:])
            if found is not None:
                end = start + length
                yield found


def _object_at(text: str) -> tuple[dict[str, Any] | None, int]:
    """The object with which `text` begins, and how long it is; None when it is none."""
    closed, length = _closed(text)
    for attempt in closed:
        try:
            found = json.loads(attempt, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            # An escape such as \u0000 is a forbidden character only now.
            return jsonable(found), length
    return None, 0


def _closed(text: str) -> tuple[list[str], int]:
    """`text` up to where its first object ends, or closed where it was cut off, without trailing commas.

    What was cut off is closed twice: as it is, and behind its last complete value.
    """
    pieces: list[str] = []
    open_ends: list[str] = []
    complete: tuple[int, str] = (0, "")
    position = 0
    for token in _TOKEN.finditer(text):
        mark = token.group()
        pieces.append(text[position : token.start()])
        position = token.end()
        if mark in "{[":
            open_ends.append("}" if mark == "{" else "]")
            if len(open_ends) > MAX_DEPTH:
                return [], 0
        elif mark in "}]":
            if not open_ends or open_ends.pop() != mark:
                return [], 0
            _drop_comma(pieces)
        elif mark == ",":
            complete = len(pieces), "".join(reversed(open_ends))
        pieces.append(mark)
        if not open_ends:
            return ["".join(pieces)], position
    ends = "".join(reversed(open_ends))
    return _ended(text, "".join(pieces) + text[position:], ends, "".join(pieces[: complete[0]]) + complete[1]), len(
        text
    )


def _ended(text: str, whole: str, ends: str, complete: str) -> list[str]:
    """What is tried for a text that was cut off: all of it with its `ends`, and what was `complete`."""
    if not _is_open_string(text):
        return [whole.rstrip().rstrip(",") + ends, complete]
    # Half a word is worth less than the values before it.
    return [complete, f'{_HALF_ESCAPE.sub("", whole)}"{ends}']


def _drop_comma(pieces: list[str]) -> None:
    """Take out the comma behind which a bracket closes."""
    if len(pieces) > 1 and not pieces[-1].strip() and pieces[-2] == ",":
        del pieces[-2]


def _is_open_string(text: str) -> bool:
    """Whether `text` was cut off within a string."""
    strings = [token.group() for token in _TOKEN.finditer(text) if token.group().startswith('"')]
    return bool(strings) and not _STRING.fullmatch(strings[-1]) and text.endswith(strings[-1])

"""Reading files of one value per line, with the place of whatever is wrong in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from groundgraph.core.errors import ConfigurationError, Problem

MAX_PROBLEMS = 20
Parsed = TypeVar("Parsed")


class BadLine(Exception):
    """One line cannot be used. The message says why; `column` counts from 1."""

    def __init__(self, message: str, column: int = 1) -> None:
        self.column = column
        super().__init__(message)


def read_lines(data: bytes, file: Path, parse: Callable[[int, str], Parsed | None]) -> list[Parsed]:
    """What `parse` makes of each line of `data` that is not blank; None leaves a line out.

    Args:
        data: the content of `file`.
        file: for messages.
        parse: called with the number of the line, from 1, and its text; raises `BadLine`.

    Raises:
        ConfigurationError: lines are bad; the first 20 are listed with their places.
    """
    parsed: list[Parsed] = []
    problems: list[Problem] = []
    for number, line in _lines(data):
        try:
            value = parse(number, line.decode("utf-8"))
            if value is not None:
                parsed.append(value)
        except UnicodeDecodeError:
            problems.append(Problem("", "the line is not UTF-8", str(file), number, 1))
        except BadLine as error:
            problems.append(Problem("", str(error), str(file), number, error.column))
        if len(problems) == MAX_PROBLEMS:
            break
    if problems:
        raise ConfigurationError(problems)
    return parsed


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    # Not str.splitlines(): U+2028 and its like may stand inside a JSON string.
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            yield number, line.rstrip(b"\r")


def json_object(line: str) -> dict[str, Any]:
    """The JSON object that `line` holds.

    Raises:
        BadLine: it holds none.
    """
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadLine(f"this is no JSON: {error.msg}", error.colno) from error
    if not isinstance(value, dict):
        raise BadLine('a JSON object such as {"_id": "1", "text": "..."} must stand here')
    return value


def id_of(row: dict[str, Any], key: str = "_id") -> str:
    """The id under `key`; whole numbers count as their digits.

    Raises:
        BadLine: there is none.
    """
    value = row.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise BadLine(f"'{key}' must be a text that is not empty")
    return value


def text_of(row: dict[str, Any], key: str, default: str | None = None) -> str:
    """The text under `key`; `default` when it is missing or null.

    Raises:
        BadLine: it is no text, or missing without a default.
    """
    value = row.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadLine(f"'{key}' must be a text")
    return value


def texts_of(row: dict[str, Any], key: str) -> tuple[str, ...]:
    """The texts under `key`; none when it is missing or null.

    Raises:
        BadLine: it is no list of texts.
    """
    value = row.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise BadLine(f"'{key}' must be a list of texts")
    return tuple(value)

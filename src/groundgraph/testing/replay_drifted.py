"""The error of a replay that is not the recorded run any more."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import unified_diff
from typing import Any


class ReplayDrifted(AssertionError):
    """A turn asked a model or a source something that was not recorded, left out what was, or answered otherwise.

    Attributes:
        what: where it differs.
        diff: the difference, line by line, as `diff -u` writes it; empty when there is nothing to compare with.
    """

    def __init__(self, what: str, recorded: Any = None, now: Any = None) -> None:
        self.what = what
        lines = (_lines(recorded), _lines(now))
        self.diff = "\n".join(unified_diff(*lines, "recorded", "now", lineterm="")) if all(lines) else ""
        hint = "Record the run anew if the change is wanted."
        super().__init__(f"{what}. {hint}\n{self.diff}" if self.diff else f"{what}. {hint}")


def _lines(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return value.splitlines()
    if isinstance(value, Mapping):
        return [f"{name}: {json.dumps(item, ensure_ascii=False)}" for name, item in value.items()]
    return [line for message in value for line in _message_lines(message)]


def _message_lines(message: Mapping[str, str]) -> list[str]:
    return [f"[{message['role']} {message['name']}".rstrip() + "]", *message["text"].splitlines()]

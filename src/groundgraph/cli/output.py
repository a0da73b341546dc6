"""Writing to the terminal: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# A document must not be able to move the cursor, change colours or set the title of the reader's terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class _FirstLines(logging.Handler):
    """Warnings of the package as lines for whoever sits at the terminal; a traceback is for the logs of a server."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage().partition("\n")[0].rstrip(":"))


def prepare_log() -> None:
    """What the package logs is written to standard error, each in its first line."""
    log = logging.getLogger("groundgraph")
    if not any(isinstance(handler, _FirstLines) for handler in log.handlers):
        log.addHandler(_FirstLines(logging.WARNING))


@contextmanager
def expected_failures() -> Iterator[None]:
    """Within it nothing is logged of a failure that is shown on purpose."""
    log = logging.getLogger("groundgraph")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


def prepare_streams() -> None:
    """A character that the terminal's encoding lacks is written as an escape in place of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    """`text` without the control characters that a terminal would obey; line ends and tabs stay."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def say(text: str = "") -> None:
    """A line of the result on standard output."""
    _write(printable(text))


def note(text: str) -> None:
    """A line for whoever sits at the terminal, on standard error."""
    print(printable(text), file=sys.stderr, flush=True)


def write_json(document: Any) -> None:
    """`document` as the only thing on standard output."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    _write(json.dumps(document, ensure_ascii=encoding != "utf8", indent=2, default=str))


def _write(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Whoever read the output, `head` for example, has seen enough; the command still ends as it would have.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def on_terminal() -> bool:
    """Whether standard output is a terminal, so that colours and boxes are wanted."""
    return sys.stdout.isatty()


def shortened(text: str, limit: int) -> str:
    """`text` on one line, at most `limit` characters, cut between words."""
    from groundgraph.core.evidence import preview

    return preview(" ".join(text.split()), limit)


def counted(number: int, word: str) -> str:
    """`number` with `word`, in the plural unless it is one."""
    return f"{number} {word}{'' if number == 1 else 's'}"

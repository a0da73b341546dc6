"""What a command says: results on standard output, all else on standard error, errors in words, and its exit code."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from groundgraph.core.characters import HIDDEN
from groundgraph.core.errors import (
    ConfigurationError,
    EmbeddingModelChanged,
    FilterInvalid,
    GroundGraphError,
    InputInvalid,
    IntentInvalid,
    NothingToResume,
    Problem,
    SchemaVersionUnsupported,
    ScopeMissing,
)

# What the exit code of a command says.

DONE = 0
DONE_WITH_FAILURES = 1
WRONG_USE = 2
UNAVAILABLE = 3
INTERRUPTED = 130

EPILOG = """\b
Exit codes:
  0    done
  1    done, with failures that are listed
  2    wrong use, or a configuration that cannot work
  3    a needed service is not available
  130  interrupted
"""

_WRONG_USE = (
    ConfigurationError,
    EmbeddingModelChanged,
    FilterInvalid,
    InputInvalid,
    IntentInvalid,
    NothingToResume,
    SchemaVersionUnsupported,
    ScopeMissing,
)


def code_of(error: GroundGraphError | OSError) -> int:
    """The exit code of a command that ended with `error`."""
    return WRONG_USE if isinstance(error, _WRONG_USE) else UNAVAILABLE


def code_of_parts(failed: int, answered: int) -> int:
    """The exit code of a command of whose parts so many failed and so many answered."""
    if not failed:
        return DONE
    return DONE_WITH_FAILURES if answered else UNAVAILABLE


class _FirstLines(logging.Handler):
    """Warnings of the package as lines for whoever sits at the terminal; a traceback is for the logs of a server."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage().partition("\n")[0].rstrip(":"))


def prepare_log() -> None:
    """What the package logs is written to standard error, each in its first line."""
    # Of an outage we tell ourselves; without a handler Python would write what psycopg and its pool say before that.
    # Whoever sets up logging gets both.
    logging.getLogger("psycopg").addHandler(logging.NullHandler())
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
    """`text` with what a terminal would obey, or would hide or reorder it, shown as U+FFFD; line ends and tabs stay."""
    # A document must not be able to move the cursor, change colours or set the title of the reader's terminal.
    return HIDDEN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\ufffd"))


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


def goes_to_output(file: Path | None, *, as_json: bool) -> bool:
    """Whether `file`, that of an option `-o`, is standard output: a hyphen, as for most commands.

    Raises:
        InputInvalid: the JSON of `--json` is to stand there too.
    """
    if str(file) != "-":
        return False
    if as_json:
        raise InputInvalid("-o - and --json both write to standard output: name a file, or leave one of them out.")
    return True


def check_folder_of(file: Path | None, option: str) -> None:
    """Refuse a `file` of an `option` whose folder is not there, before the work whose result it is to hold."""
    if file and not file.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder '{file.parent}'", param_hint=option)


def write_out(file: Path, page: str) -> None:
    """`page` into `file`, or as the only thing on standard output where it is a hyphen."""
    if str(file) != "-":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(page.encode())
        return
    # A page says of itself that it is UTF-8, whatever the terminal is.
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    _write(page)


def on_terminal() -> bool:
    """Whether standard output is a terminal, so that colours and boxes are wanted."""
    # There is no stream at all where whoever called closed it.
    return sys.stdout is not None and sys.stdout.isatty()


def shortened(text: str, limit: int) -> str:
    """`text` on one line, at most `limit` characters, cut between words."""
    from groundgraph.core.evidence import preview

    return preview(" ".join(text.split()), limit)


def counted(number: int, word: str) -> str:
    """`number` with `word`, in the plural unless it is one."""
    return f"{number} {word}{'' if number == 1 else 's'}"


# An error as the reader of a command line wants it: what is wrong, where, and no traceback.


def masked_problem(problem: Problem) -> Problem:
    """`problem` without secrets.

    A key such as `llm.api_key` before a message would make a secret of its first word, which is one of ours, and no
    value unless it is quoted.
    """
    from groundgraph.core.secret_mask import mask

    before = f"{problem.key}: " if problem.message.startswith(("'", '"')) else ""
    message = mask(f"{before}{problem.message}").removeprefix(before)
    return replace(problem, key=mask(problem.key), file=mask(problem.file), message=message)


def report_error(error: BaseException, *, as_json: bool, message: str = "") -> None:
    """Write `error` to standard error or, with `as_json`, as the JSON document of the command."""
    # Loaded here: most commands end without an error.
    from groundgraph.core.secret_mask import mask

    problems = [masked_problem(problem) for problem in error.problems] if isinstance(error, ConfigurationError) else []
    text = "\n".join(map(str, problems)) or mask(message or str(error)) or type(error).__name__
    if as_json:
        told = {"type": type(error).__name__, "message": text, "problems": [vars(problem) for problem in problems]}
        try:
            write_json({"error": told})
        except OSError:
            # The output is what failed: its disk is full, for example.
            note(f"Error: {text}")
    else:
        note(text if problems else f"Error: {text}")

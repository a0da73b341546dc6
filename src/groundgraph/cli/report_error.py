"""An error as the reader of a command line wants it: what is wrong, where, and no traceback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from groundgraph.cli.output import note, write_json

if TYPE_CHECKING:
    from groundgraph.core.errors import Problem


def report_error(error: BaseException, *, as_json: bool, message: str = "") -> None:
    """Write `error` to standard error or, with `as_json`, as the JSON document of the command."""
    # Loaded here: most commands end without an error.
    from groundgraph.core.secret_mask import mask

    problems = _problems(error)
    text = mask("\n".join(map(str, problems)) or message or str(error)) or type(error).__name__
    if as_json:
        write_json(_document(type(error).__name__, text, problems))
    else:
        note(text if problems else f"Error: {text}")


def _problems(error: BaseException) -> Sequence[Problem]:
    from groundgraph.core.errors import ConfigurationError

    return error.problems if isinstance(error, ConfigurationError) else []


def _document(kind: str, message: str, problems: Sequence[Problem]) -> dict[str, Any]:
    return {"error": {"type": kind, "message": message, "problems": [vars(problem) for problem in problems]}}

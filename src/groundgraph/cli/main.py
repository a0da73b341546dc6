"""The entry point: finds the command, and turns errors into messages and exit codes."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from groundgraph.cli.ask import ask
from groundgraph.cli.chat.chat import chat
from groundgraph.cli.check_model import check_model
from groundgraph.cli.config import config_app
from groundgraph.cli.conversations import forget, prune, report, threads_app
from groundgraph.cli.demo.demo import demo
from groundgraph.cli.doctor import doctor, sources
from groundgraph.cli.documents import documents_app
from groundgraph.cli.evaluate import evaluate
from groundgraph.cli.graph import graph
from groundgraph.cli.ingest import ingest, move
from groundgraph.cli.inspect import inspect
from groundgraph.cli.options import origin, placed
from groundgraph.cli.output import (
    DONE,
    EPILOG,
    INTERRUPTED,
    UNAVAILABLE,
    WRONG_USE,
    code_of,
    note,
    prepare_log,
    prepare_streams,
    report_error,
    say,
)
from groundgraph.cli.serve import mcp, serve
from groundgraph.core.errors import ConfigurationError, GroundGraphError

app = typer.Typer(
    name="groundgraph",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    demo,
    ingest,
    move,
    ask,
    chat,
    serve,
    mcp,
    inspect,
    evaluate,
    check_model,
    report,
    sources,
    forget,
    prune,
    graph,
    doctor,
):
    app.command(epilog=EPILOG)(command)
app.add_typer(documents_app)
app.add_typer(threads_app)
app.add_typer(config_app)


def _version(wanted: bool) -> None:
    if wanted:
        from groundgraph import __version__

        say(f"groundgraph {__version__}")
        raise typer.Exit(DONE)


@app.callback()
def _groundgraph(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Answers questions from your documents: every turn retrieves, every citation is checked."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command in `arguments` (default: those of the process) and end the process with its exit code."""
    prepare_streams()
    prepare_log()
    code = _run(list(sys.argv[1:] if arguments is None else arguments))
    if code == INTERRUPTED:
        note("Interrupted.")
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    as_json = "--json" in _options(arguments)
    origin.set("")
    try:
        code = app(args=arguments, prog_name="groundgraph", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except (GroundGraphError, OSError) as error:
        if isinstance(error, ConfigurationError):
            error.problems = [placed(problem, origin.get()) for problem in error.problems]
        report_error(error, as_json=as_json)
        return code_of(error)
    except sqlite3.Error as error:
        report_error(error, as_json=as_json, message=f"A database could not be used: {error}")
        return UNAVAILABLE
    except Exception as error:
        # Typer brings its own copy of click, or not, depending on its version; so no class is named here.
        if not hasattr(error, "format_message"):
            raise
        return _wrong_use(error, as_json=as_json)


def _options(arguments: list[str]) -> list[str]:
    """The arguments before `--`, behind which nothing is an option."""
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _wrong_use(error: Any, *, as_json: bool) -> int:
    context = getattr(error, "ctx", None)
    message = error.format_message().replace("Value error, ", "") + _advice(error)
    if as_json:
        report_error(error, as_json=True, message=message)
    elif type(error).__name__ == "NoArgsIsHelpError":
        note(message)
    elif context:
        note(f"{context.get_usage()}\n\nError: {message}\n`{context.command_path} --help` tells what it takes.")
    else:
        note(f"Error: {message}")
    return WRONG_USE


def _advice(error: Any) -> str:
    """Where to write what stands in the wrong place: an option before the command, a command of `chat` behind ours."""
    from groundgraph.cli.chat.conversation import COMMANDS

    option = getattr(error, "option_name", "")
    if option in ("--config", "--json") and error.ctx and not error.ctx.parent:
        return f" Write it behind the command: groundgraph COMMAND {option}"
    named = re.search(r"No such command '(\w+)'", error.format_message())
    inside = named and f"/{named[1]}" in COMMANDS
    return f" In `groundgraph chat` there is /{named[1]}." if named and inside else ""

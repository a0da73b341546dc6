"""What every command takes: its options, the settings it runs with, and where in their file a problem stands."""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundgraph.core.errors import InputInvalid, StorageUnavailable
from groundgraph.core.thread_id import checked_thread_id

if TYPE_CHECKING:
    from groundgraph.core.errors import Problem
    from groundgraph.settings.settings import Settings


# The settings that a command runs with.

origin: ContextVar[str] = ContextVar("origin", default="")
"""Their file; empty without one, and before they were read."""


def find_settings(config: Path | None) -> Settings:
    """The settings in `config`, else those in the nearest `groundgraph.yaml`, else the defaults of the command line.

    Raises:
        ConfigurationError: the file or the environment has a problem; all are listed.
    """
    from groundgraph.settings.load_settings import find_settings_file, load_settings

    path = config or find_settings_file()
    settings = load_settings(path) if path else _without_file(load_settings())
    origin.set(settings.origin)
    return settings


def _without_file(settings: Settings) -> Settings:
    """Structured answers, their blocks alone, unless the environment names a model or a style.

    The general default, conversational, would put a notice that there is no model above every answer.
    """
    synthesis = settings.synthesis
    if settings.llm or synthesis.style or synthesis.mode:
        return settings
    return settings.model_copy(
        update={"synthesis": synthesis.model_copy(update={"style": "structured", "listing": False})}
    )


# Where in the configuration file a problem stands that was found after the file had been read.

_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def placed(problem: Problem, origin: str) -> Problem:
    """`problem` with the file, line and column of its key in the file `origin`.

    Unchanged when it has a place already, names no key, or the key does not stand in the file.
    """
    from groundgraph.settings.yaml_file import place_of, read_yaml

    if problem.file or not problem.key or not origin:
        return problem
    parts: list[str | int] = [int(number) if number else name for number, name in _PART.findall(problem.key)]
    found = place_of(read_yaml(Path(origin)), parts)
    return replace(problem, file=origin, line=found[0], column=found[1]) if found else problem


# Where the command line keeps its files, and how to keep them out of version control.

STATE_FOLDER = ".groundgraph"


def keep_out_of_git(file: Path) -> None:
    """Make the folder of `file` and, when it is `.groundgraph/`, have git ignore everything in it.

    Raises:
        StorageUnavailable: it cannot be made.
    """
    folder = file.parent
    ignore = folder / ".gitignore"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.name == STATE_FOLDER and not ignore.exists():
            ignore.write_text("*\n", "utf-8")
    except OSError as error:
        # The first thing that a new user may meet, who has not heard of this folder.
        raise StorageUnavailable(
            f"The folder {folder}, in which documents and conversations are kept, cannot be made ({error.strerror}). "
            "Run the command in a folder that you may write to, or name other files in groundgraph.yaml "
            "(knowledge_base.file, checkpointer.path, store.path)."
        ) from error


def thread_id(param: typer.CallbackParam, value: str | None) -> str | None:
    """The id of a conversation as it was given; refused before anything is opened when nothing could be kept by it."""
    if value == "":
        option = "".join(f" of {name}" for name in param.opts if name.startswith("--"))
        raise InputInvalid(f"The thread id{option} is empty: name the conversation, for example visit-1.")
    return value if value is None else checked_thread_id(value)


Thread = Annotated[
    str,
    typer.Argument(metavar="THREAD", help="The id of the conversation.", show_default=False, callback=thread_id),
]

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The configuration. Default: groundgraph.yaml here or in a folder above; without one, a knowledge "
        "base in .groundgraph/, lexical search and structured answers.",
    ),
]

AsJson = Annotated[
    bool,
    typer.Option("--json", help="One JSON document on standard output, everything else on standard error."),
]

BaseName = Annotated[
    str | None,
    typer.Option("--source", metavar="NAME", help="The knowledge base, when there are several."),
]

"""The options that every command takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundgraph.core.thread_id import checked_thread_id


def thread_id(value: str | None) -> str | None:
    """The id of a conversation as it was given; refused before anything is opened when nothing could be kept by it."""
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

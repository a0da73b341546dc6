"""The options that every command takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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

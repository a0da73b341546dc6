"""Where the command line keeps its files, and how to keep them out of version control."""

from __future__ import annotations

from pathlib import Path

STATE_FOLDER = ".groundgraph"


def keep_out_of_git(file: Path) -> None:
    """Make the folder of `file` and, when it is `.groundgraph/`, have git ignore everything in it."""
    folder = file.parent
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if folder.name == STATE_FOLDER and not ignore.exists():
        ignore.write_text("*\n", "utf-8")

"""Which file `groundgraph ingest` fills, and how to keep it out of version control."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundgraph.core.settings import Settings

STATE_FOLDER = ".groundgraph"
_KINDS = ("knowledge_base", "vector_kb")


def knowledge_base_file(settings: Settings, source: str | None = None) -> Path:
    """The file behind the knowledge base that a turn with `settings` searches.

    Args:
        settings: see `find_settings`.
        source: the name of the source, needed when there are several knowledge bases.

    Raises:
        ConfigurationError: there is no such knowledge base, or several and no `source`.
    """
    from groundgraph.core.errors import ConfigurationError, Problem

    files = knowledge_base_files(settings)
    known = ", ".join(files) or "none"
    if source is not None and source not in files:
        raise ConfigurationError([Problem("", f"there is no knowledge base '{source}' to fill; known: {known}")])
    if not files:
        raise ConfigurationError(
            [Problem("knowledge_base", "the sources are no knowledge bases, so there is nothing to fill")]
        )
    if source is None and len(files) > 1:
        raise ConfigurationError([Problem("sources", f"name the knowledge base to fill with --source: {known}")])
    return settings.at(files[source or next(iter(files))])


def knowledge_base_files(settings: Settings) -> dict[str, Path]:
    """The files by the name of their source, as `Resources` would open them."""
    from groundgraph.sources.knowledge_base.source import DEFAULT_PATH

    entries = [entry for entry in settings.sources if entry.type in _KINDS]
    if entries:
        return {entry.name: Path(str(entry.options.get("path") or DEFAULT_PATH)) for entry in entries}
    if settings.knowledge_base is not None:
        return {"knowledge_base": settings.knowledge_base.file}
    return {} if settings.sources else {"knowledge_base": DEFAULT_PATH}


def keep_out_of_git(file: Path) -> None:
    """Make the folder of `file` and, when it is `.groundgraph/`, have git ignore everything in it."""
    folder = file.parent
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if folder.name == STATE_FOLDER and not ignore.exists():
        ignore.write_text("*\n", "utf-8")

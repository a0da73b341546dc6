"""Where the database and its index lie."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote

from groundgraph.core.errors import ConfigurationError, Problem

INDEX_FOLDER = Path(".groundgraph/index")
_PREFIXES = ("sqlite+aiosqlite://", "sqlite+pysqlite://", "sqlite://")


def database_file(url: str | Path, base_dir: Path, source: str) -> Path:
    """The file that `url` names: `sqlite:///relative.db`, `sqlite:////absolute.db` or a plain path.

    Raises:
        ConfigurationError: the URL is of another database, or names no file.
    """
    text = str(url)
    prefix = next((prefix for prefix in _PREFIXES if text.startswith(prefix)), "")
    if prefix:
        path = unquote(text[len(prefix) :].split("?", maxsplit=1)[0]).removeprefix("/")
    elif "://" in text or text.startswith("file:"):
        raise ConfigurationError(
            [Problem(f"{source}.url", f"'{_without_password(text)}' is no SQLite database; write sqlite:///file.db")]
        )
    else:
        path = text
    if not path or path == ":memory:":
        raise ConfigurationError(
            [Problem(f"{source}.url", "names no file; a table in memory is `backend: memory` with `records`")]
        )
    return base_dir / path


def default_index(index: str | Path | None, base_dir: Path, source: str) -> Path:
    """The file of the index of the source called `source`."""
    return base_dir / (index if index is not None else INDEX_FOLDER / f"{quote(source, safe=' ')}.sqlite")


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"

"""Which files an ingestion takes in, and what becomes of the others."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from groundgraph.core.document import HTML, MARKDOWN, PLAIN_TEXT, RESTRUCTURED_TEXT

MEDIA_TYPES = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": PLAIN_TEXT,
    ".text": PLAIN_TEXT,
    ".rst": RESTRUCTURED_TEXT,
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
}
# Kinds that people mean when they say "documents": one of these in a folder is reported, not just counted.
DOCUMENT_LIKE = frozenset(
    [
        *(".pdf", ".docx", ".doc", ".odt", ".rtf", ".pages", ".tex", ".adoc", ".asciidoc", ".org", ".ipynb"),
        *(".epub", ".eml", ".msg", ".pptx", ".ppt", ".odp", ".key"),
        *(".xlsx", ".xls", ".ods", ".numbers", ".csv", ".tsv", ".jsonl"),
    ]
)


@dataclass(frozen=True)
class FoundFile:
    """One file to take in.

    Attributes:
        path: where it is.
        name: the name that its document gets.
    """

    path: Path
    name: str


@dataclass
class FoundFiles:
    """What lies under the given paths.

    Attributes:
        files: the files to take in, in order of their names within each given path.
        failed: (name, reason) of every path or document that cannot be taken in.
        ignored: how many other files were passed over, by suffix in small letters.
        folders: the given folders, as absolute paths.
    """

    files: list[FoundFile] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    folders: list[Path] = field(default_factory=list)


def document_name(path: Path, base_dir: Path) -> str:
    """The stable name of a file: its path from `base_dir` when it lies below, else absolute; with `/`."""
    absolute = Path(os.path.abspath(path))
    base = Path(os.path.abspath(base_dir))
    return (absolute.relative_to(base) if absolute.is_relative_to(base) else absolute).as_posix()


def find_files(paths: Iterable[str | os.PathLike[str]], base_dir: Path) -> FoundFiles:
    """The files under `paths`, folders with everything below them; hidden files and folders are left out.

    A relative path starts from `base_dir`. A file that two paths lead to is found once.
    """
    found = FoundFiles()
    seen: set[str] = set()
    for given in paths:
        path = base_dir / given
        if path.is_dir():
            found.folders.append(Path(os.path.abspath(path)))
            candidates = [(file, False) for file in _walk(path, found, base_dir)]
        else:
            candidates = [(path, True)]
        for file, explicit in candidates:
            name = document_name(file, base_dir)
            if name not in seen:
                seen.add(name)
                _sort_in(found, FoundFile(file, name), explicit=explicit)
    return found


def _walk(folder: Path, found: FoundFiles, base_dir: Path) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        name = document_name(Path(error.filename), base_dir)
        found.failed.append((name, f"the folder cannot be read: {error.strerror}"))

    for parent, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(files) if not name.startswith("."))


def _sort_in(found: FoundFiles, file: FoundFile, *, explicit: bool) -> None:
    suffix = file.path.suffix.lower()
    if not file.path.is_file():
        found.failed.append((file.name, "there is no such file" if explicit else "not a regular file"))
    elif suffix in MEDIA_TYPES:
        found.files.append(file)
    elif explicit or suffix in DOCUMENT_LIKE:
        found.failed.append((file.name, _unsupported(suffix)))
    else:
        found.ignored[suffix or "(no suffix)"] += 1


def _unsupported(suffix: str) -> str:
    kind = f"{suffix} files are" if suffix else "files without a suffix are"
    return f"{kind} not supported; supported: {', '.join(sorted(MEDIA_TYPES))}"

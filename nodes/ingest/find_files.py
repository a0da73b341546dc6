"""Which files an ingestion takes in, and what becomes of the others."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG

from groundgraph.core.clean_text import clean_text
from groundgraph.core.document import HTML, MARKDOWN, PDF, PLAIN_TEXT, RESTRUCTURED_TEXT

CSV = "text/csv"
JSON_LINES = "application/jsonl"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MEDIA_TYPES = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".txt": PLAIN_TEXT,
    ".text": PLAIN_TEXT,
    ".rst": RESTRUCTURED_TEXT,
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".pdf": PDF,
    ".docx": DOCX,
    ".csv": CSV,
    ".tsv": CSV,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".xlsx": XLSX,
}
# Kinds that people mean when they say "documents": one of these in a folder is reported, not just counted.
DOCUMENT_LIKE = frozenset(
    [
        *(".doc", ".docm", ".odt", ".rtf", ".pages", ".tex", ".adoc", ".asciidoc", ".org", ".ipynb"),
        *(".epub", ".eml", ".msg", ".pptx", ".ppt", ".odp", ".key"),
        *(".xls", ".xlsm", ".xlsb", ".ods", ".numbers"),
    ]
)
# Under what a link to a folder is counted that leads out of the given one and is not followed.
LINKED = "(linked folder)"


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
    if absolute.is_relative_to(base):
        return absolute.relative_to(base).as_posix()
    # The same place by another way: a link to the folder of the project, for example.
    real, real_base = Path(os.path.realpath(absolute.parent), absolute.name), os.path.realpath(base)
    return (real.relative_to(real_base) if real.is_relative_to(real_base) else absolute).as_posix()


def find_files(
    paths: Iterable[str | os.PathLike[str]], base_dir: Path, *, sidecar: str | None = None, follow_links: bool = True
) -> FoundFiles:
    """The files under `paths`, folders with everything below them; hidden files and folders are left out.

    A relative path starts from `base_dir`. A file that two paths lead to is found once. A file called `sidecar` holds
    the metadata of others; it is neither a document nor passed over. With `follow_links`, links to folders elsewhere
    are followed, too; those that are not are counted among what is ignored.
    """
    found = FoundFiles()
    seen: set[str] = set()
    for given in paths:
        path = base_dir / given
        if os.path.isdir(path):
            found.folders.append(Path(os.path.abspath(path)))
            walked = _walk(path, found, base_dir, follow_links=follow_links)
            candidates = [(file, False) for file in walked if file.name != sidecar]
        else:
            candidates = [(path, True)]
        for file, explicit in candidates:
            name = document_name(file, base_dir)
            if name not in seen:
                seen.add(name)
                _sort_in(found, FoundFile(file, name), explicit=explicit)
    return found


def _walk(folder: Path, found: FoundFiles, base_dir: Path, *, follow_links: bool) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        name = clean_text(document_name(Path(error.filename), base_dir))
        found.failed.append((name, f"the folder cannot be read: {error.strerror}"))

    walked = [Path(os.path.realpath(folder))]

    def is_walked(child: Path) -> bool:
        if not child.is_symlink():
            return True
        target = Path(os.path.realpath(child))
        if any(target.is_relative_to(known) for known in walked):
            # A circle, or what is found without the link.
            return False
        if not follow_links or any(known.is_relative_to(target) for known in walked):
            found.ignored[LINKED] += 1
            return False
        walked.append(target)
        return True

    for parent, folders, files in os.walk(folder, onerror=unreadable, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and is_walked(Path(parent, name)))
        yield from (Path(parent, name) for name in sorted(files) if not name.startswith("."))


def _sort_in(found: FoundFiles, file: FoundFile, *, explicit: bool) -> None:
    suffix = file.path.suffix.lower()
    legible = clean_text(file.name)
    if unusable := _unusable(file.path):
        found.failed.append((legible, unusable))
    elif suffix in MEDIA_TYPES and legible == file.name:
        found.files.append(file)
    elif suffix in MEDIA_TYPES:
        found.failed.append((legible, "its name is not UTF-8, so no source could be named by it; rename the file"))
    elif explicit or suffix in DOCUMENT_LIKE:
        found.failed.append((legible, _unsupported(suffix)))
    else:
        found.ignored[suffix or "(no suffix)"] += 1


def _unusable(path: Path) -> str:
    """Why nothing can be read at `path`; empty when it is a regular file."""
    try:
        return "" if S_ISREG(path.stat().st_mode) else "not a regular file"
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # A null character in a name is a ValueError.
        return "a link to what is not there" if os.path.islink(path) else "there is no such file"
    except OSError as error:
        return f"it cannot be looked at: {error.strerror}"


def _unsupported(suffix: str) -> str:
    kind = f"{suffix} files are" if suffix else "files without a suffix are"
    return f"{kind} not supported; supported: {', '.join(sorted(MEDIA_TYPES))}"

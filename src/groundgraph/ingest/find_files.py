"""Which files an ingestion takes in, and what becomes of the others."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG

from groundgraph.core.characters import clean_text
from groundgraph.core.document import MEDIA_TYPES

# Kinds that people mean when they say "documents": one of these in a folder is reported, not just counted.
DOCUMENT_LIKE = frozenset(
    [
        *(".doc", ".docm", ".odt", ".rtf", ".pages", ".tex", ".adoc", ".asciidoc", ".org", ".ipynb"),
        *(".epub", ".eml", ".msg", ".ppt", ".odp", ".key"),
        *(".xls", ".xlsm", ".xlsb", ".ods", ".numbers"),
    ]
)
LEADS_OUT = (
    "it is a link that leads out of the given folder; name its target, or set knowledge_base.follow_links "
    "(--follow-links)"
)
LEADS_UP = "it is a link to a folder in which the given one lies"
# What would begin a line, or a column, of its own in a list of names; the separators of lines among them.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


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
        skipped: (name, reason) of every link below a given folder that is not followed.
        ignored: how many other files were passed over, by suffix in small letters.
        folders: the given folders, as absolute paths.
    """

    files: list[FoundFile] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
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
    paths: Iterable[str | os.PathLike[str]], base_dir: Path, *, sidecar: str | None = None, follow_links: bool = False
) -> FoundFiles:
    """The files under `paths`, folders with everything below them; hidden files and folders are left out.

    A relative path starts from `base_dir`. A file that two paths lead to is found once. A file called `sidecar` holds
    the metadata of others; it is neither a document nor passed over. A link is followed when it is one of `paths`, or
    leads to a place below the same folder; with `follow_links` also when it leads elsewhere.
    """
    found = FoundFiles()
    seen: set[str] = set()
    for given in paths:
        path = base_dir / given
        if os.path.isdir(path):
            found.folders.append(Path(os.path.abspath(path)))
            walked = _Walk(path, found, base_dir, follow_links).files()
            candidates = [(file, False) for file in walked if file.name != sidecar]
        else:
            candidates = [(path, True)]
        for file, explicit in candidates:
            name = document_name(file, base_dir)
            if name not in seen:
                seen.add(name)
                _sort_in(found, FoundFile(file, name), explicit=explicit)
    return found


@dataclass(frozen=True)
class _Walk:
    """The way through one given folder, and through those that links in it lead to."""

    folder: Path
    found: FoundFiles
    base_dir: Path
    follow_links: bool
    walked: list[Path] = field(default_factory=list)

    def files(self) -> Iterator[Path]:
        self.walked.append(Path(os.path.realpath(self.folder)))
        for parent, folders, files in os.walk(self.folder, onerror=self._unreadable, followlinks=True):
            shown = (name for name in folders if not name.startswith("."))
            folders[:] = sorted(name for name in shown if self._leads_on(Path(parent, name)))
            paths = (Path(parent, name) for name in sorted(files) if not name.startswith("."))
            yield from (path for path in paths if self._stays(path))

    def _unreadable(self, error: OSError) -> None:
        name = clean_text(document_name(Path(error.filename), self.base_dir))
        self.found.failed.append((name, f"the folder cannot be read: {error.strerror}"))

    def _leads_on(self, folder: Path) -> bool:
        """Whether to walk through `folder` as well."""
        if not os.path.islink(folder):
            return True
        target = Path(os.path.realpath(folder))
        if any(target.is_relative_to(known) for known in self.walked):
            # A circle, or what is found without the link.
            return False
        if any(known.is_relative_to(target) for known in self.walked):
            return self._skip(folder, LEADS_UP)
        if not self.follow_links:
            return self._skip(folder, LEADS_OUT)
        self.walked.append(target)
        return True

    def _stays(self, file: Path) -> bool:
        """Whether `file` may be read: it is no link, or leads to where the walk may go."""
        if self.follow_links or not os.path.islink(file) or not os.path.exists(file):
            return True
        return Path(os.path.realpath(file)).is_relative_to(self.walked[0]) or self._skip(file, LEADS_OUT)

    def _skip(self, path: Path, reason: str) -> bool:
        self.found.skipped.append((clean_text(document_name(path, self.base_dir)), reason))
        return False


def _sort_in(found: FoundFiles, file: FoundFile, *, explicit: bool) -> None:
    suffix = file.path.suffix.lower()
    legible = _legible(file.name)
    if unusable := _unusable(file.path):
        found.failed.append((legible, unusable))
    elif suffix in MEDIA_TYPES and legible == file.name:
        found.files.append(file)
    elif suffix in MEDIA_TYPES:
        found.failed.append((legible, f"its name {_unnamable(file.name)}; rename the file"))
    elif explicit or suffix in DOCUMENT_LIKE:
        found.failed.append((legible, _unsupported(suffix)))
    else:
        found.ignored[suffix or "(no suffix)"] += 1


def _legible(name: str) -> str:
    return _CONTROL.sub("\ufffd", clean_text(name))


def _unnamable(name: str) -> str:
    """Why no source could be named by `name`, which would stand in lists, citations and addresses."""
    if clean_text(name) != name:
        return "is not UTF-8, so no source could be named by it"
    return "holds a line break or another control character, so that no list could show it"


def _unusable(path: Path) -> str:
    """Why nothing can be read at `path`; empty when it is a regular file."""
    try:
        return "" if S_ISREG(path.stat().st_mode) else "not a regular file"
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # A null character in a name is a ValueError.
        folder = _legible(os.path.abspath(path.parent))
        return "a link to what is not there" if os.path.islink(path) else f"there is no such file or folder in {folder}"
    except OSError as error:
        return f"it cannot be looked at: {error.strerror}"


def _unsupported(suffix: str) -> str:
    kind = f"{suffix} files are" if suffix else "files without a suffix are"
    return f"{kind} not supported; supported: {', '.join(sorted(MEDIA_TYPES))}"

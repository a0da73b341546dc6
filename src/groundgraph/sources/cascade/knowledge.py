"""The knowledge files of a source together, read again when they change."""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISDIR

from groundgraph.core.errors import KnowledgeFileInvalid, Problem, SourceUnavailable
from groundgraph.sources.cascade.read_file import KnowledgeFile, Section, read_file

SUFFIXES = (".yaml", ".yml")
# By what a file is known to be unchanged: times of content and entry in nanoseconds, size, inode.
Signature = tuple[int, int, int, int]
_UNREADABLE = (0, 0, 0, 0)
_LOG = logging.getLogger("groundgraph")


@dataclass(frozen=True)
class Category:
    """A category with what may be told of it."""

    name: str
    title: str
    description: str
    sections: int

    @property
    def told(self) -> str:
        """What it is about: the description, else the title where that says more than the name."""
        return self.description or (self.title if self.title != self.name else "")


@dataclass(frozen=True)
class Knowledge:
    """What the files held when they were last read without a mistake.

    Attributes:
        sections: those that may be shown, in the order of the files.
        categories: by name, those that have a section that may be shown.
        files: how many files there are.
        stale: why a newer state of the files is not in use; empty when there is none.
    """

    sections: tuple[Section, ...]
    categories: Mapping[str, Category]
    files: int
    stale: str = ""


class KnowledgeFiles:
    """Every method blocks and may be called from several threads.

    Args:
        paths: folders, which are searched with those below them, and files.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)
        self._guard = threading.Lock()
        self._seen: tuple[dict[Path, Signature], list[Problem]] | None = None
        self._read: dict[Path, tuple[Signature, KnowledgeFile]] = {}
        self._current: Knowledge | None = None
        self._failure: KnowledgeFileInvalid | None = None

    def current(self) -> Knowledge:
        """The knowledge as the files hold it now; the same object as before unless a file has changed.

        Raises:
            SourceUnavailable: a path does not exist or cannot be looked at, or no file is there.
            KnowledgeFileInvalid: a file is wrong or a folder cannot be read, and no earlier state was right.
        """
        with self._guard:
            seen = self._look()
            if seen != self._seen:
                self._reread(*seen)
                self._seen = seen
            if self._current is None:
                assert self._failure is not None
                raise self._failure
            return self._current

    def _look(self) -> tuple[dict[Path, Signature], list[Problem]]:
        """The files that there are, and the folders that cannot be read."""
        signatures: dict[Path, Signature] = {}
        problems: list[Problem] = []
        for path in self._paths:
            for file in _files_of(path, problems):
                signature = _signature(file)
                if signature is not None:
                    signatures[file] = signature
        if not signatures and not problems:
            told = ", ".join(f"'{path}'" for path in self._paths)
            raise SourceUnavailable(f"There is no knowledge file ({', '.join(SUFFIXES)}) in {told}.")
        return signatures, problems

    def _reread(self, signatures: Mapping[Path, Signature], unreadable: Sequence[Problem]) -> None:
        problems = [*unreadable]
        read: dict[Path, tuple[Signature, KnowledgeFile]] = {}
        for path, signature in signatures.items():
            known = self._read.get(path)
            if known is not None and known[0] == signature:
                read[path] = known
                continue
            file, wrong = read_file(path)
            problems += wrong
            if file is not None:
                read[path] = (signature, file)
        files = {path: file for path, (_, file) in read.items()}
        problems += _disagreements(files)
        self._read = read
        if not problems:
            self._current, self._failure = _knowledge(list(files.values())), None
            return
        self._failure = KnowledgeFileInvalid(problems)
        if self._current is not None:
            _LOG.warning("Knowledge files are wrong:\n%s", self._failure)
            self._current = _kept(self._current, files.values(), told_to_readers(problems))


def told_to_readers(problems: Sequence[Problem]) -> str:
    """Where the first of `problems` is. A reader need not know where on the disk the files are, and what is wrong there
    may tell of sections that are sensitive."""
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    name, line = Path(problems[0].file).name, problems[0].line
    return f"{name}, line {line}, is wrong{more}" if line else f"the folder {name} cannot be read{more}"


def _kept(last: Knowledge, files: Iterable[KnowledgeFile], stale: str) -> Knowledge:
    """`last` without the sections that a newer state of `files` hides: that holds whatever is wrong elsewhere."""
    hidden: set[tuple[str, str]] = set()
    for file in files:
        shown = {section.key for section in file.sections}
        hidden |= {(file.category, key) for key, _ in file.keys if key not in shown}
    sections = tuple(section for section in last.sections if (section.category, section.key) not in hidden)
    left = Counter(section.category for section in sections)
    categories = {
        name: replace(category, sections=left[name]) for name, category in last.categories.items() if left[name]
    }
    return replace(last, sections=sections, categories=categories, stale=stale)


def _files_of(path: Path, problems: list[Problem]) -> Iterator[Path]:
    """The files at and below `path`; folders that cannot be read are added to `problems`, which no file would tell.

    Raises:
        SourceUnavailable: `path` is not there or cannot be looked at.
    """
    try:
        is_folder = S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        raise SourceUnavailable(f"There is no file or folder '{path}' with knowledge; correct `path`.") from None
    except OSError as error:
        raise SourceUnavailable(f"'{path}' with knowledge cannot be looked at: {error.strerror}.") from error
    if not is_folder:
        yield path
        return

    def unreadable(error: OSError) -> None:
        # One that was removed since the folder above it was listed is no longer looked for.
        if not isinstance(error, FileNotFoundError):
            problems.append(Problem("", f"the folder cannot be read: {error.strerror}", str(error.filename)))

    for folder, folders, names in os.walk(path, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(SUFFIXES) and not name.startswith("."):
                yield Path(folder, name)


def _signature(file: Path) -> Signature | None:
    """By what `file` is known again; None when it was removed since its folder was listed."""
    try:
        status = file.stat()
    except OSError as error:
        # A link that stays while what it leads to is gone was not removed. Whoever reads it says why it cannot be read.
        return None if isinstance(error, FileNotFoundError) and not file.is_symlink() else _UNREADABLE
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _disagreements(files: Mapping[Path, KnowledgeFile]) -> list[Problem]:
    """Keys that a category has twice, and categories whose name is written in two ways."""
    # By id: of names with a slash two pairs may make one.
    first: dict[str, str] = {}
    spelled: dict[str, KnowledgeFile] = {}
    problems: list[Problem] = []
    for path, file in files.items():
        known_as = spelled.setdefault(file.category.casefold(), file).category
        if known_as != file.category:
            told = f"another file writes the category '{file.category}' as '{known_as}'; use one spelling"
            problems.append(Problem("category", told, str(path), 1, 1))
        for key, line in file.keys:
            known = first.setdefault(f"{file.category.casefold()}/{key}", f"{path}:{line}")
            if known != f"{path}:{line}":
                told = f"the category '{file.category}' has a section of this key already, in {known}"
                problems.append(Problem(f"sections.{key}", told, str(path), line, 1))
    return problems


def _knowledge(files: Sequence[KnowledgeFile]) -> Knowledge:
    categories: dict[str, Category] = {}
    for file in files:
        if file.sections:
            known = categories.get(file.category)
            categories[file.category] = Category(
                file.category,
                known.title if known else file.title,
                (known.description if known else "") or file.description,
                len(file.sections) + (known.sections if known else 0),
            )
    return Knowledge(tuple(section for file in files for section in file.sections), categories, len(files))

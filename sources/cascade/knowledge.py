"""The knowledge files of a source together, read again when they change."""

from __future__ import annotations

import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from groundgraph.core.errors import KnowledgeFileInvalid, Problem, SourceUnavailable
from groundgraph.sources.cascade.read_file import KnowledgeFile, read_file
from groundgraph.sources.cascade.section import Section

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
        self._signatures: dict[Path, Signature] | None = None
        self._read: dict[Path, tuple[Signature, KnowledgeFile]] = {}
        self._current: Knowledge | None = None
        self._failure: KnowledgeFileInvalid | None = None

    def current(self) -> Knowledge:
        """The knowledge as the files hold it now; the same object as before unless a file has changed.

        Raises:
            SourceUnavailable: a path does not exist, or no file is there.
            KnowledgeFileInvalid: a file is wrong, and no earlier state was right.
        """
        with self._guard:
            signatures = dict(self._found())
            if signatures != self._signatures:
                self._reread(signatures)
                self._signatures = signatures
            if self._current is None:
                assert self._failure is not None
                raise self._failure
            return self._current

    def _found(self) -> Iterator[tuple[Path, Signature]]:
        any_file = False
        for path in self._paths:
            if not path.exists():
                raise SourceUnavailable(f"There is no file or folder '{path}' with knowledge; correct `path`.")
            for file in _files_of(path):
                try:
                    status = file.stat()
                except FileNotFoundError:
                    continue  # removed since the folder was listed
                except OSError:
                    signature = _UNREADABLE  # whoever reads it says why
                else:
                    signature = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
                any_file = True
                yield file, signature
        if not any_file:
            told = ", ".join(f"'{path}'" for path in self._paths)
            raise SourceUnavailable(f"There is no knowledge file ({', '.join(SUFFIXES)}) in {told}.")

    def _reread(self, signatures: Mapping[Path, Signature]) -> None:
        problems: list[Problem] = []
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
        _LOG.warning("Knowledge files are wrong:\n%s", self._failure)
        if self._current is not None:
            self._current = _kept(self._current, files.values(), told_to_readers(problems))


def told_to_readers(problems: Sequence[Problem]) -> str:
    """Where the first of `problems` is. A reader need not know where on the disk the files are, and what is wrong there
    may tell of sections that are sensitive."""
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    return f"{Path(problems[0].file).name}, line {problems[0].line}, is wrong{more}"


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


def _files_of(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(SUFFIXES) and not name.startswith("."):
                yield Path(folder, name)


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

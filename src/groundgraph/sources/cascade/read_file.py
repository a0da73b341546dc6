"""Reading one knowledge file; docs/cascade.md describes the schema."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any
from unicodedata import normalize

import yaml

from groundgraph.core.clean_text import clean_text
from groundgraph.core.errors import Problem
from groundgraph.core.registry import nearest
from groundgraph.core.text import words
from groundgraph.sources.cascade.section import Link, Section
from groundgraph.sources.cascade.yaml_nodes import (
    FollowedTooFar,
    Problems,
    boolean_of,
    compose,
    has_plain_tag,
    integer_of,
    items,
    text_of,
)

MAX_BYTES = 64 * 1024 * 1024
FILE_KEYS = ("category", "title", "description", "sections")
SECTION_KEYS = ("title", "keywords", "priority", "facts", "urls", "sensitive")
LINK_KEYS = ("title", "url")
_SCHEMES = ("http://", "https://", "mailto:")


@dataclass(frozen=True)
class KnowledgeFile:
    """What one file holds.

    Attributes:
        category: the name of its category.
        title: of the category.
        description: of the category; may be empty.
        sections: those that may be shown, in order.
        keys: of all sections with their lines, those that are sensitive too.
    """

    category: str
    title: str
    description: str
    sections: tuple[Section, ...]
    keys: tuple[tuple[str, int], ...]


def read_file(path: Path) -> tuple[KnowledgeFile | None, list[Problem]]:
    """What `path` holds, and everything that is wrong with it; with problems the file counts as a whole as broken."""
    problems = Problems(str(path))
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode):
            # A pipe would be waited for, and a device may never end.
            problems.note(None, "", "is no regular file")
            return None, problems.found
        if status.st_size > MAX_BYTES:
            problems.note(None, "", f"is larger than {MAX_BYTES // 2**20} MB; split it")
            return None, problems.found
        text = clean_text(path.read_text("utf-8-sig"))
    except OSError as error:
        problems.note(None, "", f"cannot be read: {error.strerror}")
        return None, problems.found
    except UnicodeDecodeError as error:
        problems.note(None, "", f"is no UTF-8 text, from byte {error.start} on")
        return None, problems.found
    root = compose(text, problems)
    if root is None:
        if not problems.found:
            problems.note(None, "", "is empty; a knowledge file has `sections`")
        return None, problems.found
    problems.allow(text)
    try:
        found = _Reader(path, problems).file(root)
    except FollowedTooFar:
        problems.note(None, "", "repeats so much by its aliases that it is too large; write less of it")
        return None, problems.found
    in_order = sorted(problems.found, key=lambda problem: (problem.line, problem.column))
    return (None if in_order else found), in_order


class _Reader:
    """Reads the nodes of one file; every method notes what it cannot take and goes on."""

    def __init__(self, path: Path, problems: Problems) -> None:
        self._path = path
        self._problems = problems

    def file(self, root: yaml.Node) -> KnowledgeFile:
        """What the file holds as far as it can be read."""
        texts: dict[str, str] = {}
        sections: yaml.Node | None = None
        for name, _, value in self._known(root, "", FILE_KEYS):
            if name == "sections":
                sections = value
            else:
                texts[name] = text_of(value, name, self._problems) or ""
        # Some file systems keep names decomposed, and a name need not be Unicode at all.
        category = texts.get("category") or clean_text(normalize("NFC", self._path.stem))
        title = texts.get("title") or category
        if sections is None:
            self._problems.note(root, "sections", "is missing")
            return KnowledgeFile(category, title, "", (), ())
        found: list[Section] = []
        keys: list[tuple[str, int]] = []
        for key, key_node, value in items(sections, "sections", self._problems):
            keys.append((key, key_node.start_mark.line + 1))
            section = self._section(category, title, key, key_node, value)
            if section is not None:
                found.append(section)
        return KnowledgeFile(category, title, texts.get("description", ""), tuple(found), tuple(keys))

    def _section(
        self, category: str, category_title: str, key: str, key_node: yaml.Node, node: yaml.Node
    ) -> Section | None:
        """The section; None when it is sensitive."""
        where = f"sections.{key}"
        values: dict[str, Any] = {}
        sensitive: bool | None = False
        for name, _, value in self._known(node, where, SECTION_KEYS):
            place = f"{where}.{name}"
            if name == "sensitive":
                sensitive = boolean_of(value, place, self._problems)
            else:
                values[name] = self._value(name, value, place)
        if "facts" not in values and isinstance(node, yaml.MappingNode):
            self._problems.note(key_node, f"{where}.facts", "is missing: a section has at least one fact")
        if sensitive is not False or self._problems.found:
            return None
        line = key_node.start_mark.line + 1
        return Section(category, category_title, key, file=str(self._path), line=line, **values)

    def _value(self, name: str, node: yaml.Node, where: str) -> Any:
        if name == "title":
            return text_of(node, where, self._problems)
        if name == "priority":
            return integer_of(node, where, self._problems)
        if name == "urls":
            return tuple(self._link(item, place) for item, place in self._entries(node, where))
        if name == "facts" and isinstance(node, yaml.ScalarNode):
            return (text_of(node, where, self._problems),)
        texts = tuple(text_of(item, place, self._problems) for item, place in self._entries(node, where))
        if name == "facts" and not texts:
            self._problems.note(node, where, "needs at least one fact")
        if name == "keywords":
            self._check_words(node, texts, where)
        return texts

    def _check_words(self, node: yaml.Node, keywords: tuple[str | None, ...], where: str) -> None:
        for number, keyword in enumerate(keywords):
            if keyword and not any(words(keyword)):
                self._problems.note(node.value[number], f"{where}[{number}]", "has no letters or digits")

    def _entries(self, node: yaml.Node, where: str) -> list[tuple[yaml.Node, str]]:
        if not has_plain_tag(node, where, self._problems):
            return []
        if not isinstance(node, yaml.SequenceNode):
            self._problems.note(node, where, "must be a list")
            return []
        return [(item, f"{where}[{number}]") for number, item in enumerate(node.value)]

    def _link(self, node: yaml.Node, where: str) -> Link:
        texts: dict[str, str] = {}
        if isinstance(node, yaml.ScalarNode):
            texts["url"] = text_of(node, where, self._problems) or ""
        else:
            for name, _, value in self._known(node, where, LINK_KEYS):
                texts[name] = text_of(value, f"{where}.{name}", self._problems) or ""
            if "url" not in texts:
                self._problems.note(node, f"{where}.url", "is missing")
        url = texts.get("url", "")
        if url and not url.lower().startswith(_SCHEMES):
            self._problems.note(node, where, "must begin with http://, https:// or mailto:")
        return Link(url, texts.get("title", ""))

    def _known(self, node: yaml.Node, where: str, known: tuple[str, ...]) -> list[tuple[str, yaml.Node, yaml.Node]]:
        """The entries of a mapping whose names are `known`; the others are noted."""
        found = []
        for name, name_node, value in items(node, where, self._problems):
            if name in known:
                found.append((name, name_node, value))
            else:
                key = f"{where}.{name}" if where else name
                told = f"is not a known key.{nearest(name, list(known))} Known: {', '.join(known)}."
                self._problems.note(name_node, key, told)
        return found

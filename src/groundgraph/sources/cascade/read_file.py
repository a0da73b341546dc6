"""The sections of one knowledge file, and reading it; docs/cascade.md describes the schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import Any
from unicodedata import normalize

import yaml

from groundgraph.core.characters import clean_text
from groundgraph.core.errors import Problem
from groundgraph.core.registry import nearest
from groundgraph.text.words import words


@dataclass(frozen=True)
class Link:
    """An address with a title, which may be empty."""

    url: str
    title: str = ""

    def to_dict(self) -> dict[str, str]:
        """`{title, url}`."""
        return {"title": self.title, "url": self.url}


@dataclass(frozen=True)
class Section:
    """A section that may be shown; sensitive ones never become one of these.

    Attributes:
        category: the name of its category.
        category_title: what a reader sees of that.
        key: unique within the category.
        facts: the texts, at least one.
        title: a heading; may be empty.
        keywords: words and phrases by which people ask for it.
        priority: the higher comes first.
        urls: where more is to be read.
        file: the file in which it stands.
        line: its line there, from 1.
    """

    category: str
    category_title: str
    key: str
    facts: tuple[str, ...]
    title: str = ""
    keywords: tuple[str, ...] = ()
    priority: int = 0
    urls: tuple[Link, ...] = ()
    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)

    @property
    def id(self) -> str:
        """`category/key`, unique in a source."""
        return f"{self.category}/{self.key}"

    @cached_property
    def content(self) -> str:
        """The facts, a line each."""
        return "\n".join(self.facts)

    @cached_property
    def embedded_text(self) -> str:
        """What its vector is made from."""
        return f"{self.title}\n{self.content}" if self.title else self.content

    def metadata(self) -> dict[str, Any]:
        """What a result tells beside the content; see docs/cascade.md."""
        fields: dict[str, Any] = {"category": self.category, "key": self.key, "priority": self.priority}
        fields["facts"] = list(self.facts)
        if self.title:
            fields |= {"title": self.title, "section": f"{self.category_title} > {self.title}"}
        if self.keywords:
            fields["keywords"] = list(self.keywords)
        if self.urls:
            fields |= {"url": self.urls[0].url, "urls": [link.to_dict() for link in self.urls]}
        return fields


METADATA_FIELDS = frozenset({"category", "key", "priority", "facts", "keywords", "title", "section", "url", "urls"})


# Reading the file.

# A YAML file as nodes that know their lines; nothing in it is ever made into an object.
#
# PyYAML composes nodes in C, many times as fast as a reader that keeps comments.

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STANDARD = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(f"{_STANDARD}{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp"))
_TAGS = _PLAIN_TAGS | {f"{_STANDARD}map", f"{_STANDARD}seq"}
NULL, BOOLEAN, INTEGER = (f"{_STANDARD}{kind}" for kind in ("null", "bool", "int"))
# The composer in C goes down by recursion, and an overflow would end the process.
MAX_DEPTH = 50
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
# More digits fit into no checkpoint.
MAX_INTEGER = 1_000_000_000
# What aliases may add to a file when they are followed: nodes and characters.
ALIASED = 1024 * 1024


class FollowedTooFar(Exception):
    """The aliases of a file make much of little."""


class Problems:
    """Collects what is wrong in one file, with lines and columns from 1."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Problem] = []
        self._left = ALIASED

    def allow(self, text: str) -> None:
        """`text` is read from now on. Without aliases its nodes and their characters are no more than its own."""
        self._left = len(text) + ALIASED

    def count(self, node: yaml.Node) -> None:
        """`node` is looked at.

        Raises:
            FollowedTooFar: too much was looked at.
        """
        self._left -= 1 + (len(node.value) if isinstance(node, yaml.ScalarNode) else 0)
        if self._left < 0:
            raise FollowedTooFar

    def note(self, node: yaml.Node | None, key: str, message: str) -> None:
        """Something is wrong at `node`, or with the file as a whole."""
        line, column = (node.start_mark.line + 1, node.start_mark.column + 1) if node else (1, 1)
        self.found.append(Problem(key, message, self.file, line, column))


def compose(text: str, problems: Problems) -> yaml.Node | None:
    """The root node of `text`; None when it is empty or no YAML, which is noted."""
    try:
        if _depth(text) > MAX_DEPTH:
            problems.note(None, "", f"is nested more than {MAX_DEPTH} levels deep")
            return None
        return yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else _place(error, text)
        told = getattr(error, "problem", None) or str(error).splitlines()[0]
        problems.found.append(Problem("", f"is no YAML: {told}", problems.file, line, column))
        return None


def _place(error: yaml.YAMLError, text: str) -> tuple[int, int]:
    """The line and column of a character that may not stand in YAML, which the error tells as an offset."""
    at = getattr(error, "position", 0)
    # In C the offset is that of a byte.
    before = text.encode()[:at].decode(errors="ignore") if _LOADER is not yaml.SafeLoader else text[:at]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _depth(text: str) -> int:
    """How deeply the collections of `text` are nested, and no more than is needed to know that it is too deep."""
    deepest = depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        deepest = max(deepest, depth)
        if deepest > MAX_DEPTH:
            break
    return deepest


def has_plain_tag(node: yaml.Node, key: str, problems: Problems) -> bool:
    """Whether `node` is plain data; a tag that asks for an object is noted.

    Raises:
        FollowedTooFar: aliases make the file too large.
    """
    problems.count(node)
    if node.tag in _TAGS:
        return True
    problems.note(node, key, f"the tag {node.tag.replace(_STANDARD, '!!')} is not allowed; write plain values")
    return False


def items(node: yaml.Node, key: str, problems: Problems) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """Name, node of the name and node of the value of each entry of a mapping; whatever else it is, is noted."""
    if not has_plain_tag(node, key, problems):
        return
    if not isinstance(node, yaml.MappingNode):
        problems.note(node, key, "must be a mapping")
        return
    seen: set[str] = set()
    for name_node, value in node.value:
        name = text_of(name_node, key, problems)
        if name is None:
            continue
        if name in seen:
            problems.note(name_node, f"{key}.{name}" if key else name, "stands there twice")
            continue
        seen.add(name)
        yield name, name_node, value


def text_of(node: yaml.Node, key: str, problems: Problems) -> str | None:
    """The text of a scalar as it was written, so that `no` and `1.10` stay what they are; None is noted."""
    if not has_plain_tag(node, key, problems):
        return None
    if not isinstance(node, yaml.ScalarNode) or node.tag == NULL or not node.value.strip():
        problems.note(node, key, "must be a text")
        return None
    return str(node.value).strip()


def integer_of(node: yaml.Node, key: str, problems: Problems) -> int | None:
    """The whole number that stands there; None is noted."""
    if has_plain_tag(node, key, problems):
        try:
            if node.tag == INTEGER and abs(number := int(node.value.replace("_", ""), 10)) <= MAX_INTEGER:
                return number
        except ValueError:
            pass
        problems.note(node, key, f"must be a whole number from -{MAX_INTEGER:_} to {MAX_INTEGER:_}")
    return None


def boolean_of(node: yaml.Node, key: str, problems: Problems) -> bool | None:
    """Whether `true` stands there; None, for what is neither that nor `false`, is noted."""
    if not has_plain_tag(node, key, problems):
        return None
    given = str(node.value).lower()
    if node.tag != BOOLEAN or given not in (*_TRUE, *_FALSE):
        problems.note(node, key, "must be true or false")
        return None
    return given in _TRUE


MAX_BYTES = 64 * 1024 * 1024
FILE_KEYS = ("category", "title", "description", "sections")
_SCALARS: dict[str, Callable[[yaml.Node, str, Problems], Any]] = {"title": text_of, "priority": integer_of}
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
        if read := _SCALARS.get(name):
            return read(node, where, self._problems)
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

"""A section of a knowledge file."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


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
        if self.urls:
            fields |= {"url": self.urls[0].url, "urls": [link.to_dict() for link in self.urls]}
        return fields


METADATA_FIELDS = frozenset({"category", "key", "priority", "facts", "title", "section", "url", "urls"})

"""Which properties of a collection are what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest


@dataclass(frozen=True)
class PropertyMapping:
    """The names of properties; an empty one is not there.

    Attributes:
        text: what is shown and searched.
        id: what identifies an object, with a value of its own for each; its UUID when empty.
        title: of the document; searched too.
        headings: the path above the text, one text or a list of them; searched too.
        document: the name of the document.
        order: the place in the document, a whole number, 1 more for the next.
        url: where the document is.
        stems: the stems of the text with spaces between, where whoever wrote the collection stored them; they are
            then searched in place of the text, which Weaviate cannot stem.
        heading_stems: the same for title and headings.
    """

    text: str = "text"
    id: str = ""
    title: str = ""
    headings: str = ""
    document: str = ""
    order: str = ""
    url: str = ""
    stems: str = ""
    heading_stems: str = ""

    def searched(self, heading_weight: int) -> list[str]:
        """The properties for a search by words, those above the text weighted as Weaviate writes it."""
        body, above = (self.stems, [self.heading_stems]) if self.stems else (self.text, [self.title, self.headings])
        return [body, *(f"{name}^{heading_weight}" for name in dict.fromkeys(above) if name)]

    def used(self) -> dict[str, str]:
        """The properties that are there, by what they are."""
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name)}


def mapping_of(given: Mapping[str, str] | None, key: str) -> PropertyMapping:
    """The mapping that a configuration describes.

    Raises:
        ConfigurationError: it names something that a property cannot be, or a name is no text.
    """
    known = [one.name for one in fields(PropertyMapping)]
    problems = [
        Problem(
            f"{key}.{name}", f"nothing of a result is called so.{nearest(str(name), known)} Known: {', '.join(known)}."
        )
        for name in given or {}
        if name not in known
    ]
    problems += [
        Problem(f"{key}.{name}", "must be the name of a property")
        for name, value in (given or {}).items()
        if name in known and (not isinstance(value, str) or not value)
    ]
    if problems:
        raise ConfigurationError(problems)
    return PropertyMapping(**(given or {}))

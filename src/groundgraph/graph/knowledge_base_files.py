"""Where the knowledge base of a configuration is: which file holds it, or which collections of Weaviate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundgraph.core.base_fields import base_fields
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.settings import KnowledgeBaseSettings, Settings
from groundgraph.sources.contract import SourceOptions

if TYPE_CHECKING:
    # Loaded only by those who keep a base in Weaviate.
    from groundgraph.sources.weaviate_base.place import BasePlace

# The types of sources that an ingest fills.
KNOWLEDGE_BASES = ("knowledge_base", "vector_kb")


@dataclass(frozen=True)
class KnowledgeBaseFile:
    """One knowledge base.

    Attributes:
        name: of its source.
        path: its file, which is not used by a base in Weaviate.
        fields: what the entry of the source declares, beside `knowledge_base.fields`.
        place: where it is in Weaviate; None for an embedded base.
    """

    name: str
    path: Path
    fields: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    place: BasePlace | None = None

    @property
    def told(self) -> str:
        """Where the base is, in words."""
        return self.place.told if self.place else str(self.path)


def knowledge_base_files(settings: Settings) -> dict[str, KnowledgeBaseFile]:
    """The knowledge bases by the name of their source, as a turn would open them."""
    entries = [(number, entry) for number, entry in enumerate(settings.sources) if entry.type in KNOWLEDGE_BASES]
    if entries:
        return {entry.name: _of_entry(settings, number) for number, entry in entries}
    if settings.knowledge_base is not None:
        return _only(settings.at(settings.knowledge_base.file), settings)
    return {} if settings.sources else _only(settings.at(KnowledgeBaseSettings().file), settings)


def knowledge_base_file(settings: Settings, source: str | None = None) -> KnowledgeBaseFile:
    """The knowledge base that a turn with `settings` searches.

    Args:
        settings: from `load_settings`.
        source: the name of the source, needed when there are several knowledge bases.

    Raises:
        ConfigurationError: there is no such knowledge base, or several and no `source`.
    """
    files = knowledge_base_files(settings)
    known = ", ".join(files) or "none"
    if source is not None and source not in files:
        raise ConfigurationError([Problem("", f"there is no knowledge base '{source}' to fill; known: {known}")])
    if not files:
        raise ConfigurationError(
            [Problem("knowledge_base", "the sources are no knowledge bases, so there is nothing to fill")]
        )
    if source is None and len(files) > 1:
        raise ConfigurationError([Problem("sources", f"name the knowledge base to fill with --source: {known}")])
    return files[source or next(iter(files))]


def weaviate_place(settings: Settings, number: int | None = None) -> BasePlace | None:
    """Where the base is in Weaviate; None for an embedded one.

    Args:
        settings: from `load_settings`.
        number: of the entry of `sources:`; None for the base that has no entry. An entry with a `path` is embedded
            whatever the back end.

    Raises:
        ConfigurationError: an entry that stands beside others does not say which collections are its own.
    """
    base = settings.knowledge_base
    if base is None or base.backend != "weaviate":
        return None
    from groundgraph.sources.weaviate_base.place import BasePlace

    if number is None:
        return BasePlace.of(base.weaviate)
    entries = [entry for entry in settings.sources if entry.type in KNOWLEDGE_BASES and not entry.options.get("path")]
    own = settings.sources[number].options
    if own.get("path"):
        return None
    if len(entries) > 1 and not own.get("prefix"):
        message = "is missing: of several knowledge bases in Weaviate each needs collections of its own"
        raise ConfigurationError([Problem(f"sources[{number}].prefix", message)])
    return BasePlace.of(base.weaviate, str(own.get("prefix") or ""))


def _only(path: Path, settings: Settings) -> dict[str, KnowledgeBaseFile]:
    return {"knowledge_base": KnowledgeBaseFile("knowledge_base", path, place=weaviate_place(settings))}


def with_base_fields(options: SourceOptions, settings: Settings) -> SourceOptions:
    """`options` of an entry of `sources:` whose fields are those of the section `knowledge_base` and its own.

    Raises:
        ConfigurationError: a custom schema cannot work, or the entry's fields are none.
    """
    from groundgraph.sources.knowledge_base.options import declared_fields

    fields = {**base_fields(settings.knowledge_base or KnowledgeBaseSettings()), **declared_fields(options)}
    return replace(options, options={**options.options, "fields": fields}) if fields else options


def _of_entry(settings: Settings, number: int) -> KnowledgeBaseFile:
    from groundgraph.sources.knowledge_base.options import declared_fields
    from groundgraph.sources.knowledge_base.source import DEFAULT_PATH

    entry = settings.sources[number]
    options = SourceOptions(entry.name, entry.options, settings.base_dir, f"sources[{number}]")
    path = settings.at(Path(str(entry.options.get("path") or DEFAULT_PATH)))
    return KnowledgeBaseFile(entry.name, path, declared_fields(options), weaviate_place(settings, number))

"""The source over a knowledge base in one SQLite file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.sources.check_options import fields_by_name, is_number, unknown_names
from groundgraph.sources.contract import SourceOptions
from groundgraph.sources.knowledge_base.chained_source import DEFAULT_NAME, ChainedOptions, ChainedSource
from groundgraph.sources.knowledge_base.schema import LOCK_TIMEOUT
from groundgraph.sources.knowledge_base.searcher import FileSearcher
from groundgraph.sources.knowledge_base.topic_store import FileTopicStore

DEFAULT_PATH = Path(".groundgraph/knowledge_base.sqlite")


class KnowledgeBaseSource(ChainedSource):
    """The chunks that an ingest wrote into one SQLite file; see `ChainedSource` for the other arguments.

    Args:
        path: the SQLite file.
        lock_timeout: seconds to wait for a writer that keeps readers out.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        lock_timeout: float = LOCK_TIMEOUT,
        **options: Unpack[ChainedOptions],
    ) -> None:
        searcher = FileSearcher(Path(path), lock_timeout, options.get("name", DEFAULT_NAME))
        super().__init__(searcher, **options)
        self._topics = FileTopicStore(self, searcher.blocking)

    def topic_store(self) -> FileTopicStore:
        """The headings and vectors of the file."""
        return self._topics


# A knowledge base as an entry of `sources:`.

_OPTIONS = ("path", "fields", "description", "vector_weight")


def knowledge_base_from_options(entry: SourceOptions) -> KnowledgeBaseSource:
    """`type: knowledge_base` (or `vector_kb`) with `path`, `fields`, `description` and `vector_weight`, all optional.

    `fields` is a mapping of names to types, or a list of mappings with `name`, as for the other source types.

    Raises:
        ConfigurationError: an option is unknown or has a bad value.
    """
    path = entry.base_dir / str(entry.options.get("path") or DEFAULT_PATH)
    return KnowledgeBaseSource(path, **arguments_of(entry, _OPTIONS))


def arguments_of(entry: SourceOptions, known: Sequence[str]) -> ChainedOptions:
    """What an entry says of a base, wherever that is, as arguments of `ChainedSource`.

    Raises:
        ConfigurationError: an option is not among `known`, or has a bad value.
    """
    problems = unknown_names(entry.options, known, entry.key, "a knowledge base has no option '{name}'")
    if problems:
        raise ConfigurationError(problems)
    return ChainedOptions(
        name=entry.name,
        fields=declared_fields(entry),
        description=str(entry.options.get("description") or ""),
        embedder=entry.embedder,
        query_chains=entry.query_chains,
        vector_weight=_vector_weight(entry),
    )


def declared_fields(entry: SourceOptions) -> dict[str, dict[str, Any]]:
    """The fields that an entry declares, by name.

    Raises:
        ConfigurationError: they are neither a mapping nor a list of mappings with `name`.
    """
    fields = fields_by_name(entry.options.get("fields") or {})
    if fields is None:
        raise ConfigurationError(
            [Problem(f"{entry.key}.fields", "must map each field to its type, such as `year: {type: integer}`")]
        )
    return fields


def _vector_weight(entry: SourceOptions) -> float:
    given = entry.options.get("vector_weight", 0.5)
    if not is_number(given) or not 0 <= given <= 1:
        raise ConfigurationError([Problem(f"{entry.key}.vector_weight", f"must be from 0 to 1, not {given!r}")])
    return float(given)

"""The source type `cascade` of a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from groundgraph.core.cascade_settings import RetrieverSettings
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.lemmatizer import configured_lemmatizer
from groundgraph.core.registry import nearest
from groundgraph.core.settings_problems import message_of
from groundgraph.sources.cascade.source import DEFAULT_VECTORS, CascadeSource
from groundgraph.sources.contract import SourceOptions

OF_THE_SEARCH = tuple(RetrieverSettings.model_fields)
OPTIONS = ("path", "vectors", "description", *OF_THE_SEARCH)


def cascade_from_options(entry: SourceOptions) -> CascadeSource:
    """`type: cascade` with `path`, and optionally `vectors`, `description` and every key of the section `retriever`.

    Raises:
        ConfigurationError: an option is unknown, missing, or has a bad value; a stage lacks what it needs.
    """
    settings = search_settings(entry.options, entry.key, ignored=("path", "vectors", "description"))
    problems = []
    if settings.use_embeddings and entry.embedder is None:
        told = "needs an embedding model: name one under `embeddings`, or as `embedder_model`"
        problems.append(Problem(f"{entry.key}.use_embeddings", told))
    paths = _paths(entry.options.get("path"), f"{entry.key}.path", problems)
    vectors = entry.options.get("vectors") or DEFAULT_VECTORS
    if not isinstance(vectors, str | Path):
        problems.append(Problem(f"{entry.key}.vectors", "must be the path of a file"))
    if problems:
        raise ConfigurationError(problems)
    return CascadeSource(
        [entry.base_dir / path for path in paths],
        name=entry.name,
        embedder=entry.embedder if settings.use_embeddings else None,
        settings=settings,
        lemmatizer=configured_lemmatizer(settings.lemmatizer, settings.languages, entry.key),
        vectors=entry.base_dir / vectors,
        description=str(entry.options.get("description") or ""),
    )


def search_settings(given: Mapping[str, Any], key: str, *, ignored: Sequence[str] = ()) -> RetrieverSettings:
    """The settings of a search that `given` holds; those of the defaults for what is not there.

    Args:
        given: by the names of `RetrieverSettings`.
        key: where they stand in the configuration, for messages; may be empty.
        ignored: names that are something else.

    Raises:
        ConfigurationError: a name is unknown, or a value does not fit.
    """
    known = [*ignored, *OF_THE_SEARCH]
    prefix = f"{key}." if key else ""
    problems = [
        Problem(
            f"{prefix}{name}", f"a cascade has no option '{name}'.{nearest(str(name), known)} Known: {_list(known)}."
        )
        for name in given
        if name not in known
    ]
    settings = RetrieverSettings()
    try:
        settings = RetrieverSettings.model_validate({name: given[name] for name in given if name in OF_THE_SEARCH})
    except ValidationError as error:
        for item in error.errors():
            place = ".".join(map(str, item["loc"]))
            problems.append(Problem(f"{prefix}{place}".rstrip("."), message_of(item, item["loc"])))
    if problems:
        raise ConfigurationError(problems)
    return settings


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)


def _paths(given: Any, key: str, problems: list[Problem]) -> list[str]:
    paths = [given] if isinstance(given, str | Path) else given
    if not isinstance(paths, list) or not paths or not all(isinstance(path, str | Path) and path for path in paths):
        problems.append(Problem(key, "is missing: name the folder or the files with the knowledge"))
        return []
    return [str(path) for path in paths]

"""Cascade sources of a configuration: the section `retriever` gives the defaults of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.graph.configured_embedder import configured_embedder, embedding_problem
from groundgraph.models.chat_model import ModelProblem
from groundgraph.settings.settings import EmbeddingSettings, Settings
from groundgraph.sources.contract import SourceOptions


def with_retriever_defaults(entry: SourceOptions, settings: Settings, *, passed: bool = False) -> SourceOptions:
    """`entry` of `sources:` with the section `retriever` behind its own options, and with its embedding model.

    Args:
        entry: its `embedder` is that of the configuration, or the one that was passed in.
        settings: from `load_settings`.
        passed: whether an embedding model was passed in, which then stands in place of every other.

    Raises:
        ConfigurationError: the embedding model cannot be built.
    """
    shared = settings.retriever.model_dump()
    own = {name: value for name, value in entry.options.items() if value is not None}
    options: dict[str, Any] = {**shared, **own}
    if isinstance(own.get("thresholds"), Mapping):
        options["thresholds"] = {**shared["thresholds"], **own["thresholds"]}
    model = options["embedder_model"]
    if options["use_embeddings"] is True and model is not None and not passed:
        return replace(entry, options=options, embedder=_embedder(model, settings, _model_key(entry)))
    return replace(entry, options=options)


def cascade_model_problems(settings: Settings) -> dict[str, ModelProblem]:
    """Why the embedding models of cascade sources cannot be built, by key; a model may also come from Python."""
    found: dict[str, ModelProblem] = {}
    for number, entry in enumerate(settings.sources):
        if entry.type != "cascade":
            continue
        plain = SourceOptions(entry.name, entry.options, settings.base_dir, f"sources[{number}]")
        options = with_retriever_defaults(plain, settings, passed=True).options
        if options["use_embeddings"] is not True:
            continue
        model, key = options["embedder_model"], _model_key(plain)
        if model is None and settings.embedding_model is None:
            told = "needs an embedding model: name one under `embeddings`, or pass one"
            found[f"{plain.key}.use_embeddings"] = ModelProblem(told, of_this_machine=True)
        elif model is not None:
            try:
                problem = embedding_problem(_section(model, key), key)
            except ConfigurationError as error:
                problem = ModelProblem(error.problems[0].message, of_this_machine=False)
            if problem is not None:
                found[key] = problem
    return found


def _model_key(entry: SourceOptions) -> str:
    """Where the model of an entry stands."""
    return f"{entry.key if entry.options.get('embedder_model') is not None else 'retriever'}.embedder_model"


def _section(model: Any, key: str) -> EmbeddingSettings:
    try:
        return EmbeddingSettings.model_validate({"model": model} if isinstance(model, str) else model)
    except ValidationError as error:
        problems = [Problem(".".join(map(str, (key, *item["loc"]))), item["msg"]) for item in error.errors()]
        raise ConfigurationError(problems) from None


def _embedder(model: Any, settings: Settings, key: str) -> Embedder | None:
    """The embedding model that `embedder_model` names."""
    own = settings.model_copy(update={"embeddings": _section(model, key), "knowledge_base": None})
    try:
        return configured_embedder(own)
    except ConfigurationError as error:
        raise ConfigurationError([replace(problem, key=key) for problem in error.problems]) from None

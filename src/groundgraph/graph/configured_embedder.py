"""The embedding model that the settings name, or that Python passes in."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from langchain_core.embeddings import Embeddings
from pydantic import ValidationError
from typing_extensions import override

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.models.chat_model import ModelProblem, explained
from groundgraph.models.local_model import LocalEmbeddings, folder_problem
from groundgraph.settings.services import FASTEMBED, EmbeddingSettings
from groundgraph.settings.settings import Settings
from groundgraph.tracing.tracing import traced_embedder

# Providers whose models run in this process: building one reads it from disk, or even from the network.
_LOCAL = {"huggingface": "langchain_huggingface", FASTEMBED: FASTEMBED}


def configured_embedder(settings: Settings, passed: Embeddings | Embedder | str | None = None) -> Embedder | None:
    """The embedding model of a knowledge base: `passed`, itself or by its name "provider:model", or that of the
    settings; None without either.

    Languages and batch size of the section `embeddings` hold for a model that is passed in as well. A model that runs
    in this process is read on first use.

    Raises:
        ConfigurationError: it cannot be built; the message names the missing package or variable.
    """
    return traced_embedder(_chosen(settings, passed), settings.tracing)


def _chosen(settings: Settings, passed: Embeddings | Embedder | str | None) -> Embedder | None:
    section, key = settings.embedding_model, embedding_key(settings)
    if isinstance(passed, Embedder):
        return passed
    if isinstance(passed, str):
        kept = section.model_dump(include={"languages", "batch_size"}) if section else {}
        section, key = EmbeddingSettings(model=passed, **kept), "embeddings"
    elif passed is not None:
        return _embedder(passed, _own_name(passed, section), section)
    if section is None:
        return None
    if section.folder is not None:
        section = section.model_copy(update={"folder": settings.at(section.folder)})
    problem = embedding_problem(section, key) if _is_local(section) else None
    if problem:
        raise ConfigurationError([Problem(key, problem.message)])
    if _is_local(section):
        return _embedder(_ReadOnFirstUse(section), section.full_name, section)
    try:
        return _embedder(_built(section), section.full_name, section)
    except Exception as error:  # a missing package or key is reported by errors of the SDKs' own
        # Without the cause, which may quote a key.
        raise ConfigurationError([Problem(key, _explained(error, section, key).message)]) from None


def embedding_key(settings: Settings) -> str:
    """Where the embedding model stands in the settings."""
    own = settings.knowledge_base is not None and settings.knowledge_base.embeddings is not None
    return "knowledge_base.embeddings" if own else "embeddings"


def embedding_problem(section: EmbeddingSettings | None, key: str) -> ModelProblem | None:
    """Why the model of `section` cannot be built, None when it can; a local model is not read for that."""
    if section is None:
        return None
    if _is_local(section):
        package = _LOCAL[section.provider_name]
        if find_spec(package):
            told = folder_problem(section.folder) if section.folder else ""
            return ModelProblem(told, of_this_machine=True) if told else None
        return _explained(ImportError(f"pip install {package.replace('_', '-')}"), section, key)
    try:
        _built(section)
    except Exception as error:
        return _explained(error, section, key)
    return None


def _is_local(section: EmbeddingSettings) -> bool:
    return section.provider_name in _LOCAL


def _embedder(model: Embeddings, name: str, section: EmbeddingSettings | None) -> Embedder:
    if section is None:
        return Embedder(model, name)
    return Embedder(model, name, frozenset(section.languages), section.batch_size)


def _own_name(model: Embeddings, section: EmbeddingSettings | None) -> str:
    """The name that a knowledge base remembers `model` by: that of the settings when both are the same model."""
    named = next((str(name) for name in (getattr(model, key, None) for key in ("model", "model_name")) if name), "")
    if section is not None and named and named == section.full_name.partition(":")[2]:
        return section.full_name
    return f"{type(model).__name__}:{named}" if named else type(model).__name__


def _built(section: EmbeddingSettings) -> Embeddings:
    options = dict(section.model_extra or {})
    if section.provider_name == FASTEMBED:
        return LocalEmbeddings(section.full_name.partition(":")[2], section.folder, options)
    from langchain.embeddings import init_embeddings

    try:
        # One layer retries, and it is not the SDK's.
        return init_embeddings(section.model, provider=section.provider, **{"max_retries": 0, **options})
    except (ValidationError, TypeError) as error:
        if "max_retries" in options or "max_retries" not in str(error):
            raise
        # A provider whose SDK has no such switch.
        return init_embeddings(section.model, provider=section.provider, **options)


def _explained(error: Exception, section: EmbeddingSettings, key: str) -> ModelProblem:
    text = str(error)
    if isinstance(error, ValueError) and ("Must specify" in text or "Invalid model format" in text):
        return ModelProblem("name the `provider`, or write the model as provider:model", of_this_machine=False)
    if isinstance(error, ValueError) and "is not supported" in text:
        from langchain.embeddings.base import _BUILTIN_PROVIDERS

        known = [*_BUILTIN_PROVIDERS, FASTEMBED]
        told = f"there is no provider of embeddings '{section.provider_name}'.{nearest(section.provider_name, known)}"
        return ModelProblem(f"{told} Known: {', '.join(known)}.", of_this_machine=False)
    return explained(error, section, key)


@dataclass
class _ReadOnFirstUse(Embeddings):
    """A model that is built when the first text is embedded, in the thread that embeds it."""

    section: EmbeddingSettings
    _model: Embeddings | None = None
    _building: Any = field(default_factory=threading.Lock)

    @override
    def embed_query(self, text: str) -> list[float]:
        return self._ready().embed_query(text)

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._ready().embed_documents(texts)

    def _ready(self) -> Embeddings:
        with self._building:
            if self._model is None:
                self._model = _built(self.section)
            return self._model

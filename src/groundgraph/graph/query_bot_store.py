"""The kinds of document stores that a query bot takes: how each is searched, and how it is added to (Q1)."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from groundgraph.core.document import Document
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.settings import IntentSettings, RetrievalSettings, Settings
from groundgraph.graph.knowledge_base import KnowledgeBase
from groundgraph.graph.knowledge_base_files import KNOWLEDGE_BASES, knowledge_base_files
from groundgraph.graph.parts import Models
from groundgraph.graph.query_bot_source import BotSource, Part, bot_source
from groundgraph.graph.resources import Resources
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.document_store import DocumentStoreSource, call_store, text_id

Append = Callable[[str], Awaitable[Any]]


@dataclass(frozen=True)
class BotStore:
    """A document store of a bot.

    Attributes:
        source: how it is searched.
        append: how a text is added; None when it cannot be added to.
        owned: the source was made here, so the bot closes it.
    """

    source: BotSource
    append: Append | None
    owned: bool


def bot_store(store: Any, part: Part, models: Models) -> BotStore:
    """`store` as the bot uses it.

    Args:
        store: an object with `retrieve(query, n_results)` and `append(text)`, a `KnowledgeBase`, a `GroundedSource`, or
            a vector store of LangChain's.
        part: which of the bot's stores it is.
        models: for the query chains of a knowledge base.

    Raises:
        ConfigurationError: it is none of these.
    """
    if isinstance(store, KnowledgeBase):
        inner = _base_source(store, models)
        return BotStore(bot_source(inner, part, name=part.name), _base_append(store, part.name), owned=True)
    if isinstance(store, GroundedSource):
        return BotStore(bot_source(store, part), _own_append(store), owned=False)
    if _is_vector_store(store):
        from groundgraph.sources.langchain_adapter import LangChainSource

        source = LangChainSource(store, name=part.name)
        return BotStore(bot_source(source, part), lambda text: store.aadd_texts([text]), owned=True)
    if callable(getattr(store, "retrieve", None)):
        return BotStore(bot_source(DocumentStoreSource(store, name=part.name), part), _own_append(store), owned=True)
    kinds = "an object with retrieve(query, n_results), a KnowledgeBase, a GroundedSource or a LangChain VectorStore"
    raise ConfigurationError([Problem(part.name, f"a {type(store).__name__} cannot be searched; pass {kinds}")])


def _is_vector_store(store: Any) -> bool:
    # Who has one has loaded its base class already.
    module = sys.modules.get("langchain_core.vectorstores") or sys.modules.get("langchain_core.vectorstores.base")
    return module is not None and isinstance(store, module.VectorStore)


def _own_append(store: Any) -> Append | None:
    method = getattr(store, "append", None)
    return (lambda text: call_store(method, text)) if callable(method) else None


def _base_append(base: KnowledgeBase, folder: str) -> Append:
    async def append(text: str) -> None:
        # Named by its text, so that the same text is there once.
        await base.aadd_documents([Document(f"{folder}/{text_id(text)}", text)])

    return append


def _base_source(base: KnowledgeBase, models: Models) -> GroundedSource:
    """What searches `base`, with its query chains, vectors and topic index.

    Args:
        base: it.
        models: for query chains that call one; those of the base's own settings when absent. The embedding model is
            that of the base.

    Raises:
        ConfigurationError: its settings cannot work for a search.
    """
    settings, name = base.resources.settings, _name(base)
    with_its_own = Models(**models)
    with_its_own["embeddings"] = base.resources.embedder
    resources = Resources.build(_alone(settings, name), **with_its_own)
    return resources.sources[name]


def _name(base: KnowledgeBase) -> str:
    """The name of the source in the base's own settings; of several, that over its file."""
    files = knowledge_base_files(base.resources.settings)
    same = [name for name, one in files.items() if one.path == base.resources.store.path]
    return (same or list(files))[0]


def _alone(settings: Settings, name: str) -> Settings:
    """`settings` with this source alone, and without what they say about turns."""
    entries = [entry for entry in settings.sources if entry.type in KNOWLEDGE_BASES and entry.name == name]
    plain = {"intent": IntentSettings(), "retrieval": RetrievalSettings()}
    return settings.model_copy(update={**plain, "sources": entries})

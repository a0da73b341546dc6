"""What a query bot searches: the kinds of document stores that it takes, as sources with spans."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from typing_extensions import override

from groundgraph.core.characters import clean_text
from groundgraph.core.document import Document
from groundgraph.core.errors import ConfigurationError, Problem, SourceContractBroken
from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.core.intent import RetrievalIntent
from groundgraph.graph.knowledge_base import KnowledgeBase, base_source
from groundgraph.graph.parts import Models
from groundgraph.resilience.blocking import run_blocking
from groundgraph.sources.contract import DelegatingSource, GroundedSource, NamedSource, joins
from groundgraph.tracing.tracing import on_run, span

if TYPE_CHECKING:
    from groundgraph.tracing.span import Attribute


# An object with `retrieve` and `append` as a source: the document stores of query bots.


@runtime_checkable
class DocumentStore(Protocol):
    """Texts that can be searched and added to. Both methods may be coroutine functions."""

    def retrieve(self, query: str, n_results: int, /) -> Any:
        """At most `n_results` texts for `query`, the best first.

        A text may also be a document of LangChain's, or a `SourceResult`, to have an id and metadata.
        """

    def append(self, text: str, /) -> Any:
        """Add `text`."""


async def call_store(method: Callable[..., Any], *arguments: Any) -> Any:
    """What `method` gives; one that blocks runs in a thread of its own, beside the event loop."""
    if inspect.iscoroutinefunction(method):
        return await method(*arguments)
    given = await run_blocking(method, *arguments)
    # A decorated coroutine function looks plain; calling it only made the coroutine, which is awaited here.
    return await given if isinstance(given, Awaitable) else given


class DocumentStoreSource(NamedSource):
    """Searches a document store, whose order is kept and whose texts all count as relevant.

    Args:
        store: it.
        name: the name of the source.
    """

    _source_type = "document_store"

    def __init__(self, store: DocumentStore, *, name: str) -> None:
        self._store = store
        self._name = name

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """See `GroundedSource.query`; a text that is there twice is one result, at its first place.

        Raises:
            SourceContractBroken: the store gave no list of texts.
        """
        found: dict[tuple[str, str], SourceResult] = {}
        for text in intent.text_queries:
            given = await call_store(self._store.retrieve, text, top_k)
            for result in [self._to_result(item) for item in _listed(given)][:top_k]:
                if result.relevance >= score_threshold:
                    found.setdefault(result.passage, result)
        return list(found.values())

    def _to_result(self, item: Any) -> SourceResult:
        if isinstance(item, SourceResult):
            return replace(item, source_name=self._name, source_type=self.source_type)
        text = item if isinstance(item, str) else getattr(item, "page_content", None)
        if not isinstance(text, str):
            raise SourceContractBroken(
                f"retrieve() gave a {type(item).__name__}, which is neither a text nor a document"
            )
        text = clean_text(text)
        own = getattr(item, "id", None) or text_id(text)
        return SourceResult(text, str(own), self._name, self.source_type, metadata=jsonable(_metadata(item)))


def text_id(text: str) -> str:
    """The id of a text that has none: the first 16 characters of its hash."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _metadata(item: Any) -> dict[str, Any]:
    given = getattr(item, "metadata", None)
    return dict(given) if isinstance(given, dict) else {}


def _listed(given: Any) -> Sequence[Any]:
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__"):
        raise SourceContractBroken(f"retrieve() gave a {type(given).__name__} instead of a list of texts")
    return list(given)


@dataclass(frozen=True)
class Part:
    """One of the two stores of a bot.

    Attributes:
        name: of its source, where the store brings none.
        span: the name of the span around a search.
        count: the attribute that says on that span how many results there were.
        total: the same on the span of the whole turn.
    """

    name: str
    span: str
    count: str
    total: str


DOCSTORE = Part("docstore", "retrieval", "documents_found", "docstore_results")
MEMORY = Part("memory", "memory_retrieval", "memory_results", "memory_results")


class BotSource(DelegatingSource):
    """`inner` under `name`, each search in the span of `part`.

    Args:
        inner: what is searched.
        part: which of the bot's stores it is.
        name: of this source; that of the inner one when absent.
    """

    def __init__(self, inner: GroundedSource, part: Part, *, name: str | None = None) -> None:
        super().__init__(inner)
        self._part = part
        self._name = name or inner.name

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name given at construction."""
        return self._name

    @override
    async def categories(self, filters: Mapping[str, Any] | None = None) -> dict[str, str]:
        return await self.inner.categories(filters)

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """What the inner source answers; its filters are those for this name."""
        own = intent.filters.get(self._name)
        inner = replace(intent, filters={self.inner.name: own} if own else {})
        asked: dict[str, Attribute] = {"n_results": top_k}
        with span(self._part.span, "RETRIEVER", asked) as opened:
            results = await super().query(inner, top_k=top_k, score_threshold=score_threshold)
            opened.set({self._part.count: len(results)})
            on_run({self._part.total: len(results)})
        return results


class JoiningBotSource(BotSource):
    """A `BotSource` over one that can tell what stands between two neighbours, as a knowledge base can."""

    @override
    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        return await self.inner.texts_between(pairs)


def bot_source(inner: GroundedSource, part: Part, *, name: str | None = None) -> BotSource:
    """The `BotSource` over `inner`."""
    return (JoiningBotSource if joins(inner) else BotSource)(inner, part, name=name)


# The kinds of document stores that a query bot takes: how each is searched, and how it is added to.

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
        inner = base_source(store.resources, models)
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

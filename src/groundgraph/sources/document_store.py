"""An object with `retrieve` and `append` as a source: the document stores of query bots."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from groundgraph.core.blocking import run_blocking
from groundgraph.core.clean_text import clean_text
from groundgraph.core.errors import SourceContractBroken
from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.contract import GroundedSource


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


class DocumentStoreSource(GroundedSource):
    """Searches a document store, whose order is kept and whose texts all count as relevant.

    Args:
        store: it.
        name: the name of the source.
    """

    def __init__(self, store: DocumentStore, *, name: str) -> None:
        self._store = store
        self._name = name

    @property
    def name(self) -> str:
        """The name given at construction."""
        return self._name

    @property
    def source_type(self) -> str:
        """Always `document_store`."""
        return "document_store"

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

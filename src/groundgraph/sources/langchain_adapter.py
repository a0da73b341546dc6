"""Any LangChain vector store or retriever as a source, those of langchain-community among them.

Importing this module loads no LangChain.
"""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import ValidationError

from groundgraph.core.errors import ConfigurationError, Problem, refuse_any
from groundgraph.core.evidence import SourceResult, evidence_key, jsonable, to_record
from groundgraph.core.filters import check_filters, matches
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.core.secret_mask import know_secrets, mask
from groundgraph.resilience.blocking import run_blocking
from groundgraph.sources.check_options import MAPPING, TEXT, declared_fields, unknown_names, wrong_values
from groundgraph.sources.contract import NamedSource, SourceOptions

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore

# What the scores of a vector store are. `store`: it makes them a relevance itself.
Scores = Literal["store", "similarity", "distance", "none"]
_SCALES: Mapping[str, Callable[[float], float]] = {
    "similarity": lambda score: score,
    "distance": lambda score: 1 / (1 + max(score, 0.0)),
}


@dataclass(frozen=True)
class Hit:
    """A document that was found.

    Attributes:
        document: it.
        relevance: 0 to 1.
        measured: whether the relevance is how near a vector store measured it.
    """

    document: Document
    relevance: float = 1.0
    measured: bool = False


class Search(Protocol):
    """One way to ask. `can_grow` tells whether asking for more gives more."""

    can_grow: bool

    async def __call__(self, text: str, k: int, native: Mapping[str, Any]) -> list[Hit]:
        """At most `k` documents for `text`, the best first; `native` are further arguments of the search."""


def as_relevance(score: Any) -> float:
    """`score` as a relevance: cut to 0 to 1; what is no number counts as 0."""
    try:
        value = float(score)
    except (TypeError, ValueError):
        return 0.0
    # max(0.0, nan) is 0.0.
    return min(1.0, max(0.0, value))


class VectorStoreSearch:
    """Asks a vector store.

    Args:
        store: it.
        scores: what its scores are, or a function that makes a relevance of one.
        source: the name of the source, for messages.
    """

    can_grow = True

    def __init__(self, store: VectorStore, scores: Scores | Callable[[float], float], source: str) -> None:
        self._store = store
        self._scores: str | Callable[[float], float] = scores
        self._source = source
        # Cosines below 0 are no mistake, and are cut to 0 here.
        warnings.filterwarnings("ignore", message="Relevance scores must be between", category=UserWarning)

    async def __call__(self, text: str, k: int, native: Mapping[str, Any]) -> list[Hit]:
        """See `Search`.

        Raises:
            ConfigurationError: the store makes no relevance of its scores, and `scores` does not tell what they are.
        """
        if self._scores == "none":
            return [Hit(document) for document in await self._store.asimilarity_search(text, k=k, **native)]
        scored = await self._scored(text, k, native)
        hits = [Hit(document, as_relevance(score), measured=True) for document, score in scored]
        return sorted(hits, key=lambda hit: -hit.relevance)

    async def _scored(self, text: str, k: int, native: Mapping[str, Any]) -> list[tuple[Document, float]]:
        scale = _SCALES.get(self._scores) if isinstance(self._scores, str) else self._scores
        if scale is None:
            try:
                return await self._store.asimilarity_search_with_relevance_scores(text, k=k, **native)
            except NotImplementedError:
                scale = self._known_scale()
        found = await self._store.asimilarity_search_with_score(text, k=k, **native)
        return [(document, scale(float(score))) for document, score in found]

    def _known_scale(self) -> Callable[[float], float]:
        from langchain_core.vectorstores import InMemoryVectorStore

        if isinstance(self._store, InMemoryVectorStore):
            return _SCALES["similarity"]
        kind = type(self._store).__name__
        raise ConfigurationError(
            [
                Problem(
                    f"{self._source}.scores",
                    f"a {kind} does not tell what its scores mean. Say `similarity` when more is nearer, `distance` "
                    "when less is nearer, or `none` to take every result as relevant.",
                )
            ]
        )


class RetrieverSearch:
    """Asks a retriever, which gives no scores: every result counts as relevant unless its metadata hold a score.

    What `as_retriever()` makes of a vector store has the scores of that store behind it, which are used where the store
    tells what they mean.

    Args:
        retriever: it.
        score_field: the metadata field with the score, 0 to 1; a result without one counts as 0.
    """

    def __init__(self, retriever: BaseRetriever, score_field: str | None = None) -> None:
        from langchain_core.vectorstores import VectorStoreRetriever

        self._retriever = retriever
        self._score_field = score_field
        self._takes_k = isinstance(retriever, VectorStoreRetriever)
        self._has_k = "k" in type(retriever).model_fields
        self.can_grow = self._takes_k or self._has_k
        self._store: VectorStoreSearch | None = None
        if type(retriever) is VectorStoreRetriever and retriever.search_type == "similarity" and score_field is None:
            self._store = VectorStoreSearch(retriever.vectorstore, "store", "")
            self._fixed = {name: value for name, value in retriever.search_kwargs.items() if name != "k"}

    async def __call__(self, text: str, k: int, native: Mapping[str, Any]) -> list[Hit]:
        """See `Search`."""
        if self._store is not None:
            try:
                return await self._store(text, k, {**self._fixed, **native})
            except ConfigurationError:
                self._store = None
        # A copy, since other questions are asked at the same time.
        retriever = self._retriever.model_copy(update={"k": k}) if self._has_k else self._retriever
        arguments: dict[str, Any] = {**({"k": k} if self._takes_k else {}), **native}
        found = await retriever.ainvoke(text, **arguments)
        hits = [Hit(document) for document in found]
        if self._score_field is None:
            return hits
        return sorted((self._with_score(hit, self._score_field) for hit in hits), key=lambda hit: -hit.relevance)

    def _with_score(self, hit: Hit, field: str) -> Hit:
        return replace(hit, relevance=as_relevance(hit.document.metadata.get(field)))


# The source.

# The most documents that are asked for to find `top_k` of them that satisfy the filters.
MAX_ASKED_FOR = 1000
_FIRST_WITH_FILTERS = 50
# Documents that are looked at to learn which metadata fields there are.
_SAMPLE = 20

NativeFilter = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class LangChainSource(NamedSource):
    """A LangChain vector store or retriever.

    Filters need a `schema`, since LangChain has none. Each result is checked against them here, whatever the store
    does; a result without the field does not satisfy a condition. When too few of the nearest satisfy them, more are
    asked for, up to 1000; a filter that keeps less than that needs `native_filter` to find all that there is.

    Args:
        retriever_or_vector_store: what to ask, or a function that makes it when it is needed first.
        name: the name of the source.
        schema: the metadata fields that filters may name.
        id_field: the metadata field that identifies a result, with a value of its own for each. Without it, that is
            the document's `id`, else a hash of its text and metadata.
        rename: our names of metadata fields by theirs, for example `{"source": "url", "heading": "section"}`.
        scores: what the scores of a vector store mean. `store`: it makes a relevance of them, as most do (an
            `InMemoryVectorStore` has cosines); `similarity`: more is nearer, cut to 0 to 1; `distance`: less is
            nearer, relevance 1 / (1 + distance); `none`: relevance 1.0; or a function of the score.
        score_field: the metadata field in which a retriever leaves a score from 0 to 1; without it the relevance of
            all its results is 1.0, so that no `score_threshold` drops them.
        native_filter: turns checked conditions into further arguments of the search, for example
            `lambda conditions: {"filter": dict(conditions)}`.

    Raises:
        ConfigurationError: the object is neither, or an argument does not fit it.
    """

    def __init__(
        self,
        retriever_or_vector_store: BaseRetriever | VectorStore | Callable[[], BaseRetriever | VectorStore],
        *,
        name: str,
        schema: SourceSchema | None = None,
        id_field: str | None = None,
        rename: Mapping[str, str] | None = None,
        scores: Scores | Callable[[float], float] = "store",
        score_field: str | None = None,
        native_filter: NativeFilter | None = None,
        source_type: str = "langchain",
    ) -> None:
        self._name = name
        self._source_type = source_type
        self._schema = schema
        self._id_field = id_field
        self._rename = dict(rename or {})
        self._scores = scores
        self._score_field = score_field
        self._native_filter = native_filter or _no_filter
        self._make: Callable[[], Any] | None = None
        self._search: Search | None = None
        self._guard = threading.Lock()
        self._seen: set[str] = set()
        if callable(retriever_or_vector_store):
            self._make = retriever_or_vector_store
        else:
            self._search = self._search_of(retriever_or_vector_store)

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """See `GroundedSource.query`; what several text queries find keeps its best relevance.

        Raises:
            FilterInvalid: a filter names a field or value that is not declared.
            ConfigurationError: the object cannot be made, or `scores` has to be told.
        """
        conditions = check_filters(self._schema, intent.filters.get(self._name, {}), source=self._name)
        found: dict[tuple[str, str], SourceResult] = {}
        for text in filter(str.strip, intent.text_queries):
            for result in await self._results(text, conditions, top_k, score_threshold):
                known = found.get(result.passage)
                if known is None or known.relevance < result.relevance:
                    found[result.passage] = result
        return sorted(found.values(), key=lambda result: -result.relevance)

    async def metadata_fields(self) -> set[str]:
        """The declared fields, and those of the results so far; of a first sample when there were none.

        LangChain has no way to list the fields, so one search is made for the sample.
        """
        if not self._seen:
            search = await self._opened()
            self._to_results(await search(self._name, _SAMPLE, {}))
        return self._seen | set(self._schema.fields if self._schema else ())

    async def _results(
        self, text: str, conditions: Mapping[str, Any], top_k: int, threshold: float
    ) -> list[SourceResult]:
        search = await self._opened()
        native = self._native_filter(conditions) if conditions else {}
        kept: list[SourceResult] = []
        for wanted in _asked_for(top_k, filtered=bool(conditions), can_grow=search.can_grow):
            hits = await search(text, wanted, native)
            kept = _distinct([result for result in self._to_results(hits) if matches(conditions, result.metadata)])
            if len(kept) >= top_k or len(hits) < wanted or hits[-1].relevance < threshold:
                break
        return [result for result in kept[:top_k] if result.relevance >= threshold]

    def _to_results(self, hits: Sequence[Hit]) -> list[SourceResult]:
        results = [self._to_result(hit) for hit in hits]
        self._seen.update(name for result in results for name in result.metadata)
        return results

    def _to_result(self, hit: Hit) -> SourceResult:
        document = hit.document
        # A score belongs to the question and not to the evidence, which is stored once.
        given = {name: value for name, value in document.metadata.items() if name != self._score_field}
        renamed = {ours: given[theirs] for theirs, ours in self._rename.items() if theirs in given}
        metadata = jsonable({**given, **renamed})
        own = metadata.get(self._id_field) if self._id_field else None
        found = SourceResult(
            content=document.page_content,
            source_id=str(document.id or "") if own is None else str(own),
            source_name=self._name,
            source_type=self._source_type,
            relevance=hit.relevance,
            metadata=metadata,
            scores={"vector": hit.relevance} if hit.measured else {},
        )
        return found if found.source_id else replace(found, source_id=evidence_key(to_record(found)))

    async def _opened(self) -> Search:
        return await run_blocking(self._open) if self._search is None else self._search

    def _open(self) -> Search:
        with self._guard:
            if self._search is None and self._make is not None:
                self._search = self._search_of(self._make())
            assert self._search is not None
            return self._search

    def _search_of(self, target: Any) -> Search:
        from langchain_core.retrievers import BaseRetriever
        from langchain_core.vectorstores import VectorStore

        if isinstance(target, VectorStore):
            self._refuse("score_field", self._score_field, "belongs to a retriever; a vector store has `scores`")
            return VectorStoreSearch(target, self._scores, self._name)
        if isinstance(target, BaseRetriever):
            given = None if self._scores == "store" else self._scores
            self._refuse("scores", given, "belongs to a vector store; a retriever has `score_field`")
            return RetrieverSearch(target, self._score_field)
        kind = type(target).__name__
        raise ConfigurationError([Problem(self._name, f"a {kind} is neither a BaseRetriever nor a VectorStore")])

    def _refuse(self, argument: str, value: Any, message: str) -> None:
        if value is not None:
            raise ConfigurationError([Problem(f"{self._name}.{argument}", message)])


def _no_filter(_conditions: Mapping[str, Any]) -> Mapping[str, Any]:
    return {}


def _asked_for(top_k: int, *, filtered: bool, can_grow: bool) -> Iterator[int]:
    """How many to ask for, and how many next where too few of those are kept."""
    if not can_grow:
        yield top_k
        return
    wanted = max(top_k, _FIRST_WITH_FILTERS) if filtered else top_k
    yield wanted
    while wanted < MAX_ASKED_FOR:
        wanted = min(4 * wanted, MAX_ASKED_FOR)
        yield wanted


def _distinct(results: list[SourceResult]) -> list[SourceResult]:
    """The first of each passage, those without text last: whoever asked counts them, where there is room."""
    first: dict[tuple[str, str], SourceResult] = {}
    for result in results:
        first.setdefault(result.passage, result)
    return sorted(first.values(), key=lambda result: not result.content.strip())


# The source type `langchain` of a configuration.

_KINDS = {
    **dict.fromkeys(("class", "description", "id_field", "scores", "score_field"), TEXT),
    **dict.fromkeys(("options", "schema", "rename"), MAPPING),
}
_SCORES = ("store", "similarity", "distance", "none")
# What LangChain's classes call their embedding model.
_EMBEDDINGS = ("embedding", "embeddings", "embedding_function")


def langchain_from_options(entry: SourceOptions) -> LangChainSource:
    """`type: langchain` with `class: package.module:ClassName` and the `options` that it is made with.

    `class` may also name a class method, such as `langchain_community.retrievers:TFIDFRetriever.from_texts`. An
    embedding model that it asks for is that of the configuration. The class is loaded here; the object is made with
    the first question.

    Raises:
        ConfigurationError: an option is unknown or has a bad value, the class cannot be loaded, or it does not take
            the `options`.
    """
    refuse_any(_problems(entry))
    given = entry.options
    maker = _loaded(str(given["class"]), f"{entry.key}.class")
    options = _with_embeddings(maker, dict(given.get("options") or {}), entry)
    return LangChainSource(
        partial(_make, maker, options, f"{entry.key}.options"),
        name=entry.name,
        schema=_schema(entry),
        id_field=given.get("id_field"),
        rename=given.get("rename"),
        scores=given.get("scores") or "store",
        score_field=given.get("score_field"),
    )


def _problems(entry: SourceOptions) -> list[Problem]:
    problems = [
        *unknown_names(entry.options, list(_KINDS), entry.key, "a LangChain source has no option '{name}'"),
        *wrong_values(entry.options, _KINDS, entry.key),
    ]
    scores = entry.options.get("scores")
    if isinstance(scores, str) and scores not in _SCORES:
        hint = nearest(scores, list(_SCORES))
        problems.append(Problem(f"{entry.key}.scores", f"'{scores}' is unknown.{hint} Known: {', '.join(_SCORES)}."))
    if not entry.options.get("class"):
        problems.append(Problem(f"{entry.key}.class", "is missing: what to ask, as package.module:ClassName"))
    return problems


def _schema(entry: SourceOptions) -> SourceSchema | None:
    schema = entry.options.get("schema")
    if schema is None:
        return None
    fields, required = declared_fields(schema, f"{entry.key}.schema")
    return SourceSchema(entry.name, fields, required, str(entry.options.get("description") or ""))


def _loaded(named: str, key: str) -> Callable[..., Any]:
    """The class or class method called `named`."""
    module_name, _, path = named.partition(":")
    if not module_name or not path:
        raise ConfigurationError([Problem(key, f"'{named}' must have the form package.module:ClassName")])
    try:
        with warnings.catch_warnings():
            # It warns of its own end; what else it offers goes on working.
            warnings.filterwarnings("ignore", message=".*langchain-community.*", category=DeprecationWarning)
            found: Any = attrgetter(path)(import_module(module_name))
    except (ImportError, AttributeError) as error:
        message = f"'{named}' cannot be loaded ({error}). Is it spelled right, and what it names installed here?"
        raise ConfigurationError([Problem(key, message)]) from error
    if not callable(found) or not _makes_a_source(found):
        raise ConfigurationError([Problem(key, f"'{named}' is no BaseRetriever or VectorStore, nor a way to make one")])
    return found  # type: ignore[no-any-return]


def _makes_a_source(maker: Any) -> bool:
    """Whether `maker` is such a class or a method of one; what another function makes shows when it is called."""
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore

    owner = maker if isinstance(maker, type) else getattr(maker, "__self__", None)
    return not isinstance(owner, type) or issubclass(owner, BaseRetriever | VectorStore)


def _with_embeddings(maker: Callable[..., Any], options: dict[str, Any], entry: SourceOptions) -> dict[str, Any]:
    """`options` with the embedding model, once they fit what `maker` takes."""
    signature = inspect.signature(maker)
    for name in _EMBEDDINGS:
        parameter = signature.parameters.get(name)
        if parameter is None or name in options:
            continue
        if entry.embedder is not None:
            options[name] = entry.embedder.model
        elif parameter.default is inspect.Parameter.empty:
            message = "needs an embedding model: name one under `embeddings`"
            raise ConfigurationError([Problem(f"{entry.key}.class", message)])
    try:
        signature.bind(**options)
    except TypeError as error:
        takes = ", ".join(name for name in signature.parameters if name not in _EMBEDDINGS)
        raise ConfigurationError([Problem(f"{entry.key}.options", f"{error}; it takes {takes}")]) from error
    return options


def _make(maker: Callable[..., Any], options: dict[str, Any], key: str) -> Any:
    """What `maker` makes of `options`; its errors become ours, without secrets."""

    know_secrets(options)
    try:
        return maker(**options)
    except ValidationError as error:
        # Its own text quotes the values.
        text = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
    except Exception as error:
        text = mask(f"{type(error).__name__}: {error}")
    raise ConfigurationError([Problem(key, f"{getattr(maker, '__qualname__', maker)} does not take them ({text})")])

"""What judges and what groups results: the rerankers and the ways of clustering that the settings name."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import SecretStr, ValidationError

from groundgraph.answers.clustering import ClusterMethod, EmbeddingSimilarity, Similarities, TermOverlap, TfIdf
from groundgraph.answers.strategy_chain import Judged, Rerank, Unusable, by_scores, identity
from groundgraph.core.chain import Reranker
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, Problem, RerankerFailed, StrategyUnavailable, UnknownName
from groundgraph.core.evidence import SourceResult
from groundgraph.core.registry import nearest
from groundgraph.graph.configured_models import configured_embedder, embedding_problem
from groundgraph.ingest.builtin_chains import REGISTRIES, WITHOUT_MODEL, ChainOptions, IdentityReranker
from groundgraph.models.call_model import call_with_retries
from groundgraph.models.chat_model import EXTRAS
from groundgraph.models.local_model import LocalReranker, folder_problem
from groundgraph.prompts import Prompts
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.answers import ClusterStep, RerankStep
from groundgraph.settings.services import FASTEMBED, EmbeddingSettings
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


# Cohere's reranking service through its own SDK.

DEFAULT_MODEL = "rerank-v3.5"
_OTHER_FORM = "Cohere's answer holds no scores"


@dataclass(frozen=True)
class CohereReranker:
    """Scores candidates with `POST /v2/rerank`.

    The SDK's own retries are off, since this class tries again: time-outs, broken connections, 429 and 5xx. A client
    lives as long as one call, because it belongs to one event loop and a graph may be run on several.

    Attributes:
        api_key: the key.
        model: the model.
        base_url: the address of the service; None for the vendor's.
        limit: seconds for a call with its retries.
        attempts: tries.
        options: further arguments of the SDK's `rerank`, such as `max_tokens_per_doc`.
    """

    api_key: SecretStr
    model: str = DEFAULT_MODEL
    base_url: str | None = None
    limit: float = 30.0
    attempts: int = 3
    options: Mapping[str, Any] = field(default_factory=dict)

    async def __call__(self, query: str, candidates: Sequence[SourceResult]) -> list[float]:
        """See `groundgraph.core.chain.Reranker`; nothing is sent for no candidates.

        Raises:
            ModelTimeout: no answer within the limit.
            ModelError: the service failed for good; the message says how.
        """
        if not candidates:
            return []
        documents = [candidate.content for candidate in candidates]
        scores, _ = await call_with_retries(
            lambda: self._scores(query, documents), limit=self.limit, attempts=self.attempts, service=self
        )
        return scores

    async def _scores(self, query: str, documents: list[str]) -> list[float]:
        import httpx
        from cohere import AsyncClientV2
        from cohere.core.api_error import ApiError
        from cohere.core.parse_error import ParsingError

        async with AsyncClientV2(
            api_key=self.api_key.get_secret_value(), base_url=self.base_url, timeout=self.limit, max_retries=0
        ) as client:
            try:
                reply = await client.rerank(model=self.model, query=query, documents=documents, **self.options)
            except ApiError as error:
                raise RerankerFailed(_told(error), status_code=error.status_code, headers=error.headers) from error
            except httpx.TimeoutException as error:
                raise TimeoutError(f"Cohere did not answer: {type(error).__name__}") from error
            except httpx.TransportError as error:
                raise ConnectionError(f"Cohere could not be reached: {error or type(error).__name__}") from error
            except ParsingError as error:
                raise RerankerFailed(_OTHER_FORM) from error
        return _by_place(reply.results, len(documents))


def _by_place(results: Any, count: int) -> list[float]:
    """One score per document; one that the service left out gets 0. The SDK does not check what it was sent."""
    scores = [0.0] * count
    try:
        for result in results:
            place, score = int(result.index), float(result.relevance_score)
            if not 0 <= place < count:
                raise RerankerFailed(f"Cohere's answer names document {place} of {count}")
            scores[place] = score
    except (AttributeError, TypeError, ValueError) as error:
        raise RerankerFailed(_OTHER_FORM) from error
    return scores


def _told(error: Any) -> str:
    body = error.body
    message = body.get("message") if isinstance(body, Mapping) else getattr(body, "message", None)
    return f"Cohere: {message or body or type(error).__name__}"[:200]


# Any of LangChain's document compressors as a reranker.

# How the place of a candidate travels through a compressor.
_PLACE = "groundgraph_place"
# Where those of LangChain's compressors that score put the score.
SCORE = "relevance_score"


def by_compressor(compressor: BaseDocumentCompressor) -> Rerank:
    """Order and selection of `compressor`; what it does to a text is not taken over, since evidence is verbatim.

    A `relevance_score` from 0 to 1 in the metadata is taken as the score; any other number says nothing about a
    threshold, so only the order counts. Raises `RerankerFailed` for a document that was not given to it.
    """

    async def rerank(question: str, candidates: Sequence[SourceResult]) -> list[Judged]:
        documents = [
            Document(page_content=candidate.content, metadata={**candidate.metadata, _PLACE: place})
            for place, candidate in enumerate(candidates)
        ]
        kept = await compressor.acompress_documents(documents, question)
        by_text = {candidate.content: place for place, candidate in reversed(list(enumerate(candidates)))}
        judged = [Judged(_place(one, by_text, len(candidates)), _score(one)) for one in kept]
        first = {one.place: one for one in reversed(judged)}
        return [one for one in judged if first[one.place] is one]

    return rerank


def _place(document: Any, by_text: dict[str, int], count: int) -> int:
    place = document.metadata.get(_PLACE, by_text.get(document.page_content))
    if not isinstance(place, int) or not 0 <= place < count:
        raise RerankerFailed("it returned a document that it was not given")
    return place


def _score(document: Any) -> float | None:
    score = document.metadata.get(SCORE)
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    return float(score) if 0 <= score <= 1 else None


COHERE_KEY = "CO_API_KEY"
_SERVICES = ("cohere", "fastembed", "langchain")


def configured_rerankers(
    settings: Settings,
    prompts: Prompts,
    model: BaseChatModel | None,
    passed: Reranker | BaseDocumentCompressor | None = None,
) -> dict[str, Rerank]:
    """The rerankers in the order in which they stand in for each other; none when reranking is off.

    One of several that lacks a key, a package or a model hands over to the next in every turn.

    Args:
        settings: which, and within which bounds.
        prompts: for the judge.
        model: that judges.
        passed: from Python, in place of those of the settings; it turns reranking on.

    Raises:
        Unusable: the only one lacks a key, a package or a model.
        ConfigurationError: a name or an option is wrong.
    """
    if passed is not None:
        return {type(passed).__name__: as_rerank(passed)}
    if not settings.reranker.enabled:
        return {}
    steps = settings.reranker.steps
    made: dict[str, Rerank] = {}
    for step in steps:
        try:
            made[step.method] = _made(step, settings, prompts, model)
        except Unusable as error:
            if len(steps) == 1:
                raise
            made[step.method] = _unavailable(error.problems[0].message)
    return made


def as_rerank(reranker: Reranker | BaseDocumentCompressor) -> Rerank:
    """A document compressor, or anything that scores, in one form."""
    if isinstance(reranker, BaseDocumentCompressor):
        return by_compressor(reranker)
    return identity if isinstance(reranker, IdentityReranker) else by_scores(reranker)


def _made(step: RerankStep, settings: Settings, prompts: Prompts, model: BaseChatModel | None) -> Rerank:
    if step.method == "cohere":
        return by_scores(_cohere(step, settings))
    if step.method == FASTEMBED:
        return by_scores(_cross_encoder(step, settings))
    if step.method == "langchain":
        return by_compressor(_compressor(step))
    if ("reranker", step.method) in WITHOUT_MODEL and model is None:
        message = f"'{step.method}' needs a model; configure `llm`, or choose another type"
        raise Unusable(Problem("reranker", message), of_this_machine=False)
    entry = ChainOptions(step.method, step.options, "reranker.type", settings, prompts, model)
    try:
        factory = REGISTRIES["reranker"].get(step.method, key="reranker.type")
    except UnknownName as error:
        known = sorted({*REGISTRIES["reranker"].names(), *_SERVICES})
        message = f"there is no reranker '{step.method}'.{nearest(step.method, known)} Known: {', '.join(known)}."
        raise ConfigurationError([Problem("reranker.type", message)]) from error
    return as_rerank(factory(entry))


def _cohere(step: RerankStep, settings: Settings) -> CohereReranker:
    key = step.api_key or SecretStr(os.environ.get(COHERE_KEY, ""))
    if not key.get_secret_value():
        message = f"Cohere needs a key: set {COHERE_KEY} or GROUNDGRAPH_RERANKER__API_KEY in the environment"
        raise Unusable(Problem("reranker", message), of_this_machine=True)
    return CohereReranker(
        key,
        step.model or DEFAULT_MODEL,
        step.base_url,
        settings.deadlines.model,
        settings.limits.attempts,
        step.options,
    )


def _cross_encoder(step: RerankStep, settings: Settings) -> LocalReranker:
    folder = settings.at(step.folder) if step.folder else None
    told = "" if step.model or folder else "name a `model` that fastembed knows, or the `folder` of one"
    if problem := told or (folder_problem(folder) if folder else ""):
        raise Unusable(Problem("reranker", problem), of_this_machine=bool(folder))
    if find_spec("fastembed") is None:
        raise Unusable(
            Problem("reranker", f'needs: pip install "groundgraph[{EXTRAS[FASTEMBED]}]"'), of_this_machine=True
        )
    return LocalReranker(step.model or str(folder), folder, step.options)


def _compressor(step: RerankStep) -> BaseDocumentCompressor:
    path = step.compressor or ""
    module, _, name = path.partition(":")
    if not module or not name:
        message = "the type 'langchain' needs a document compressor, such as `compressor: package.module:Class`"
        raise ConfigurationError([Problem("reranker.compressor", message)])
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        problem = Problem("reranker.compressor", f"'{path}' cannot be imported: {error}")
        raise Unusable(problem, of_this_machine=True) from error
    if not isinstance(found, type) or not issubclass(found, BaseDocumentCompressor):
        raise ConfigurationError([Problem("reranker.compressor", f"'{path}' is no document compressor of LangChain's")])
    return _with_options(found, path, {**_named(step), **step.options})


def _named(step: RerankStep) -> Mapping[str, Any]:
    return {"model": step.model} if step.model else {}


def _with_options(kind: type[BaseDocumentCompressor], path: str, options: Mapping[str, Any]) -> BaseDocumentCompressor:
    try:
        return kind(**options)
    except Exception as error:  # a missing key or package is reported by errors of the packages' own
        # Only what pydantic says of each field: a message in full may quote a key.
        fields = error.errors() if isinstance(error, ValidationError) else []
        told = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in fields)
        problem = Problem("reranker.options", f"'{path}' cannot be built: {told or type(error).__name__}")
        raise Unusable(problem, of_this_machine=not fields) from None


def _unavailable(reason: str) -> Callable[[str, object], Awaitable[Any]]:
    """What stands for a step that cannot be used, and hands over to the next."""

    async def unavailable(question: str, given: object) -> Any:  # noqa: ARG001
        raise StrategyUnavailable(reason)

    return unavailable


# The ways of clustering that the settings name.

KEY = "result_processing.cluster_strategy"
Compare = Callable[[str, Sequence[str]], Awaitable[Similarities]]
_WORDS: dict[str, Callable[[str, Sequence[str]], Similarities]] = {"term_overlap": TermOverlap, "tfidf": TfIdf}


def configured_clustering(settings: Settings, embedder: Embedder | None) -> list[ClusterMethod]:
    """The ways in the order in which they stand in for each other.

    One of several whose embedding model is missing hands over to the next in every turn.

    Args:
        settings: which.
        embedder: for `embedding` without a model of its own.

    Raises:
        Unusable: the only one is `embedding`, and its model is missing or cannot be built.
        ConfigurationError: what names its model is wrong.
    """
    steps = settings.result_processing.cluster_steps
    return [_method(step, settings, embedder, only=len(steps) == 1) for step in steps]


def _method(step: ClusterStep, settings: Settings, embedder: Embedder | None, *, only: bool) -> ClusterMethod:
    threshold = settings.result_processing.cluster_threshold if step.threshold is None else step.threshold
    size = step.min_size or settings.result_processing.cluster_min_size
    if step.method != "embedding":
        return ClusterMethod(step.method, _by_words(step.method), threshold, size)
    try:
        compare = _by_vectors(_embedder(step, settings, embedder))
    except Unusable as error:
        if only:
            raise
        compare = _unavailable(error.problems[0].message)
    return ClusterMethod(step.method, compare, threshold, size, pays=True)


def _by_words(method: str) -> Compare:
    kind = _WORDS[method]

    async def compare(question: str, texts: Sequence[str]) -> Similarities:
        return await run_blocking(kind, question, texts)

    return compare


def _by_vectors(embedder: Embedder) -> Compare:
    async def compare(question: str, texts: Sequence[str]) -> Similarities:
        return await EmbeddingSimilarity.of(embedder, question, texts)

    return compare


def _embedder(step: ClusterStep, settings: Settings, shared: Embedder | None) -> Embedder:
    """The model of the step itself, else the one that the knowledge base uses."""
    if step.embedding is None:
        if shared is None:
            message = "'embedding' needs a model: configure `embeddings`, or name provider and model here"
            raise Unusable(Problem(KEY, message), of_this_machine=False)
        return shared
    try:
        section = EmbeddingSettings(**step.embedding)
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ConfigurationError([Problem(KEY, told)]) from None
    problem = embedding_problem(section, KEY)
    if problem is not None:
        raise Unusable(Problem(KEY, problem.message), of_this_machine=problem.of_this_machine)
    own = configured_embedder(settings.model_copy(update={"embeddings": section, "knowledge_base": None}))
    if own is None:
        raise ConfigurationError([Problem(KEY, "'embedding' must name a model")])
    return own

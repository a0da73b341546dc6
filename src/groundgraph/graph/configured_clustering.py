"""The ways of clustering that the settings name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from pydantic import ValidationError

from groundgraph.answers.clustering import ClusterMethod, EmbeddingSimilarity, Similarities, TermOverlap, TfIdf
from groundgraph.answers.strategy_chain import Unusable
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, Problem, StrategyUnavailable
from groundgraph.graph.configured_embedder import configured_embedder, embedding_problem
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.answers import ClusterStep
from groundgraph.settings.settings import EmbeddingSettings, Settings

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


def _unavailable(reason: str) -> Compare:
    async def compare(question: str, texts: Sequence[str]) -> Similarities:  # noqa: ARG001
        raise StrategyUnavailable(reason)

    return compare

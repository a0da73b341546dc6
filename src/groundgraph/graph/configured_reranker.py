"""The rerankers that the settings name, or the one that Python passes in (P4)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from langchain_core.documents import BaseDocumentCompressor
from pydantic import SecretStr, ValidationError

from groundgraph.chains.builtin_chains import WITHOUT_MODEL
from groundgraph.chains.chain_options import ChainOptions
from groundgraph.chains.chain_registries import REGISTRIES
from groundgraph.chains.identity_chains import IdentityReranker
from groundgraph.chains.rerank import Rerank, by_scores, identity
from groundgraph.chains.rerank_cohere import DEFAULT_MODEL, CohereReranker
from groundgraph.chains.rerank_compressor import by_compressor
from groundgraph.core.chain import Reranker
from groundgraph.core.errors import ConfigurationError, Problem, StrategyUnavailable, UnknownName
from groundgraph.core.registry import nearest
from groundgraph.core.result_settings import RerankStep
from groundgraph.core.settings import Settings
from groundgraph.graph.unusable import Unusable
from groundgraph.prompts import Prompts

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

COHERE_KEY = "CO_API_KEY"
_SERVICES = ("cohere", "langchain")


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


def _unavailable(reason: str) -> Rerank:
    async def rerank(question: str, candidates: object) -> list[Any]:  # noqa: ARG001
        raise StrategyUnavailable(reason)

    return rerank

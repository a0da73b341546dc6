"""The chains that the settings ask for: per kind of data for an ingest, one set for all queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from groundgraph.core.chain import IngestChains, QueryChains
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.ingest.builtin_chains import (
    REGISTRIES,
    WITHOUT_MODEL,
    ChainOptions,
    IdentityReranker,
    KeepEverything,
    VerbatimQuery,
)
from groundgraph.prompts import Prompts
from groundgraph.settings.idle_settings import chain_name
from groundgraph.settings.knowledge_base import ChainChoice
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

INGEST = ("chunker", "qualifying_text", "matching_text")
QUERY = ("transformer", "reranker", "filter")


def ingest_chains(
    settings: Settings, kind: str, prompts: Prompts | None = None, model: BaseChatModel | None = None
) -> IngestChains:
    """The chains of the data called `kind`; a kind without chains of its own has those of `documents`.

    Without a `model`, chains that need one give way to those of `WITHOUT_MODEL`.

    Raises:
        ConfigurationError: a chain or one of its options is unknown; every problem is listed.
    """
    build = _Building(settings, prompts, model)
    chosen, place = settings.chains.of_kind(kind), _place(settings, kind)
    made = [build.chain(name, getattr(chosen, name), f"chains.{place}.{name}") for name in INGEST]
    build.raise_problems()
    return IngestChains(*made)


def query_chains(settings: Settings, prompts: Prompts | None = None, model: BaseChatModel | None = None) -> QueryChains:
    """The query chains; what does nothing is None, so that it costs nothing.

    The filter `basic` filters only when a reranker or matching texts of another form than the chunk are configured:
    only then do scores mean the same for every query.

    Raises:
        ConfigurationError: as for `ingest_chains`; the chains of every kind are looked at.
    """
    build = _Building(settings, prompts, model)
    query = settings.chains.query
    transformer = build.chain("transformer", query.transformer, "chains.query.transformer")
    reranker = build.chain("reranker", query.reranker, "chains.query.reranker")
    generated = [build.generates(kind) for kind in _kinds(settings)]
    judged = any(generated) or not isinstance(reranker, IdentityReranker)
    filter_ = build.chain("filter", query.filter, "chains.query.filter", judged=judged)
    build.raise_problems()
    return QueryChains(
        transformer=None if isinstance(transformer, VerbatimQuery) else transformer,
        reranker=None if isinstance(reranker, IdentityReranker) else reranker,
        filter=None if isinstance(filter_, KeepEverything) else filter_,
        candidates_count=query.candidates_count,
        keep=query.keep,
    )


def check_chains(settings: Settings, prompts: Prompts) -> list[Problem]:
    """Everything that is wrong with the chains of `settings`, whether a model is there or not."""
    problems: list[Problem] = []
    builds: Sequence[Any] = [
        lambda: query_chains(settings, prompts),
        *(lambda kind=kind: ingest_chains(settings, kind, prompts) for kind in _kinds(settings)),
    ]
    for build in builds:
        try:
            build()
        except ConfigurationError as error:
            problems += [problem for problem in error.problems if problem not in problems]
    return problems


def chains_without_model(settings: Settings) -> list[str]:
    """A sentence for each configured chain that needs a model, when none is configured."""
    if settings.llm or settings.query_llm:
        return []
    chosen = [(f"chains.{kind}.{name}", name, getattr(settings.chains.of_kind(kind), name))
              for kind in _kinds(settings) for name in INGEST]  # fmt: skip
    chosen += [(f"chains.query.{name}", name, getattr(settings.chains.query, name)) for name in QUERY]
    return [
        f"{key}: '{name}' needs a model; without one, '{WITHOUT_MODEL[kind, name]}' takes its place"
        for key, kind, choice in chosen
        if (kind, name := chain_name(choice)) in WITHOUT_MODEL
    ]


def _kinds(settings: Settings) -> list[str]:
    """The kinds of data that have chains of their own."""
    return ["documents", "web_pages", *(settings.chains.model_extra or {})]


def _place(settings: Settings, kind: str) -> str:
    return kind if kind in _kinds(settings) else "documents"


class _Building:
    """Builds chains and collects what is wrong with them."""

    def __init__(self, settings: Settings, prompts: Prompts | None, model: BaseChatModel | None) -> None:
        self._settings = settings
        self._prompts = prompts or Prompts.of(settings)
        self._model = model
        self._problems: list[Problem] = []

    def chain(self, kind: str, choice: ChainChoice, key: str, *, judged: bool = False) -> Any:
        """The chain that is chosen; None when there is a problem with it."""
        name = chain_name(choice)
        options = {} if isinstance(choice, str) else {key: value for key, value in choice.items() if key != "name"}
        entry = ChainOptions(name, options, key, self._settings, self._prompts, self._model, judged)
        try:
            if not name:
                raise ConfigurationError([Problem(key, "a mapping here needs `name`, that of the chain")])
            return REGISTRIES[kind].get(name, key=key)(entry)
        except ConfigurationError as error:
            self._problems += error.problems
            return None

    def generates(self, kind: str) -> bool:
        """Whether the matching texts of `kind` are of another form than the chunk."""
        choice = self._settings.chains.of_kind(kind).matching_text
        chain = self.chain("matching_text", choice, f"chains.{_place(self._settings, kind)}.matching_text")
        return chain is not None and bool(getattr(chain, "generated", True))

    def raise_problems(self) -> None:
        """Raise `ConfigurationError` when there were problems."""
        if self._problems:
            raise ConfigurationError(list(dict.fromkeys(self._problems)))

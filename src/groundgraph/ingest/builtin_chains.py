"""The registries of chains, the chains that groundgraph brings, under names that nobody can register again, and the
chains that the settings ask for.

What needs a model stands down without one: the registry holds, for each such name, what takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import Field, PositiveInt, ValidationError

from groundgraph.answers.generate_queries import parse_queries
from groundgraph.core.chain import IngestChains, Match, QueryChains
from groundgraph.core.document import Chunk, Document
from groundgraph.core.errors import ConfigurationError, ModelError, Problem, refuse_any
from groundgraph.core.evidence import SourceResult
from groundgraph.core.registry import Registry, nearest
from groundgraph.ingest.judge import Judge, Method
from groundgraph.ingest.matching_texts import (
    LEAD_CHARS,
    ContentWithHeadings,
    PlaceInDocument,
    Summary,
    TitleHeadingsLead,
    WrittenMatchingTexts,
)
from groundgraph.models.call_model import ChainModel
from groundgraph.prompts import Prompts
from groundgraph.settings.idle_settings import chain_name
from groundgraph.settings.knowledge_base import ChainChoice, ChunkerSettings
from groundgraph.settings.load_settings import message_of
from groundgraph.settings.section import Section
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


# What the factory of a chain is given, and how it reads its options.

S = TypeVar("S", bound=Section)


class NoOptions(Section):
    """The options of a chain that has none."""


@dataclass(frozen=True)
class ChainOptions:
    """One choice of a chain, as its factory receives it.

    Attributes:
        name: the name under which the chain was asked for.
        options: the keys beside `name`.
        key: where the choice stands in the configuration, for messages.
        settings: all of them.
        prompts: the prompt files.
        chat_model: the model of the chains; None without one.
        judged: for filters: a reranker, or matching texts of another form than the chunk, are configured, so that
            scores have a meaning of their own.
    """

    name: str
    options: Mapping[str, Any]
    key: str
    settings: Settings
    prompts: Prompts
    chat_model: BaseChatModel | None = field(default=None, repr=False)
    judged: bool = False

    @property
    def model(self) -> ChainModel | None:
        """The model within the bounds of the settings; None without one."""
        return ChainModel.of(self.settings, self.prompts, self.chat_model) if self.chat_model else None

    def read(self, kind: type[S]) -> S:
        """The options as a `kind`.

        Raises:
            ConfigurationError: an option is unknown or has a bad value; every problem is listed.
        """
        try:
            return kind(**self.options)
        except ValidationError as error:
            raise ConfigurationError(
                [self._problem(item, list(kind.model_fields)) for item in error.errors()]
            ) from None

    def refuse_options(self) -> None:
        """For a chain that has no options.

        Raises:
            ConfigurationError: one is given.
        """
        self.read(NoOptions)

    def prompt(self, own: str | None, shipped: str) -> str:
        """The name of the prompt to use: `own`, from the option `prompt`, or the one that is `shipped`.

        Raises:
            ConfigurationError: there is no prompt `own`, or it cannot stand in for `shipped`.
        """
        if own is None:
            return shipped
        self.prompts.check_stands_in(own, shipped, key=f"{self.key}.prompt")
        return own

    def _problem(self, item: Any, known: list[str]) -> Problem:
        location = item["loc"]
        key = ".".join(map(str, (self.key, *location)))
        if item["type"] != "extra_forbidden":
            return Problem(key, message_of(item, location))
        offered = f"{nearest(str(location[-1]), known)} Known: {', '.join(known)}." if known else " It has none."
        return Problem(key, f"the chain '{self.name}' has no option '{location[-1]}'.{offered}")


Kind = Literal["chunker", "matching_text", "qualifying_text", "transformer", "reranker", "filter"]
ChainFactory = Callable[[ChainOptions], Any]

REGISTRIES: Mapping[str, Registry[ChainFactory]] = {
    "chunker": Registry("chunker", "groundgraph.chunkers"),
    "matching_text": Registry("matching text", "groundgraph.matching_texts"),
    "qualifying_text": Registry("qualifying text", "groundgraph.qualifying_texts"),
    "transformer": Registry("query transformer", "groundgraph.query_transformers"),
    "reranker": Registry("reranker", "groundgraph.rerankers"),
    "filter": Registry("filter", "groundgraph.filters"),
}


# The six kinds of chains by name, open to functions, Runnables and third parties.

# The chains that do nothing. Other parts rely on that, so their name cannot be registered again.


@dataclass(frozen=True)
class ContentAsMatchingText:
    """The content alone as the only matching text."""

    signature: str = "identity 1"
    generated: bool = False

    def __call__(self, chunk: Chunk, qualifying_text: str) -> list[str]:  # noqa: ARG002 - the protocol's
        """The text of `chunk`."""
        return [chunk.text]


@dataclass(frozen=True)
class ContentAsQualifyingText:
    """The content of each chunk as its qualifying text."""

    signature: str = "identity 1"

    def __call__(self, document: Document, chunks: Sequence[Chunk]) -> list[str]:  # noqa: ARG002
        """The text of each of `chunks`."""
        return [chunk.text for chunk in chunks]


class VerbatimQuery:
    """The query as it was typed."""

    async def __call__(self, query: str) -> str:
        """`query`."""
        return query


class IdentityReranker:
    """The score 1.0 for everything."""

    async def __call__(self, query: str, candidates: Sequence[SourceResult]) -> list[float]:  # noqa: ARG002
        """1.0 for each of `candidates`."""
        return [1.0] * len(candidates)


class KeepEverything:
    """Filters nothing."""

    async def __call__(self, query: str, matches: Sequence[Match]) -> list[bool]:  # noqa: ARG002
        """True for each of `matches`."""
        return [True] * len(matches)


# The filter of match and rerank scores.


@dataclass(frozen=True)
class CutoffFilter:
    """Drops what matches too badly or answers the query too unlikely.

    Args:
        match_cutoff: the match score below which a chunk is dropped, 0 to 1.
        rerank_cutoff: the rerank score below which one is dropped; a chunk that nobody judged passes it.
    """

    match_cutoff: float = 0.5
    rerank_cutoff: float = 0.5

    async def __call__(self, query: str, matches: Sequence[Match]) -> list[bool]:  # noqa: ARG002 - the protocol's
        """For each of `matches` whether both scores reach their cut-offs."""
        return [self._keeps(match) for match in matches]

    def _keeps(self, match: Match) -> bool:
        judged_well = match.rerank_score is None or match.rerank_score >= self.rerank_cutoff
        return match.match_score >= self.match_cutoff and judged_well


# Bringing a query into the form of the matching texts.

# A query may be a whole page that is to be matched, as in a search for advice on a slide.
_QUERY_CHARS = 8000


@dataclass(frozen=True)
class WrittenQuery:
    """The query as a model words it: "location of food" becomes "Where is the food?".

    Args:
        model: the model.
        prompt: its instructions: a question, a description of what is looked for, or the user's own.
    """

    model: ChainModel
    prompt: str = "query_as_question"

    async def __call__(self, query: str) -> str:
        """The new wording, on one line.

        Raises:
            ModelError: the model failed, refused or wrote no query; the caller goes on with the plain query.
        """
        if not query.strip():
            return query
        lines = parse_queries(await self.model.text(self.prompt, (), query[:_QUERY_CHARS]), 3)
        if not lines:
            raise ModelError("it wrote no query")
        return " ".join(lines)


WITHOUT_MODEL = {
    ("chunker", "digest"): "document",
    ("matching_text", "questions"): "content",
    ("matching_text", "description"): "content",
    ("qualifying_text", "summary"): "document",
    ("qualifying_text", "place"): "document",
    ("transformer", "question"): "identity",
    ("transformer", "description"): "identity",
    ("transformer", "template"): "identity",
    ("reranker", "judge"): "identity",
}
"""What takes the place of a chain when no model is configured."""


class CutOptions(Section):
    """Options of the chunker `document`."""

    max_chunk_size: int | None = Field(None, ge=100, le=20_000)


class PromptOptions(Section):
    """Options of what a model works in."""

    prompt: str | None = None


P = TypeVar("P", bound=PromptOptions)


class DigestOptions(PromptOptions):
    """Options of the chunker `digest`."""

    stretch_chars: int = Field(8_000, ge=500, le=100_000)


class MatchingOptions(PromptOptions):
    """Options of matching texts that a model writes."""

    with_content: bool | None = None
    at_most: PositiveInt = 20


class LeadOptions(Section):
    """Options of the qualifying text `document`."""

    lead_chars: PositiveInt = LEAD_CHARS


class ReadOptions(PromptOptions):
    """Options of a qualifying text that a model writes."""

    document_chars: PositiveInt | None = None


class JudgeOptions(PromptOptions):
    """Options of the reranker `judge`."""

    method: Method = "auto"
    passage_chars: PositiveInt = 2_000


class CutoffOptions(Section):
    """Options of the filter `basic`; those of `chains.query` when absent."""

    match_cutoff: float | None = Field(None, ge=0, le=1)
    rerank_cutoff: float | None = Field(None, ge=0, le=1)


def _whole(entry: ChainOptions) -> Any:
    from groundgraph.ingest.chunkers import WholeTextChunker

    entry.refuse_options()
    return WholeTextChunker()


def _cut(entry: ChainOptions) -> Any:
    return _heading_chunker(entry, entry.read(CutOptions).max_chunk_size)


def _heading_chunker(entry: ChainOptions, size: int | None = None) -> Any:
    # Its Markdown parser is loaded only by an ingest.
    from groundgraph.ingest.chunkers import HeadingChunker

    knowledge_base = entry.settings.knowledge_base
    configured = knowledge_base.chunker if knowledge_base else ChunkerSettings()
    return HeadingChunker(size or configured.max_chunk_size)


def _digest(entry: ChainOptions, model: ChainModel, prompt: str, options: DigestOptions) -> Any:
    from groundgraph.ingest.chunkers import DigestChunker

    return DigestChunker(model, _heading_chunker(entry, options.stretch_chars), prompt)


def _matching(*, with_content: bool) -> Callable[..., Any]:
    def made(_entry: ChainOptions, model: ChainModel, prompt: str, options: MatchingOptions) -> Any:
        wanted = with_content if options.with_content is None else options.with_content
        return WrittenMatchingTexts(model, prompt, wanted, options.at_most)

    return made


def _lead(entry: ChainOptions) -> Any:
    return TitleHeadingsLead(entry.read(LeadOptions).lead_chars)


def _qualifying(kind: type[Summary] | type[PlaceInDocument]) -> Callable[..., Any]:
    def made(_entry: ChainOptions, model: ChainModel, prompt: str, options: ReadOptions) -> Any:
        return kind(model, prompt, options.document_chars or kind.document_chars)

    return made


def _reworded(_entry: ChainOptions, model: ChainModel, prompt: str, _options: PromptOptions) -> Any:
    return WrittenQuery(model, prompt)


def _by_template(entry: ChainOptions) -> Any:
    if entry.read(PromptOptions).prompt is None:
        message = "the transformer 'template' needs the option `prompt`, the name of a file in prompts.path"
        raise ConfigurationError([Problem(entry.key, message)])
    return _by_model(PromptOptions, "query_as_question", _VERBATIM, _reworded)(entry)


def _judge(_entry: ChainOptions, model: ChainModel, prompt: str, options: JudgeOptions) -> Any:
    return Judge(model, prompt, options.method, options.passage_chars)


def _cutoffs(entry: ChainOptions) -> Any:
    options = entry.read(CutoffOptions)
    if not entry.judged:
        return KeepEverything()
    query = entry.settings.chains.query
    match, rerank = options.match_cutoff, options.rerank_cutoff
    return CutoffFilter(
        query.match_cutoff if match is None else match, query.rerank_cutoff if rerank is None else rerank
    )


def _without_options(chain: Any) -> ChainFactory:
    """A factory of `chain`, which has no options."""

    def factory(entry: ChainOptions) -> Any:
        entry.refuse_options()
        return chain

    return factory


def _by_model(
    kind: type[P], shipped: str, without: ChainFactory, make: Callable[[ChainOptions, ChainModel, str, P], Any]
) -> ChainFactory:
    """A factory of a chain in which a model works.

    Args:
        kind: its options, among them `prompt`.
        shipped: the prompt without that option.
        without: makes what takes its place without a model.
        make: makes it of the entry, the model, the prompt and the options.
    """

    def factory(entry: ChainOptions) -> Any:
        options = entry.read(kind)
        prompt = entry.prompt(options.prompt, shipped)
        if entry.model is None:
            return without(replace(entry, options={}))
        return make(entry, entry.model, prompt, options)

    return factory


_CONTENT = _without_options(ContentWithHeadings())
_VERBATIM = _without_options(VerbatimQuery())
_UNJUDGED = _without_options(IdentityReranker())
_OWN: dict[str, dict[str, ChainFactory]] = {
    "chunker": {
        "identity": _whole,
        "document": _cut,
        "digest": _by_model(DigestOptions, "write_digest", _cut, _digest),
    },
    "matching_text": {
        "identity": _without_options(ContentAsMatchingText()),
        "content": _CONTENT,
        "questions": _by_model(MatchingOptions, "write_questions", _CONTENT, _matching(with_content=True)),
        "description": _by_model(MatchingOptions, "write_descriptions", _CONTENT, _matching(with_content=False)),
    },
    "qualifying_text": {
        "identity": _without_options(ContentAsQualifyingText()),
        "document": _lead,
        "summary": _by_model(ReadOptions, "write_summary", _lead, _qualifying(Summary)),
        "place": _by_model(ReadOptions, "write_place", _lead, _qualifying(PlaceInDocument)),
    },
    "transformer": {
        "identity": _VERBATIM,
        "question": _by_model(PromptOptions, "query_as_question", _VERBATIM, _reworded),
        "description": _by_model(PromptOptions, "query_as_description", _VERBATIM, _reworded),
        "template": _by_template,
    },
    "reranker": {"identity": _UNJUDGED, "judge": _by_model(JudgeOptions, "judge", _UNJUDGED, _judge)},
    "filter": {"identity": _without_options(KeepEverything()), "basic": _cutoffs},
}


def _register() -> None:
    for kind, chains in _OWN.items():
        for name, factory in chains.items():
            REGISTRIES[kind].register(name, factory, reserved=True)


_register()


# What the settings ask for: per kind of data for an ingest, one set for all queries.

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
        refuse_any(list(dict.fromkeys(self._problems)))

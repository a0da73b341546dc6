"""The sources that the settings name, and the topic indices around those that have one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from groundgraph.core.chain import QueryChains
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, ModelError, Problem, refuse_any
from groundgraph.graph.configured_models import configured_embedder, embedding_problem
from groundgraph.graph.knowledge_base_files import KNOWLEDGE_BASES, base_fields, weaviate_place, with_base_fields
from groundgraph.models.call_model import ChainModel, Passage, without_thoughts
from groundgraph.models.chat_model import ModelProblem
from groundgraph.models.replies import list_schema, listed_in, negates, text_of
from groundgraph.prompts import Prompts
from groundgraph.settings.knowledge_base import KnowledgeBaseSettings
from groundgraph.settings.services import EmbeddingSettings
from groundgraph.settings.settings import Settings
from groundgraph.settings.topics import TopicIndexSettings
from groundgraph.sources.contract import GroundedSource, SourceFactory, SourceOptions, source_types
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.sources.topic_index import TopicIndexSource, index_problems
from groundgraph.sources.weaviate_base import WeaviateBaseSource
from groundgraph.sources.weaviate_base.source import weaviate_base_from_options

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

# A source from its entry in a configuration, whatever a third party registered for its type.


def make_source(factory: SourceFactory | Callable[..., GroundedSource], entry: SourceOptions) -> GroundedSource:
    """What `factory` makes of `entry`: a function is given the entry, a class of a source its name and options.

    Raises:
        ConfigurationError: an option is unknown or has a bad value, or what was made is no source.
    """
    try:
        return _made(factory, entry)
    except ConfigurationError as error:
        # A source calls what is wrong by its own name, which tells nobody where in the file it stands.
        own = f"{entry.name}."
        if not any(problem.key.startswith(own) for problem in error.problems):
            raise
        problems = [
            replace(problem, key=f"{entry.key}.{problem.key.removeprefix(own)}")
            if problem.key.startswith(own)
            else problem
            for problem in error.problems
        ]
        raise ConfigurationError(problems) from error


def _made(factory: SourceFactory | Callable[..., GroundedSource], entry: SourceOptions) -> GroundedSource:
    given: dict[str, Any] = {"name": entry.name, **entry.options}
    if isinstance(factory, type) and issubclass(factory, GroundedSource) and _takes_keywords(factory):
        try:
            inspect.signature(factory).bind(**given)
        except TypeError as error:
            raise ConfigurationError([Problem(entry.key, f"{factory.__name__}: {error}")]) from error
        made: Any = factory(**given)
    else:
        made = factory(entry)
    if not isinstance(made, GroundedSource):
        raise ConfigurationError([Problem(entry.key, f"what was registered for this type made no source but {made!r}")])
    return made


def _takes_keywords(source_class: type[GroundedSource]) -> bool:
    """Whether the class names its source by an argument `name`; one that does not takes the whole entry."""
    parameters = inspect.signature(source_class).parameters.values()
    return any(parameter.name == "name" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def configured_sources(
    settings: Settings,
    embedder: Embedder | None,
    chains: QueryChains,
    *,
    from_python: Sequence[GroundedSource] | None,
    passed_embedder: bool,
) -> list[GroundedSource]:
    """The sources of the settings in their order; the knowledge base when neither they nor Python name one.

    Args:
        settings: the sections `sources` and `knowledge_base`.
        embedder: the embedding model, if there is one.
        chains: the query chains of knowledge bases.
        from_python: what Python passes in beside them; an empty list counts as no source.
        passed_embedder: whether `embedder` comes from Python.

    Raises:
        ConfigurationError: a source cannot be built, or there is none; every problem is listed.
    """
    built = _of_entries(settings, embedder, chains, passed_embedder=passed_embedder)
    named = from_python is not None or "sources" in settings.model_fields_set
    if _searches_base(settings, nothing_else=not built and not named):
        built.append(_knowledge_base(settings, embedder, chains))
    if not built and not from_python:
        told = (
            "there is nothing to search. Name a source, or leave `sources` out for the knowledge base in .groundgraph/."
        )
        raise ConfigurationError([Problem("sources", told)])
    return built


def _of_entries(
    settings: Settings, embedder: Embedder | None, chains: QueryChains, *, passed_embedder: bool
) -> list[GroundedSource]:
    built: list[GroundedSource] = []
    errors: list[ConfigurationError] = []
    for number, entry in enumerate(settings.sources):
        options = SourceOptions(entry.name, entry.options, settings.base_dir, f"sources[{number}]", embedder, chains)
        try:
            built.append(_of_entry(settings, number, options, passed_embedder=passed_embedder))
        except ConfigurationError as error:
            errors.append(error)
    if errors:
        problems = [problem for error in errors for problem in error.problems]
        raise errors[0] if len(errors) == 1 else ConfigurationError(problems)
    return built


def _of_entry(settings: Settings, number: int, options: SourceOptions, *, passed_embedder: bool) -> GroundedSource:
    kind = settings.sources[number].type
    if kind in KNOWLEDGE_BASES:
        options = with_base_fields(options, settings)
        if place := weaviate_place(settings, number):
            return weaviate_base_from_options(options, place)
    if kind == "cascade":
        options = with_retriever_defaults(options, settings, passed=passed_embedder)
    return make_source(source_types.get(kind, key=f"{options.key}.type"), options)


def _searches_base(settings: Settings, *, nothing_else: bool) -> bool:
    """Whether the base of the section `knowledge_base` is a source without an entry of its own."""
    has_entry = any(entry.type in KNOWLEDGE_BASES for entry in settings.sources)
    return nothing_else or (settings.knowledge_base is not None and not has_entry)


def _knowledge_base(settings: Settings, embedder: Embedder | None, chains: QueryChains) -> GroundedSource:
    kb = settings.knowledge_base or KnowledgeBaseSettings()
    shared: dict[str, Any] = {
        "fields": base_fields(kb),
        "embedder": embedder,
        "query_chains": chains,
        "vector_weight": kb.vector_weight,
    }
    place = weaviate_place(settings)
    if place is None:
        return KnowledgeBaseSource(settings.at(kb.file), **shared)

    return WeaviateBaseSource(place, **shared)


# Cascade sources of a configuration: the section `retriever` gives the defaults of each.


def with_retriever_defaults(entry: SourceOptions, settings: Settings, *, passed: bool = False) -> SourceOptions:
    """`entry` of `sources:` with the section `retriever` behind its own options, and with its embedding model.

    Args:
        entry: its `embedder` is that of the configuration, or the one that was passed in.
        settings: from `load_settings`.
        passed: whether an embedding model was passed in, which then stands in place of every other.

    Raises:
        ConfigurationError: the embedding model cannot be built.
    """
    shared = settings.retriever.model_dump()
    own = {name: value for name, value in entry.options.items() if value is not None}
    options: dict[str, Any] = {**shared, **own}
    if isinstance(own.get("thresholds"), Mapping):
        options["thresholds"] = {**shared["thresholds"], **own["thresholds"]}
    model = options["embedder_model"]
    if options["use_embeddings"] is True and model is not None and not passed:
        return replace(entry, options=options, embedder=_embedder(model, settings, _model_key(entry)))
    return replace(entry, options=options)


def cascade_model_problems(settings: Settings) -> dict[str, ModelProblem]:
    """Why the embedding models of cascade sources cannot be built, by key; a model may also come from Python."""
    found: dict[str, ModelProblem] = {}
    for number, entry in enumerate(settings.sources):
        if entry.type != "cascade":
            continue
        plain = SourceOptions(entry.name, entry.options, settings.base_dir, f"sources[{number}]")
        options = with_retriever_defaults(plain, settings, passed=True).options
        if options["use_embeddings"] is not True:
            continue
        model, key = options["embedder_model"], _model_key(plain)
        if model is None and settings.embedding_model is None:
            told = "needs an embedding model: name one under `embeddings`, or pass one"
            found[f"{plain.key}.use_embeddings"] = ModelProblem(told, of_this_machine=True)
        elif model is not None:
            try:
                problem = embedding_problem(_section(model, key), key)
            except ConfigurationError as error:
                problem = ModelProblem(error.problems[0].message, of_this_machine=False)
            if problem is not None:
                found[key] = problem
    return found


def _model_key(entry: SourceOptions) -> str:
    """Where the model of an entry stands."""
    return f"{entry.key if entry.options.get('embedder_model') is not None else 'retriever'}.embedder_model"


def _section(model: Any, key: str) -> EmbeddingSettings:
    try:
        return EmbeddingSettings.model_validate({"model": model} if isinstance(model, str) else model)
    except ValidationError as error:
        problems = [Problem(".".join(map(str, (key, *item["loc"]))), item["msg"]) for item in error.errors()]
        raise ConfigurationError(problems) from None


def _embedder(model: Any, settings: Settings, key: str) -> Embedder | None:
    """The embedding model that `embedder_model` names."""
    own = settings.model_copy(update={"embeddings": _section(model, key), "knowledge_base": None})
    try:
        return configured_embedder(own)
    except ConfigurationError as error:
        raise ConfigurationError([replace(problem, key=key) for problem in error.problems]) from None


# A model chooses the sections of documents that a question is about.

PROMPT = "choose_headings"
# A letter before the number: headings have numbers of their own, and a bare one could be either.
_NUMBER = re.compile(r"\bS(\d{1,6})\b", re.IGNORECASE)
_BARE = re.compile(r"[\d\s,;.\[\]]{1,2000}")
_OWN_NUMBER = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,8})\.?\s")
_QUESTION_CHARS = 8000
_TITLE_CHARS = 300


@dataclass(frozen=True)
class ChooseHeadings:
    """Asks `model`; see `__call__`."""

    model: ChainModel

    async def __call__(self, instruction: str, question: str, headings: Sequence[tuple[str, ...]]) -> list[int]:
        """The places in `headings` of the sections that the model chooses, the most relevant first; at least one.

        Args:
            instruction: the user's own words on how to choose.
            question: in words.
            headings: for each section the titles that lead to it, the outermost first.

        Raises:
            ModelError: the model failed, or its reply names no section of the list or rules something out.
        """
        lines = [f"S{number}: {_shown(titles)}" for number, titles in enumerate(headings, 1)]
        reply = await self.model.reply(
            [PROMPT],
            [Passage("sections", "\n".join(lines))],
            question[:_QUESTION_CHARS],
            variables={"instruction": instruction.strip()},
            schema=list_schema("sections", {"type": "string", "pattern": "^S[0-9]+$"}),
        )
        listed = listed_in(reply, "sections")
        if listed is not None and all(_NUMBER.fullmatch(str(one)) for one in listed):
            return read_choice(", ".join(map(str, listed)), headings)
        return read_choice(without_thoughts(text_of(reply)), headings)


def read_choice(reply: str, headings: Sequence[tuple[str, ...]]) -> list[int]:
    """The places, from 0, of those of `headings` that a reply names; numbers that none has are passed over.

    Titles may stand beside the numbers, whatever words they hold.

    Raises:
        ModelError: none is left, a number may mean either of two sections, or the reply rules something out: "not S2"
            would choose it.
    """
    places = dict.fromkeys(place for place in _numbered(reply, headings) if 0 <= place < len(headings))
    if not places:
        raise ModelError("its reply names no section of the list")
    if negates(reply, [title for titles in headings for title in titles]):
        raise ModelError("its reply rules something out, where it was to list sections only")
    return list(places)


def _numbered(reply: str, headings: Sequence[tuple[str, ...]]) -> Iterator[int]:
    if _NUMBER.search(reply) or not _BARE.fullmatch(reply):
        yield from (int(number) - 1 for number in _NUMBER.findall(reply))
    else:
        for word in re.split(r"[\s,;\[\]]+", reply):
            yield from _bare(word.rstrip("."), headings)


def _bare(number: str, headings: Sequence[tuple[str, ...]]) -> list[int]:
    """The places that a number alone stands for: in the list, or of the headings that begin with it.

    Raises:
        ModelError: it may be either.
    """
    own = [place for place, titles in enumerate(headings) if _own_number(titles[-1]) == number] if number else []
    listed = [int(number) - 1] if number.isdecimal() and 0 < int(number) <= len(headings) else []
    if own and listed and own != listed:
        raise ModelError(f"its reply says '{number}', which is the number of one section and the place of another")
    return own or listed


def _own_number(title: str) -> str:
    found = _OWN_NUMBER.match(title)
    return found.group(1) if found else ""


def _shown(titles: Sequence[str]) -> str:
    return " ".join(" > ".join(titles).split())[:_TITLE_CHARS]


# A model that chooses headings must leave time for the search without it.
_SHARE_OF_LIMIT = 0.6


def with_topic_indices(
    sources: Sequence[GroundedSource], settings: Settings, prompts: Prompts, model: BaseChatModel | None
) -> list[GroundedSource]:
    """`sources`, those with a topic index in the settings inside of it.

    Args:
        sources: built from the settings.
        settings: `sources[].topic_index` and `knowledge_base.topic_index`.
        prompts: the prompt files.
        model: chooses among headings.

    Raises:
        ConfigurationError: an index cannot work; every problem is listed.
    """
    indexed = dict(_indices(settings))
    made: list[GroundedSource] = []
    problems: list[Problem] = []
    for source in sources:
        if source.name not in indexed:
            made.append(source)
            continue
        key, index = indexed[source.name]
        choose = _chooser(settings, source.name, prompts, model) if model else None
        try:
            made.append(TopicIndexSource(source, index, choose=choose, key=key))
        except ConfigurationError as error:
            problems += error.problems
    refuse_any(problems)
    return made


def topic_problems(settings: Settings, sources: Mapping[str, GroundedSource]) -> list[Problem]:
    """What is wrong with the topic indices of `settings`, found without the models that they name.

    Args:
        settings: with its models.
        sources: those of the settings, which may have been built without models.
    """
    embeds, chooses = settings.embedding_model is not None, bool(settings.llm or settings.query_llm)
    return [
        problem
        for name, (key, index) in _indices(settings)
        if name in sources
        for problem in index_problems(sources[name], index, key, embeds=embeds, chooses=chooses)
    ]


def _indices(settings: Settings) -> Iterator[tuple[str, tuple[str, TopicIndexSettings]]]:
    """By name of the source, where its index stands in the configuration and what it is."""
    shared = settings.knowledge_base.topic_index if settings.knowledge_base else None
    bases = [entry for entry in settings.sources if entry.type in KNOWLEDGE_BASES]
    for number, entry in enumerate(settings.sources):
        if entry.topic_index:
            yield entry.name, (f"sources[{number}].topic_index", entry.topic_index)
        elif shared and entry in bases:
            yield entry.name, ("knowledge_base.topic_index", shared)
    if shared and not bases:
        yield "knowledge_base", ("knowledge_base.topic_index", shared)


def _chooser(settings: Settings, source: str, prompts: Prompts, model: BaseChatModel) -> ChooseHeadings:
    limit = min(settings.deadlines.model, _SHARE_OF_LIMIT * settings.timeout_of(source))
    return ChooseHeadings(ChainModel(model, prompts, limit, settings.limits.attempts))

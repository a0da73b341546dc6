"""The topic indices of a configuration, around the sources that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from groundgraph.chains.chain_model import ChainModel
from groundgraph.chains.choose_headings import ChooseHeadings
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.settings import Settings
from groundgraph.core.topic_settings import TopicIndexSettings
from groundgraph.graph.knowledge_base_files import KNOWLEDGE_BASES
from groundgraph.prompts import Prompts
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.topic_index import TopicIndexSource, index_problems

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

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
    if problems:
        raise ConfigurationError(problems)
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
    own = [entry.timeout for entry in settings.sources if entry.name == source and entry.timeout]
    limit = min(settings.deadlines.model, _SHARE_OF_LIMIT * (own[0] if own else settings.deadlines.source))
    return ChooseHeadings(ChainModel(model, prompts, limit, settings.limits.attempts))

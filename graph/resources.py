"""The live objects behind a graph: sources, models, evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore

from groundgraph.chains.structured_answer import AnswerTemplates
from groundgraph.core.errors import ConfigurationError, FilterInvalid, Problem
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.filters import check_filters
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.core.scope import scope_problems
from groundgraph.core.settings import KnowledgeBaseSettings, ModelSettings, Settings
from groundgraph.graph.configured_model import configured_model
from groundgraph.prompts import Prompts
from groundgraph.sources.contract import GroundedSource, SourceOptions, source_types
from groundgraph.sources.knowledge_base import KnowledgeBaseSource


@dataclass(frozen=True)
class Resources:
    """What the nodes of one graph work with. Nothing here is opened before a run needs it."""

    settings: Settings
    sources: dict[str, GroundedSource]
    schemas: dict[str, SourceSchema | None]
    prompts: Prompts
    templates: AnswerTemplates
    evidence: EvidenceStore
    chat_model: BaseChatModel | None = None
    query_model: BaseChatModel | None = None
    owned: tuple[GroundedSource, ...] = field(default=())

    @classmethod
    def build(
        cls,
        settings: Settings,
        *,
        sources: Sequence[GroundedSource] | None = None,
        chat_model: BaseChatModel | None = None,
        query_model: BaseChatModel | None = None,
        store: BaseStore | None = None,
    ) -> Resources:
        """The resources that `settings` describe; what is passed in stands beside the sources and in place of the
        models.

        Raises:
            ConfigurationError: something cannot work; every problem is listed.
        """
        prompts = Prompts(settings.at(settings.prompts.path) if settings.prompts.path else None)
        configured = _configured_sources(settings, from_python=sources)
        by_name = _by_name([*configured, *(sources or ())])
        schemas = {name: source.get_schema() for name, source in by_name.items()}
        _check(settings, schemas)
        chat = chat_model or configured_model(settings.llm, "llm")
        return cls(
            settings=settings,
            sources=by_name,
            schemas=schemas,
            prompts=prompts,
            templates=AnswerTemplates.compile(settings.synthesis, prompts),
            evidence=EvidenceStore(store),
            chat_model=chat,
            query_model=query_model
            or configured_model(settings.query_llm, "query_llm")
            or (_without_thinking(settings.llm) if chat_model is None else None)
            or chat,
            owned=tuple(configured),
        )

    async def close(self) -> None:
        """Close the sources that were built from the configuration; those passed in belong to whoever made them."""
        for source in self.owned:
            await source.close()


def _configured_sources(settings: Settings, *, from_python: Sequence[GroundedSource] | None) -> list[GroundedSource]:
    built: list[GroundedSource] = []
    errors: list[ConfigurationError] = []
    for number, entry in enumerate(settings.sources):
        key = f"sources[{number}]"
        try:
            options = SourceOptions(entry.name, entry.options, settings.base_dir, key)
            built.append(source_types.get(entry.type, key=f"{key}.type")(options))
        except ConfigurationError as error:
            errors.append(error)
    if errors:
        problems = [problem for error in errors for problem in error.problems]
        raise errors[0] if len(errors) == 1 else ConfigurationError(problems)
    if settings.knowledge_base is not None and not any(
        entry.type in ("knowledge_base", "vector_kb") for entry in settings.sources
    ):
        built.append(_knowledge_base(settings))
    if not built and from_python is None:
        built.append(_knowledge_base(settings))
    if not built and not from_python:
        raise ConfigurationError(
            [
                Problem(
                    "sources",
                    "there is nothing to search. Name a source, or leave `sources` out "
                    "for the knowledge base in .groundgraph/.",
                )
            ]
        )
    return built


def _knowledge_base(settings: Settings) -> GroundedSource:
    kb = settings.knowledge_base or KnowledgeBaseSettings()
    return KnowledgeBaseSource(settings.at(kb.file), fields=kb.fields)


def _by_name(sources: Sequence[GroundedSource]) -> dict[str, GroundedSource]:
    by_name: dict[str, GroundedSource] = {}
    for source in sources:
        if source.name in by_name:
            raise ConfigurationError([Problem("sources", f"two sources are called '{source.name}'")])
        by_name[source.name] = source
    return by_name


def _check(settings: Settings, schemas: dict[str, SourceSchema | None]) -> None:
    intent = settings.intent
    problems = [
        problem
        for key, filters in (("default_filters", intent.default_filters), ("filters", intent.filters))
        for problem in _filter_problems(f"intent.{key}", filters, schemas)
    ]
    problems += scope_problems(settings.retrieval.scope_filters, intent.default_filters, schemas)
    problems += [
        Problem(f"intent.{name}", f"belongs to mode '{mode}', but the mode is '{intent.mode}'")
        for name, mode in (("filters", "static"), ("text_queries", "static"), ("template", "template"))
        if getattr(intent, name) and intent.mode != mode
    ]
    if intent.mode == "template" and not intent.template:
        problems.append(Problem("intent.template", "mode 'template' needs a template"))
    if intent.mode == "static" and not (intent.text_queries or intent.include_message_as_query):
        problems.append(
            Problem("intent.text_queries", "mode 'static' needs queries, or include_message_as_query: true")
        )
    if problems:
        raise ConfigurationError(problems)


def _filter_problems(
    key: str, filters: dict[str, dict[str, Any]], schemas: dict[str, SourceSchema | None]
) -> list[Problem]:
    problems: list[Problem] = []
    for name, fields in filters.items():
        if name not in schemas:
            known = list(schemas)
            message = f"there is no source '{name}'.{nearest(name, known)} Known: {', '.join(known)}."
            problems.append(Problem(f"{key}.{name}", message))
            continue
        try:
            check_filters(schemas[name], fields, source=name)
        except FilterInvalid as error:
            problems.append(Problem(f"{key}.{name}", str(error)))
    return problems


def _without_thinking(settings: ModelSettings | None) -> BaseChatModel | None:
    """The main model once more with its thinking switched off, where its provider has a switch (I9)."""
    switches = _thinking_switches().get(str(settings.provider)) if settings else None
    if settings is None or not switches:
        return None
    return configured_model(settings.model_copy(update=switches), "llm")


@cache
def _thinking_switches() -> dict[str, dict[str, Any]]:
    text = (files("groundgraph.core") / "thinking_switches.yaml").read_text("utf-8")
    found: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return found

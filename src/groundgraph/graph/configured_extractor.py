"""What extracts intents: the model that the settings name, or what Python passes in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from langchain_core.runnables import Runnable

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.schema import SourceSchema, annotations_of
from groundgraph.models.chat_model import configured_model, named_model
from groundgraph.prompts import Prompts
from groundgraph.settings.search import IntentSettings
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from groundgraph.answers.ask_extractor import AskExtractor, Extractor

EXTRACTION = "intent.extraction_config"


def configured_extractor(
    settings: Settings,
    schemas: Mapping[str, SourceSchema | None],
    prompts: Prompts,
    passed: Extractor | str | None = None,
) -> AskExtractor | None:
    """The extractor; None when neither settings nor Python name one.

    Args:
        settings: the `intent` section.
        schemas: the declared fields of the sources, whose annotations are checked.
        prompts: the prompt files.
        passed: stands in place of `intent.extraction_config`.

    Raises:
        ConfigurationError: the model cannot be built, `passed` cannot be called, an annotation is wrong, or a key of
            the section would have no effect.
    """
    problems = extraction_problems(settings, has_extractor=passed is not None)
    passed = named_model(passed, "extractor") if isinstance(passed, str) else passed
    given: object = passed
    if given is not None and not (isinstance(given, Runnable) or callable(given)):
        told = f"takes a chat model, a Runnable or a function of the messages, not {type(passed).__name__}"
        problems.append(Problem("extractor", told))
    if problems:
        raise ConfigurationError(problems)
    for schema in schemas.values():
        if schema is not None:
            annotations_of(schema)
    chosen = passed or configured_model(settings.intent.extraction_config, EXTRACTION)
    if chosen is None:
        return None
    # Loaded by those who extract only, as chat models are.
    from groundgraph.answers.ask_extractor import AskExtractor

    return AskExtractor(chosen, prompts)


def _set_in_vain(intent: IntentSettings, names: Sequence[str], told: str) -> list[Problem]:
    return [Problem(f"intent.{name}", told) for name in names if getattr(intent, name)]


def extraction_problems(settings: Settings, *, has_extractor: bool = False) -> list[Problem]:
    """The keys of the `intent` section that would be taken and ignored."""
    intent = settings.intent
    extracts = has_extractor or intent.extraction_config is not None
    only_extract = ("extraction_config", "expand_ambiguous_queries", "output_style_hint", "x_extraction")
    foreign = _set_in_vain(intent, only_extract, f"belongs to mode 'extract', but the mode is '{intent.mode}'")
    if foreign and intent.mode != "extract":
        return foreign
    alone = _set_in_vain(
        intent, ("output_style_hint", "x_extraction"), "has no effect without intent.extraction_config"
    )
    problems = [] if extracts else alone
    if intent.include_assistant_context and not intent.expand_ambiguous_queries:
        told = "has no effect without intent.expand_ambiguous_queries: true"
        problems.append(Problem("intent.include_assistant_context", told))
    return problems

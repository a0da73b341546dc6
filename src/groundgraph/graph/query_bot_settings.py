"""The settings of a query bot's graph: those of the user, and the bot's own where the user's say nothing."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from groundgraph.core.errors import ConfigurationError
from groundgraph.core.load_settings import load_settings
from groundgraph.core.settings import Settings
from groundgraph.core.tracing_settings import TracingSettings
from groundgraph.prompts import Prompts

SectionT = TypeVar("SectionT", bound=BaseModel)


def bot_settings(given: Settings | None, system_prompt: str, *, memory: bool) -> Settings:
    """The settings.

    Every message is looked up as it stands (no small talk, no query model unless `intent` is configured), the best
    results count whatever their relevance, evidence of the document store stands before that of the memory, and spans
    are opened where OpenTelemetry is installed. The stores stand in place of the sources of `given`.

    Args:
        given: from `load_settings`; the defaults and the environment when absent.
        system_prompt: told to the model in every turn, before `synthesis.instruction`.
        memory: whether the bot has one.
    """
    settings = given if given is not None else load_settings(None)
    instruction = Prompts.of(settings).render(
        "query_bot_system", system_prompt=system_prompt, memory=memory, instruction=settings.synthesis.instruction
    )
    asked = settings.intent.model_fields_set - {"default_filters", "scope"}
    intent = settings.intent if asked else settings.intent.model_copy(update={"mode": "static"})
    return settings.model_copy(
        update={
            "sources": [],
            "knowledge_base": None,
            "intent": intent,
            "fast_path": _unless_set(settings.fast_path, enabled=False),
            "retrieval": _unless_set(settings.retrieval, merge="in_order", score_threshold=0.0),
            "synthesis": _unless_set(settings.synthesis, evidence_per_source=True).model_copy(
                update={"instruction": instruction.strip()}
            ),
            "tracing": _unless_set(settings.tracing, enabled=_can_trace()),
        }
    )


def _unless_set(section: SectionT, **values: object) -> SectionT:
    """`section` with those `values` that nobody has set."""
    return section.model_copy(
        update={name: value for name, value in values.items() if name not in section.model_fields_set}
    )


def _can_trace() -> bool:
    try:
        TracingSettings(enabled=True).require_packages()
    except ConfigurationError:
        return False
    return True

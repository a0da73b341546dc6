"""From a model's extraction to the intent of a turn: only what is declared and what the user's own words support."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from langchain_core.messages import BaseMessage

from groundgraph.answers.conversation import recent_conversation
from groundgraph.answers.extract_intent import Extraction
from groundgraph.answers.extracted_filters import ExtractedFilters, extracted_filters, shown
from groundgraph.answers.ground_fields import DateGround, UserWords, is_meant
from groundgraph.core.characters import clean_text
from groundgraph.core.intent import EMPTY_INTENT, SCOPES, STYLES, IntentState
from groundgraph.core.schema import ExtractionAnnotation, SourceSchema
from groundgraph.core.turn_values import Turn
from groundgraph.settings.search import IntentSettings
from groundgraph.settings.settings import Settings

# Bounds of what a checkpoint holds of one extraction.
RAW_CHARS = 4_000
MAX_DROPPED = 20
_MOST_DIGITS = 18
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# The index parameters in an intent's raw data come from templates and code, never from a model.
# What a model chooses beside the filters, with the cues that support it and what there is to choose from.
_CHOICES: dict[str, tuple[str, Sequence[str]]] = {"scope": ("scope", SCOPES), "output_style": ("style", STYLES)}
_NOT_THE_MODELS = "topic_index"


def held_fields(settings: Settings) -> dict[str, set[str]]:
    """Per source, the fields with a default or scope filter, which nothing else can set."""
    held: dict[str, set[str]] = {}
    for filters in (settings.intent.default_filters, settings.retrieval.scope_filters):
        for source, fields in filters.items():
            held.setdefault(source, set()).update(fields)
    return held


def extracted_intent(
    extraction: Extraction,
    settings: IntentSettings,
    schemas: Mapping[str, SourceSchema | None],
    held: Mapping[str, Collection[str]],
    turn: Turn,
    messages: Sequence[BaseMessage],
) -> IntentState:
    """The intent, with what was not believed in `dropped`.

    Args:
        extraction: what the model proposes.
        settings: the `intent` section.
        schemas: the declared fields of the sources that this run searches.
        held: see `held_fields`.
        turn: its message supports values; its day tells what "yesterday" is.
        messages: the thread, for the years that it speaks of.
    """
    said = UserWords(turn["question"])
    days = DateGround(turn["question"], day_of(turn), _years(settings, turn, messages))
    found = extracted_filters(extraction.values.get("filters"), schemas, held, said, days)
    scope, style = (_chosen(name, extraction, settings, said, found) for name in _CHOICES)
    for name, value in extraction.extra.items():
        found.drop(name, value, "undeclared", "an intent has no such key")
    return {
        **EMPTY_INTENT,
        "mode": "extract",
        "text_queries": extraction.text_queries,
        "filters": found.filters,
        "scope": scope or settings.scope,
        "output_style": style,
        "raw_data": recorded(extraction.raw),
        "dropped": found.dropped[:MAX_DROPPED],
    }


def day_of(turn: Turn) -> date:
    """The day, in UTC, on which the turn began; a turn that is resumed later keeps it."""
    return datetime.fromtimestamp(turn["started_at"], UTC).date()


def _years(settings: IntentSettings, turn: Turn, messages: Sequence[BaseMessage]) -> set[int]:
    turns = settings.max_context_turns if settings.use_conversation_context else 0
    texts = [settings.domain_context, *(str(one.text) for one in recent_conversation(messages, turn, turns))]
    return {int(year) for text in texts for year in _YEAR.findall(text)}


def _chosen(
    name: str, extraction: Extraction, settings: IntentSettings, said: UserWords, found: ExtractedFilters
) -> str | None:
    """The model's choice of one of `_CHOICES`; None when it made none, or the user's words do not support it."""
    cues, allowed = _CHOICES[name]
    value = extraction.values.get(name)
    if value in (None, "", [], {}):
        return None
    chosen = value.strip().lower() if isinstance(value, str) else ""
    if chosen not in allowed:
        found.drop(name, value, "value", f"it is one of {', '.join(allowed)}")
        return None
    annotation = settings.x_extraction.get(name, ExtractionAnnotation())  # type: ignore[call-overload]
    if not is_meant(cues, chosen, annotation, said):
        found.drop(name, value, "unsaid", "the user's words do not ask for it")
        return None
    return chosen


def recorded(raw: Mapping[str, Any]) -> dict[str, Any]:
    """`raw` as a checkpoint and a record can hold it; the beginning of its text when it is long."""
    own = {key: value for key, value in raw.items() if key != _NOT_THE_MODELS}
    text = clean_text(json.dumps(own, ensure_ascii=False, default=str))
    if len(text) > RAW_CHARS:
        return {"reply": shown(text)}
    found: dict[str, Any] = json.loads(text, parse_int=_integer, parse_constant=str, parse_float=_number)
    return found


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


def _number(digits: str) -> float | str:
    value = float(digits)
    return digits if value in (float("inf"), float("-inf")) else value

"""The state of the dialogue as a turn keeps it: the names, and the facts by reference (C7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from groundgraph.core.clean_text import clean_text
from groundgraph.core.dialogue_state import DIALOGUE_STATE, SOURCE_TYPE, DialogueState, StateFact, dialogue_state
from groundgraph.core.errors import InputInvalid
from groundgraph.core.evidence import EvidenceRecord, SourceResult, evidence_key, to_record
from groundgraph.core.turn_values import StateValue
from groundgraph.prompts import Prompts


@dataclass(frozen=True)
class StateOfTurn:
    """What a turn begins with.

    Attributes:
        value: for the turn's state, None when nobody names a state.
        records: the facts that were given word for word, by evidence key.
        issues: sentences for the reader.
    """

    value: StateValue | None = None
    records: dict[str, EvidenceRecord] = field(default_factory=dict)
    issues: list[str] = field(default_factory=list)


def state_of_turn(
    metadata: Mapping[str, Any], options: dict[str, Any], prompts: Prompts, language: str, scope: str = ""
) -> StateOfTurn:
    """The state that context or session names. One that is none is left out, and the reader is told. The facts
    are kept in `scope`.

    `dialogue_state` is taken out of `options`, which every checkpoint of the turn holds: texts belong to the store.
    """
    chosen = {name: options.pop(name) for name in (DIALOGUE_STATE,) if name in options}
    try:
        named = dialogue_state(metadata, chosen)
    except InputInvalid as error:
        return StateOfTurn(issues=[prompts.note("state_ignored", language, reason=str(error))])
    if named == DialogueState():
        return StateOfTurn()
    records = _records(named, scope)
    value: StateValue = {
        "name": named.name,
        "intent": named.intent,
        "categories": list(named.categories),
        "facts": list(records),
    }
    return StateOfTurn(value, records)


def _records(state: DialogueState, scope: str) -> dict[str, EvidenceRecord]:
    results = (_result(state, number, fact) for number, fact in enumerate(state.facts, 1))
    records = (to_record(result, scope) for result in results if result.content.strip())
    return {evidence_key(record): record for record in records}


def _result(state: DialogueState, number: int, fact: StateFact) -> SourceResult:
    named = {"title": fact.title or state.name, "url": fact.url, "category": fact.category}
    metadata = {name: value for name, value in named.items() if value}
    return SourceResult(
        clean_text(fact.text),
        fact.id or f"{state.name or 'state'}/{number}",
        DIALOGUE_STATE,
        SOURCE_TYPE,
        1.0,
        metadata,
    )

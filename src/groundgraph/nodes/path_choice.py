"""How a turn retrieves, where there is a choice: by stages, from the facts of the dialogue's state, or plainly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph.runtime import Runtime

from groundgraph.core.characters import clean_text
from groundgraph.core.errors import InputInvalid
from groundgraph.core.evidence import EvidenceRecord, SourceResult, evidence_key, to_record
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.turn_values import EMPTY_DRAFT, Draft, StateValue, Turn
from groundgraph.nodes.node import evidence_scope
from groundgraph.prompts import Prompts
from groundgraph.settings.context import DIALOGUE_STATE, SOURCE_TYPE, Context, DialogueState, StateFact, dialogue_state
from groundgraph.settings.settings import Settings
from groundgraph.text.small_talk import small_talk

# The state of the dialogue as a turn keeps it: the names, and the facts by reference.


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


@dataclass(frozen=True)
class PathChoice:
    """Chooses the path when a turn begins, so that a resumed turn keeps it.

    Attributes:
        settings: which paths there are.
        prompts: the prompt files.
        evidence: where the facts of the dialogue's state are kept.
    """

    settings: Settings
    prompts: Prompts
    evidence: EvidenceStore

    async def __call__(
        self, turn: Turn, draft: Draft, metadata: Mapping[str, Any], runtime: Runtime[Context]
    ) -> tuple[Draft, dict[str, EvidenceRecord]]:
        """Completes `turn`; gives the reply that is ready, and the facts that no store could take.

         A message that is nothing but small talk is answered from the facts of the dialogue's state, where it has any
        ; the ready reply then stands in when nothing comes of them.
        """
        scope = evidence_scope(self.settings, runtime, turn["options"])
        found = state_of_turn(metadata, turn["options"], self.prompts, turn["language"], scope)
        turn["issues"] = [*turn["issues"], *found.issues]
        paths = self.settings.paths
        turn["path"] = turn["options"].get("retrieval_path") or next(iter(paths))
        if found.value is None:
            return draft, {}
        turn["state"] = found.value
        if draft["text"] and self._answers_small_talk(turn, found.value):
            turn["path"], turn["small_talk"] = "state_facts", draft
            draft = EMPTY_DRAFT
        return draft, await self.evidence.save(runtime.store, found.records)

    def _answers_small_talk(self, turn: Turn, state: StateValue) -> bool:
        named = state["facts"] or state["categories"]
        wanted = turn["path"] != "cascade" and "state_facts" in self.settings.paths
        return bool(named and wanted and small_talk(turn["question"], self.settings.fast_path.languages))

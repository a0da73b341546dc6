"""How a turn retrieves, where there is a choice: by stages, from the facts of the dialogue's state, or plainly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.runtime import Runtime

from groundgraph.core.context import Context
from groundgraph.core.evidence import EvidenceRecord
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.core.small_talk import small_talk
from groundgraph.core.turn_values import Draft, Turn
from groundgraph.nodes.dialogue_state import state_of_turn
from groundgraph.nodes.enforced import evidence_scope
from groundgraph.prompts import Prompts


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
        (T6); the ready reply then stands in when nothing comes of them.
        """
        scope = evidence_scope(self.settings, runtime, turn["options"])
        found = state_of_turn(metadata, turn["options"], self.prompts, turn["language"], scope)
        turn["issues"] = [*turn["issues"], *found.issues]
        paths = self.settings.paths
        turn["path"] = turn["options"].get("retrieval_path") or next(iter(paths))
        if found.value is None:
            return draft, {}
        turn["state"] = found.value
        if draft and self._answers_small_talk(turn):
            turn["path"], turn["small_talk"] = "state_facts", draft
            draft = {}
        return draft, await self.evidence.save(runtime.store, found.records)

    def _answers_small_talk(self, turn: Turn) -> bool:
        named = turn["state"]["facts"] or turn["state"]["categories"]
        wanted = turn["path"] != "cascade" and "state_facts" in self.settings.paths
        return bool(named and wanted and small_talk(turn["question"], self.settings.fast_path.languages))

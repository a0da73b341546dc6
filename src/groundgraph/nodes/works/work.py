"""What a work of `process_results` is: from a `View` of the turn to a `Change` of its ranking.

The file of a work holds one function, called like the work, that is given the parts of the graph and returns it. Its
time, its event, its notes and its entry in the record are made once for all, in `process_results`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.chains.merge import Hit
from groundgraph.core.context import Context, Options
from groundgraph.core.evidence import EvidenceRecord, SourceResult, from_record
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.intent import IntentState
from groundgraph.core.result_settings import ResultProcessingSettings
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import Ranking, Ref, Retrieval, RetrievalPath, Turn
from groundgraph.prompts import Prompts
from groundgraph.sources.contract import GroundedSource

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from groundgraph.chains.budget import Budget
    from groundgraph.chains.clustering.cluster_method import ClusterMethod
    from groundgraph.chains.count_tokens import TokenCounter
    from groundgraph.chains.rerank import Rerank


class RankingInput(TypedDict, total=False):
    """What the works read of a turn's state."""

    metadata: dict[str, Any]
    turn: Turn
    intent: IntentState
    retrievals: dict[str, Retrieval]
    bodies: dict[str, EvidenceRecord]


@dataclass(frozen=True)
class WorkParts:
    """What works are made of: what a graph has, and one of its paths of retrieval."""

    settings: Settings
    sources: Mapping[str, GroundedSource]
    evidence: EvidenceStore
    prompts: Prompts
    chat_model: BaseChatModel | None
    rerankers: Mapping[str, Rerank]
    clustering: Sequence[ClusterMethod]
    path: RetrievalPath = "cascade"

    @property
    def way(self) -> ResultProcessingSettings:
        """How results are processed on this path."""
        return self.settings.paths[self.path]

    @cached_property
    def counter(self) -> TokenCounter:
        """What counts the tokens of a context."""
        from groundgraph.chains.count_tokens import TokenCounter

        return TokenCounter(self.chat_model)

    @cached_property
    def budgets(self) -> list[Budget]:
        """What a context of this path may take up."""
        from groundgraph.chains.budgets_of import budgets_of

        return budgets_of(self.settings, self.way, self.counter, self.chat_model)


@dataclass(frozen=True)
class View:
    """A turn as a work sees it.

    Attributes:
        parts: what the graph has.
        state: the turn's, from before all works.
        runtime: of the run.
        options: those in force.
        scope: that of the evidence.
        ranking: as the work before left it; empty before the first one.
        known: the evidence that works have read or made, by key.
    """

    parts: WorkParts
    state: RankingInput
    runtime: Runtime[Context]
    options: Options
    scope: str
    ranking: Ranking = field(default_factory=Ranking)
    known: dict[str, EvidenceRecord] = field(default_factory=dict)

    @property
    def refs(self) -> list[Ref]:
        """The references of the ranking."""
        return self.ranking.get("refs", [])

    @property
    def turn(self) -> Turn:
        """The turn."""
        return self.state["turn"]

    async def records(self, refs: Sequence[Ref] | None = None) -> dict[str, EvidenceRecord]:
        """The evidence of `refs`, or of the ranking, by key; there may be more.

        Raises:
            EvidenceMissing: see `EvidenceStore.load`.
        """
        missing = [ref[0] for ref in (self.refs if refs is None else refs) if ref[0] not in self.known]
        if missing:
            bodies = self.state.get("bodies")
            self.known.update(await self.parts.evidence.load(self.runtime.store, missing, bodies, scope=self.scope))
        return self.known

    async def results(self, refs: Sequence[Ref] | None = None) -> list[SourceResult]:
        """What `refs`, or those of the ranking, stand for; as `records`."""
        wanted = self.refs if refs is None else refs
        records = await self.records(wanted)
        return [from_record(records[ref[0]], ref[1], ref[2]) for ref in wanted]

    def note(self, name: str, **values: Any) -> str:
        """A sentence for the reader."""
        return self.parts.prompts.note(name, self.turn["language"], **values)

    def after(self, change: Change) -> View:
        """The view of the next work."""
        ranking: Ranking = {
            **self.ranking,
            **change.values,
            "refs": list(change.refs),
            "strategies": {**self.ranking.get("strategies", {}), **change.ran},
        }
        if change.notes:
            ranking["issues"] = [*self.ranking.get("issues", []), *change.notes]
        self.known.update(change.records)
        return replace(self, ranking=ranking)


@dataclass
class Change:
    """What a work makes of a ranking.

    Attributes:
        refs: the references that are left, in order.
        ran: what ran, by strategy; for the record.
        notes: sentences for the reader.
        values: what else of the ranking changes.
        records: the evidence that the work made, by key.
        told: what its event says beside the number of results.
        why: why it left out what it left out: for all, or by key.
        came_in: how many results came in, where it was not the ranking.
    """

    refs: Sequence[Ref]
    ran: dict[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    values: Ranking = field(default_factory=Ranking)
    records: Mapping[str, EvidenceRecord] = field(default_factory=dict)
    told: Mapping[str, Any] = field(default_factory=dict)
    why: str | Mapping[str, str] = ""
    came_in: int | None = None


Work = Callable[[View], Awaitable[Change]]


def hits_of(refs: Sequence[Ref], records: Mapping[str, EvidenceRecord]) -> list[Hit]:
    """The references with the names of what they refer to."""
    named = ((key, records[key], relevance, score) for key, relevance, score in refs)
    return [
        Hit(key, record["source_name"], record["source_id"], relevance, score, record["content"])
        for key, record, relevance, score in named
    ]


def ref_of(hit: Hit) -> Ref:
    """The hit as the state holds it."""
    return [hit.key, hit.relevance, hit.score]


def parts_of(ranking: Ranking, key: str) -> list[str]:
    """The keys of the chunks that a piece of evidence consists of."""
    return ranking.get("joined", {}).get(key, [key])

"""The results of all sources become one ranking: merging first, then the works that are configured, in their order."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypeVar

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.answers.budget import TokenCounter, budgets_of
from groundgraph.core.embedder import Embedder
from groundgraph.core.evidence import EvidenceRecord, Hit, SourceResult, from_record, is_stated
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.intent import IntentState
from groundgraph.core.turn_values import EMPTY_RANKING, Ranking, Ref, Retrieval, RetrievalPath, Turn, WorkReport
from groundgraph.nodes.node import Node, evidence_scope
from groundgraph.prompts import Prompts
from groundgraph.resilience.blocking import run_blocking
from groundgraph.resilience.bounds import DeadlinePassed, within
from groundgraph.settings.answers import ResultProcessingSettings
from groundgraph.settings.context import Context, Options, options_in_force
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from groundgraph.answers.budget import Budget
    from groundgraph.answers.clustering import ClusterMethod
    from groundgraph.answers.strategy_chain import Rerank


# What a work is: from a `View` of the turn to a `Change` of its ranking. The file of a work holds one function, called
# like the work, that is given the parts of the graph and returns it. Its time, its event, its notes and its entry in
# the record are made once for all, below.

# A call that costs money or time is made once in a turn, also when something behind it fails.


async def paid_call(work: str, refs: Sequence[Ref], call: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    """What `call` gives: in a step that runs again, what it gave the first time.

    LangGraph keeps it as a task of the running step, in the order in which the tasks of a step are called; so a work
    calls in a fixed order.

    Args:
        work: the name of the work, which the task has in what is streamed.
        refs: what the call is about. It is made anew when the works before came to another ranking this time, for
            example because a source answers again.
        call: gives a mapping of plain values, since it stands in a checkpoint.
    """
    # Not loaded by those who pay for nothing.
    from langgraph.func import task

    about = [ref[0] for ref in refs]

    async def paid() -> dict[str, Any]:
        return {**await call(), "about": about}

    kept: dict[str, Any] = await task(paid, name=work)()  # type: ignore[call-overload]
    if kept["about"] != about:
        kept = await task(paid, name=work)()  # type: ignore[call-overload]
    return kept


# Work that counts tokens, which a model's own counter may block in.

T = TypeVar("T")

# Seconds for counting the tokens of a turn; a tokenizer is fetched within them, or not at all.
COUNTER_LIMIT = 5.0


async def counted(counter: TokenCounter, work: Callable[[], T]) -> T:
    """The result of `work`, which counts with `counter`.

    A model's own counter runs beside the event loop, and one that takes too long is given up for an estimate.
    """
    if counter.method == "estimate":
        return work()
    try:
        return await within(COUNTER_LIMIT, run_blocking(work))
    except DeadlinePassed:
        counter.give_up()
        return work()


class RankingInput(TypedDict, total=False):
    """What the works read of a turn's state."""

    messages: list[AnyMessage]
    metadata: dict[str, Any]
    turn: Turn
    intent: IntentState
    retrievals: dict[str, Retrieval]
    bodies: dict[str, EvidenceRecord]


Reader = Literal["model", "caller"]
"""Who reads what is found: the model that writes the answer, or whoever asked for a context."""


@dataclass(frozen=True)
class WorkParts:
    """What works are made of: what a graph has, one of its paths of retrieval, and who reads what is found, if it is
    not just quoted."""

    settings: Settings
    sources: Mapping[str, GroundedSource]
    evidence: EvidenceStore
    prompts: Prompts
    chat_model: BaseChatModel | None
    rerankers: Mapping[str, Rerank]
    clustering: Sequence[ClusterMethod]
    embedder: Embedder | None = None
    path: RetrievalPath = "cascade"
    reader: Reader | None = None

    @property
    def way(self) -> ResultProcessingSettings:
        """How results are processed on this path."""
        return self.settings.paths[self.path]

    @cached_property
    def counter(self) -> TokenCounter:
        """What counts the tokens of a context."""
        return TokenCounter(self.chat_model)

    @cached_property
    def budgets(self) -> list[Budget]:
        """What a context of this path may take up."""
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
    ranking: Ranking = field(default_factory=lambda: EMPTY_RANKING)
    known: dict[str, EvidenceRecord] = field(default_factory=dict)

    @property
    def refs(self) -> list[Ref]:
        """The references of the ranking."""
        return self.ranking["refs"]

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
            **(change.ranking or self.ranking),
            "refs": list(change.refs),
            "strategies": {**self.ranking["strategies"], **change.ran},
        }
        if change.notes:
            ranking["issues"] = [*self.ranking["issues"], *change.notes]
        self.known.update(change.records)
        return replace(self, ranking=ranking)


@dataclass
class Change:
    """What a work makes of a ranking.

    Attributes:
        refs: the references that are left, in order.
        ran: what ran, by strategy; for the record.
        notes: sentences for the reader.
        ranking: the ranking where more of it changes.
        records: the evidence that the work made, by key.
        told: what its event says beside the number of results.
        why: why it left out what it left out: for all, or by key.
        came_in: how many results came in, where it was not the ranking.
    """

    refs: Sequence[Ref]
    ran: dict[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    ranking: Ranking | None = None
    records: Mapping[str, EvidenceRecord] = field(default_factory=dict)
    told: Mapping[str, Any] = field(default_factory=dict)
    why: str | Mapping[str, str] = ""
    came_in: int | None = None


Work = Callable[[View], Awaitable[Change]]


def hits_of(refs: Sequence[Ref], records: Mapping[str, EvidenceRecord]) -> list[Hit]:
    """The references with the names of what they refer to."""
    named = ((key, records[key], relevance, score) for key, relevance, score in refs)
    return [
        Hit(
            key,
            record["source_name"],
            record["source_id"],
            relevance,
            score,
            record["content"],
            is_stated(record["metadata"]),
        )
        for key, record, relevance, score in named
    ]


def ref_of(hit: Hit) -> Ref:
    """The hit as the state holds it."""
    return [hit.key, hit.relevance, hit.score]


def parts_of(ranking: Ranking, key: str) -> list[str]:
    """The keys of the chunks that a piece of evidence consists of."""
    return ranking["joined"].get(key, [key])


class ProcessResultsUpdate(TypedDict):
    """What the step writes: the ranking, and new evidence where there is no store for it."""

    ranking: Ranking
    bodies: NotRequired[dict[str, EvidenceRecord]]


def process_results(
    parts: WorkParts, works: Mapping[RetrievalPath, Mapping[str, Work]]
) -> Node[RankingInput, ProcessResultsUpdate]:
    """The node.

    Nothing of an earlier ranking enters: a turn that stopped between two steps of a version in which each work was one
    begins with merging again.

    Args:
        parts: what the graph has.
        works: those of each path of retrieval, in their order, by name.
    """
    settings, evidence = parts.settings, parts.evidence

    async def process_results(state: RankingInput, runtime: Runtime[Context]) -> ProcessResultsUpdate:
        options = options_in_force(settings, state["turn"]["options"], runtime.context)
        scope = evidence_scope(settings, runtime, state["turn"]["options"])
        view, made = View(parts, state, runtime, options, scope), dict[str, EvidenceRecord]()
        for name, work in _of_path(works, state["turn"]).items():
            started = time.perf_counter()
            change = await work(view)
            report = _report(name, view, change, started)
            view = view.after(change)
            view.ranking["works"] = [*view.ranking["works"], report]
            made.update(change.records)
            runtime.stream_writer({"stage": name, "results": len(change.refs), **change.told})
        update: ProcessResultsUpdate = {"ranking": view.ranking}
        if made:
            update["bodies"] = await evidence.save(runtime.store, made)
        return update

    return process_results


def _of_path(works: Mapping[RetrievalPath, Mapping[str, Work]], turn: Turn) -> Mapping[str, Work]:
    """The works for the path of `turn`; those of the plain one for a turn that began before there were paths, or under
    a configuration that had others."""
    return works.get(turn["path"] or "cascade", works["cascade"])


def _report(name: str, view: View, change: Change, started: float) -> WorkReport:
    """What the record says of a work that began at `started` of the performance counter."""
    stay = {ref[0] for ref in change.refs}
    left_out: dict[str, list[str]] = {}
    for ref in view.refs:
        if ref[0] not in stay:
            reason = change.why if isinstance(change.why, str) else change.why.get(ref[0], "")
            left_out.setdefault(reason, []).append(ref[0])
    return {
        "step": name,
        "came_in": len(view.refs) if change.came_in is None else change.came_in,
        "went_out": len(change.refs),
        "left_out": left_out,
        "elapsed_ms": round((time.perf_counter() - started) * 1000, 3),
    }


async def choose_answer(state: ProcessResultsUpdate) -> str:
    """The style that writes the answer, as `process_results` decided.

    A branch reads decisions from the state and makes none: when a state is edited, LangGraph runs it without a context.
    """
    return state["ranking"]["style"] or "no evidence"

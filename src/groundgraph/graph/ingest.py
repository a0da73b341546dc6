"""The ingest graph: documents in, batch by batch; what did not change is left as it is."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NotRequired, Self, Unpack
from uuid import uuid4

from langgraph.channels import UntrackedValue
from langgraph.channels.base import Value
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from pydantic import Field
from typing_extensions import TypedDict, override

from groundgraph.core.chain import IngestChains
from groundgraph.core.document import DOCUMENTS, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import Problem, refuse_any
from groundgraph.core.knowledge_store import KnowledgeStore
from groundgraph.core.latest import Latest
from groundgraph.graph.ingest_resources import IngestResources, SharedStore
from groundgraph.graph.ingest_runner import IngestOutput, IngestRunner
from groundgraph.graph.parts import GraphParts, Models, Parts, takes
from groundgraph.graph.state import Lifetime
from groundgraph.ingest.builtin_chains import ingest_chains
from groundgraph.ingest.ingest_report import IngestReport, ReportValues, combined
from groundgraph.ingest.readers import Readers
from groundgraph.nodes.ingest.cut_chunks import cut_chunks
from groundgraph.nodes.ingest.embed_texts import embed_texts
from groundgraph.nodes.ingest.find_documents import find_documents
from groundgraph.nodes.ingest.finish_ingest import finish_ingest
from groundgraph.nodes.ingest.load_documents import load_documents
from groundgraph.nodes.ingest.work import IngestEvent, Job, Plan
from groundgraph.nodes.ingest.write_documents import write_documents
from groundgraph.nodes.ingest.write_texts import write_matching_texts, write_qualifying_texts
from groundgraph.settings.load_settings import GivenSettings
from groundgraph.settings.settings import Settings
from groundgraph.sources.knowledge_base.schema import LOCK_TIMEOUT
from groundgraph.sources.knowledge_base.store import EmbeddedStore
from groundgraph.tracing.tracing import state_graph, traced_runs

# A channel whose value stays in the process, so that a run that stops between two steps goes on with it.

# Of two threads that are stepped through at once.
HELD_VALUES = 2


class HeldValue(UntrackedValue[Value]):
    """Like `UntrackedValue`, except that a checkpoint holds a name for the value.

    Under that name the graph keeps the latest values of all its runs, `HELD_VALUES` in number. A run that is resumed in
    another process, by another graph, or long afterwards finds the channel empty.
    """

    __slots__ = ("_held", "_name")

    def __init__(self, typ: type[Value], guard: bool = True, held: Latest[str, Value] | None = None) -> None:
        super().__init__(typ, guard)
        self._name: str | None = None
        self._held: Latest[str, Value] = Latest(HELD_VALUES) if held is None else held

    @override
    def copy(self) -> Self:
        copied = self._empty()
        copied.value, copied._name = self.value, self._name
        return copied

    @override
    def update(self, values: Sequence[Value]) -> bool:
        changed = super().update(values)
        if changed:
            self._name = None
        return changed

    def checkpoint(self) -> Value | Any:
        """The name of the value; LangGraph's own mark for nothing when there is none."""
        if not self.is_available():
            return super().checkpoint()
        self._name = self._name or uuid4().hex
        self._held.put(self._name, self.value)
        return self._name

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """The channel with the value of that name, empty when it is not held any more."""
        restored = self._empty()
        held = self._held.get(checkpoint) if isinstance(checkpoint, str) else None
        if held is not None:
            restored.value, restored._name = held, checkpoint
        return restored

    def _empty(self) -> Self:
        empty = self.__class__(self.typ, self.guard, self._held)
        empty.key = self.key
        return empty


# The state of an ingest: which channel lives how long, and who writes it.


class IngestInput(TypedDict):
    """What a caller gives.

    `paths` are files, folders and web addresses; without any, and without documents, `knowledge_base.path`.
    `documents` are `Document`s, or mappings with `name`, `text`, `metadata`, `kind`, from any iterable, also an
    asynchronous one; they are read bit by bit and stand in no checkpoint. With `dry_run` nothing is written; with
    `rebuild` everything that the base holds is looked at too, and may change its embedding model. With `follow_links`
    links that lead out of a given folder are followed, as with the setting of that name. `passed_in` is set by the
    graph: documents were given.
    """

    paths: NotRequired[
        Annotated[list[str], Field(description="Files, folders and web addresses; the configured folder when absent.")]
    ]
    documents: NotRequired[
        Annotated[Any, Field(description="Documents as mappings with name, text and metadata."), UntrackedValue]
    ]
    dry_run: NotRequired[Annotated[bool, Field(description="Tell what would be done and write nothing.")]]
    rebuild: NotRequired[Annotated[bool, Field(description="Look at everything that the base holds, too.")]]
    follow_links: NotRequired[Annotated[bool, Field(description="Follow links that lead out of a given folder.")]]
    passed_in: NotRequired[bool]


class IngestState(TypedDict, total=False):
    """Every channel of the ingest graph.

    The texts of documents stand in no checkpoint: a run that is resumed in another process plans anew, and the ledger
    of the base tells what is done. Within one process it goes on where it stopped, so that it can be stepped through.
    """

    paths: Annotated[list[str], Lifetime("turn")]
    dry_run: Annotated[bool, Lifetime("turn")]
    rebuild: Annotated[bool, Lifetime("turn")]
    follow_links: Annotated[bool, Lifetime("turn")]
    passed_in: Annotated[bool, Lifetime("turn")]
    report: Annotated[ReportValues, Lifetime("turn"), combined]

    documents: Annotated[Any, Lifetime("run"), UntrackedValue]
    plan: Annotated[Plan, Lifetime("run"), HeldValue]
    batch: Annotated[list[Job], Lifetime("run"), HeldValue]


# What streams and checkpoints show; the others hold whole documents.
SHOWN = ["paths", "dry_run", "rebuild", "follow_links", "passed_in", "report"]


@takes(GraphParts)
def ingest_graph(
    settings: GivenSettings = None,
    *,
    source: str | None = None,
    knowledge_store: KnowledgeStore | None = None,
    within: Path | None = None,
    workers: int | None = None,
    **parts: Unpack[GraphParts],
) -> IngestRunner:
    """The compiled graph that fills a knowledge base. It opens nothing by itself.

    Args:
        settings: from `load_settings`, or what it takes.
        source: the name of the knowledge base to fill, when there are several.
        knowledge_store: writes in place of the embedded file; whoever passes it in closes it.
        within: paths outside of this folder are refused, for graphs that others can call.
        workers: the processes that read documents; as many as there are cores when None.
        parts: see `GraphParts`; the chains that call a model use the query model before the chat model. The base keeps
            a ledger, so an ingest that was cut short goes on without a checkpointer as well; its store is that of a
            larger graph. An ingest searches nothing, so sources, a reranker and an extractor are refused.

    Raises:
        ConfigurationError: the settings cannot work; every problem is listed.
    """
    _refuse_what_searches(parts)
    models = Models(
        chat_model=parts.get("chat_model"), query_model=parts.get("query_model"), embeddings=parts.get("embeddings")
    )
    resources = IngestResources.build(settings, source=source, knowledge_store=knowledge_store, **models)
    if workers is not None:
        resources = replace(resources, readers=partial(Readers, size=workers))
    checkpointer, store = parts.get("checkpointer"), parts.get("store")
    return compiled_ingest(resources, checkpointer=checkpointer, store=store, within=within)


def _refuse_what_searches(parts: Parts) -> None:
    given = {"sources": parts.get("sources"), "reranker": parts.get("reranker"), "extractor": parts.get("extractor")}
    told = "belongs to a turn; an ingest has no use for it"
    problems = [Problem(name, told) for name, one in given.items() if one is not None]
    refuse_any(problems)


def compiled_ingest(
    resources: IngestResources,
    *,
    checkpointer: Any = None,
    store: BaseStore | None = None,
    within: Path | None = None,
) -> IngestRunner:
    """The graph over `resources`; the other arguments are those of `ingest_graph`."""
    compiled = _builder(resources, within).compile(checkpointer=checkpointer, store=store, name="ingest")
    readers = partial(resources.readers, resources.base.reader)
    # Streams show the state without the documents that are under way.
    compiled.stream_channels = SHOWN
    return traced_runs(IngestRunner.adopt(compiled, resources.store, readers), resources.settings.tracing)


def _builder(resources: IngestResources, within: Path | None) -> StateGraph[Any, Any, Any, Any]:
    settings, base, store = resources.settings, resources.base, resources.store
    chains_of, embedder, at_once = resources.chains_of, resources.embedder, base.concurrency
    model = embedder.name if embedder else ""
    builder = state_graph(settings.tracing)(IngestState, input_schema=IngestInput, output_schema=IngestOutput)
    steps = {
        "find_documents": find_documents(
            settings, store, resources.chain_names, embedder, within=within, share=resources.share
        ),
        "load_documents": load_documents(
            base, store, chains_of, resources.rules, embedding_model=model, size=resources.size
        ),
        "cut_chunks": cut_chunks(store, chains_of, at_once=at_once),
        "write_qualifying_texts": write_qualifying_texts(chains_of, at_once=at_once),
        "write_matching_texts": write_matching_texts(chains_of, at_once=at_once),
        **({"embed_texts": embed_texts(embedder, settings, at_once=at_once)} if embedder else {}),
        "write_documents": write_documents(store),
        "finish_ingest": finish_ingest(settings, store, resources.rules.fields, within=within),
    }
    for name, step in steps.items():
        builder.add_node(name, step)
    _wire(builder, list(steps))
    return builder


def _wire(builder: StateGraph[Any, Any, Any, Any], names: list[str]) -> None:
    """One step after the other, and after each batch the next one."""
    first, load, *work, write, finish = names
    builder.add_edge(START, first)
    builder.add_edge(first, load)
    builder.add_conditional_edges(load, after_loading, {"work": work[0], "more": load, "again": first, "end": finish})
    for step, following in zip(work, [*work[1:], write], strict=True):
        builder.add_edge(step, following)
    builder.add_conditional_edges(write, after_batch, {"more": load, "again": first, "end": finish})
    builder.add_edge(finish, END)


async def after_loading(state: IngestState) -> str:
    """`work` when documents changed, else what `after_batch` says."""
    return "work" if state.get("batch") else await after_batch(state)


async def after_batch(state: IngestState) -> str:
    """`more` while the plan holds documents, `end` after the last, `again` when a resumed run has no plan."""
    plan = state.get("plan")
    if plan is None:
        return "again"
    return "end" if plan.exhausted else "more"


# Running an ingest from Python, with its progress and its report.

# Called with the number of documents done, how many there are (None when unknown) and the name of the last one.
Progress = Callable[[int, int | None, str], None]
OnEvent = Callable[[IngestEvent], None]


async def run_ingest(
    graph: IngestRunner, given: IngestInput | dict[str, Any], *, on_event: OnEvent | None = None
) -> IngestReport:
    """Run `graph` on the input `given`, and tell `on_event` on the event loop how it goes.

    Raises:
        GroundGraphError: see `IngestRunner.astream`.
    """
    report: ReportValues = {}
    async for mode, item in graph.astream(given, stream_mode=["custom", "values"]):
        if mode == "values":
            report = item.get("report", report)
        elif on_event:
            on_event(item)
    return IngestReport.of(report)


def counting(on_progress: Progress) -> OnEvent:
    """A listener that calls `on_progress` for each document that is dealt with."""
    done = 0
    total: int | None = None

    def listen(event: IngestEvent) -> None:
        nonlocal done, total
        total = event.get("total", total)
        for name in event.get("finished", ()):
            done += 1
            on_progress(done, total, name)

    return listen


async def ingest_documents(
    path_of_sqlite: str | Path,
    documents: Iterable[Document] | AsyncIterable[Document],
    *,
    chains: IngestChains | None = None,
    embedder: Embedder | None = None,
    on_progress: Progress | None = None,
    lock_timeout: float = LOCK_TIMEOUT,
) -> IngestReport:
    """Take `documents` into the knowledge base in `path_of_sqlite`, each in place of the one of its name.

    The iterable is read bit by bit. What was written before an error or a cancellation stays; the same call then goes
    on where it stopped. For a base as a configuration describes it, use `ingest_graph`.

    Args:
        path_of_sqlite: the file, created when it is not there.
        documents: the documents.
        chains: how they are cut and by what they are found; those of `Settings()` when absent.
        embedder: an embedding model; None for a base that is searched by words alone.
        on_progress: called on the event loop for each document that is dealt with.
        lock_timeout: seconds to wait for another process that writes.

    Raises:
        SchemaVersionUnsupported: a newer groundgraph wrote the file.
        EmbeddingModelChanged: the base holds vectors of another model.
        StorageLocked: another process held the file for too long.
    """
    path = Path(path_of_sqlite)
    settings = Settings()
    used = chains or ingest_chains(settings, DOCUMENTS)
    resources = IngestResources(
        settings,
        SharedStore(lambda: EmbeddedStore(path, lock_timeout=lock_timeout), path),
        lambda _: used,
        {DOCUMENTS: used.signature},
        embedder=embedder,
    )
    graph = compiled_ingest(resources, checkpointer=False)
    return await run_ingest(graph, {"documents": documents}, on_event=counting(on_progress) if on_progress else None)

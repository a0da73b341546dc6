"""The ingest graph: documents in, batch by batch; what did not change is left as it is (K1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.knowledge_store import KnowledgeStore
from groundgraph.core.settings import Settings
from groundgraph.graph.ingest_resources import IngestResources
from groundgraph.graph.ingest_runner import IngestRunner
from groundgraph.graph.ingest_state import SHOWN, IngestInput, IngestOutput, IngestState
from groundgraph.graph.parts import GraphParts, Models, Parts, takes
from groundgraph.graph.traced_runs import traced_runs
from groundgraph.graph.tracing import state_graph
from groundgraph.nodes.ingest.cut_chunks import cut_chunks
from groundgraph.nodes.ingest.embed_texts import embed_texts
from groundgraph.nodes.ingest.find_documents import find_documents
from groundgraph.nodes.ingest.finish_ingest import finish_ingest
from groundgraph.nodes.ingest.load_documents import load_documents
from groundgraph.nodes.ingest.write_documents import write_documents
from groundgraph.nodes.ingest.write_matching_texts import write_matching_texts
from groundgraph.nodes.ingest.write_qualifying_texts import write_qualifying_texts


@takes(GraphParts)
def ingest_graph(
    settings: Settings,
    *,
    source: str | None = None,
    knowledge_store: KnowledgeStore | None = None,
    within: Path | None = None,
    **parts: Unpack[GraphParts],
) -> IngestRunner:
    """The compiled graph that fills a knowledge base. It opens nothing by itself.

    Args:
        settings: from `load_settings`.
        source: the name of the knowledge base to fill, when there are several.
        knowledge_store: writes in place of the embedded file; whoever passes it in closes it.
        within: paths outside of this folder are refused, for graphs that others can call.
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
    checkpointer, store = parts.get("checkpointer"), parts.get("store")
    return compiled_ingest(resources, checkpointer=checkpointer, store=store, within=within)


def _refuse_what_searches(parts: Parts) -> None:
    given = {"sources": parts.get("sources"), "reranker": parts.get("reranker"), "extractor": parts.get("extractor")}
    told = "belongs to a turn; an ingest has no use for it"
    problems = [Problem(name, told) for name, one in given.items() if one is not None]
    if problems:
        raise ConfigurationError(problems)


def compiled_ingest(
    resources: IngestResources,
    *,
    checkpointer: Any = None,
    store: BaseStore | None = None,
    within: Path | None = None,
) -> IngestRunner:
    """The graph over `resources`; the other arguments are those of `ingest_graph`."""
    compiled = _builder(resources, within).compile(checkpointer=checkpointer, store=store, name="ingest")
    # Streams show the state without the documents that are under way.
    compiled.stream_channels = SHOWN
    return traced_runs(IngestRunner.adopt(compiled, resources.store, resources.base.reader), resources.settings.tracing)


def _builder(resources: IngestResources, within: Path | None) -> StateGraph[Any, Any, Any, Any]:
    settings, base, store = resources.settings, resources.base, resources.store
    chains_of, embedder, at_once = resources.chains_of, resources.embedder, base.concurrency
    model = embedder.name if embedder else ""
    builder = state_graph(settings.tracing)(IngestState, input_schema=IngestInput, output_schema=IngestOutput)
    steps = {
        "find_documents": find_documents(settings, store, resources.chain_names, embedder, within=within),
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

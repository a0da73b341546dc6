"""Running a recorded turn again: the graph is real, models and sources say what was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groundgraph.chains.ask_extractor import AskExtractor
from groundgraph.chains.structured_answer import AnswerTemplates
from groundgraph.core.context import Context
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.load_settings import load_settings
from groundgraph.core.settings import Settings
from groundgraph.graph.configured_clustering import configured_clustering
from groundgraph.graph.resources import Resources
from groundgraph.graph.turn import compiled_turn
from groundgraph.prompts import Prompts
from groundgraph.testing.record_run import refuse_unreplayable
from groundgraph.testing.recorded_messages import from_input
from groundgraph.testing.recorded_run import RecordedRun
from groundgraph.testing.replay_drifted import ReplayDrifted
from groundgraph.testing.replaying_calls import ReplayingCalls, replaying_reranker
from groundgraph.testing.replaying_source import ReplayingSource, replaying_source
from groundgraph.testing.turn_harness import TurnResult


async def replay_run(file: str | Path, *, settings: Settings | Mapping[str, Any]) -> TurnResult:
    """Run the turn of `file` again, without a network and without a key.

    Every step is done anew but for what models, sources and rerankers say. The models and sources that `settings` name
    are not built.

    Args:
        file: from `record_run`.
        settings: what the turn is to be run with now, as for `record_run`.

    Raises:
        ReplayDrifted: a prompt or a query is another one than recorded, one is missing, or the answer differs.
        InputInvalid, SchemaVersionUnsupported: see `RecordedRun.load`.
    """
    chosen = settings if isinstance(settings, Settings) else load_settings(dict(settings))
    refuse_unreplayable(chosen)
    run = RecordedRun.load(Path(file))
    drifts: list[ReplayDrifted] = []
    calls = ReplayingCalls(run.calls, drifts)
    sources = {name: replaying_source(name, record, drifts) for name, record in run.sources.items()}
    graph = compiled_turn(_replaying(chosen, run, calls, sources, drifts))
    given = {"messages": from_input(run.messages), "metadata": run.metadata}
    output = await graph.ainvoke(given, context=Context(**run.context))
    drifts += [drift for drift in (calls.unmade(), *(one.unasked() for one in sources.values())) if drift]
    if output["answer"] != run.output["answer"]:
        drifts.append(ReplayDrifted("The answer is another one", run.output["answer"], output["answer"]))
    if drifts:
        raise drifts[0]
    return TurnResult(output["answer"], output)


def _replaying(
    settings: Settings,
    run: RecordedRun,
    calls: ReplayingCalls,
    sources: Mapping[str, ReplayingSource],
    drifts: list[ReplayDrifted],
) -> Resources:
    prompts = Prompts.of(settings)
    models = {part: calls.model(name) for part, name in run.models.items()}
    extractor = models.get("extractor")
    steps = settings.result_processing.cluster_steps
    return Resources(
        settings=settings,
        sources=dict(sources),
        schemas={name: source.get_schema() for name, source in sources.items()},
        prompts=prompts,
        templates=AnswerTemplates.compile(settings.synthesis, prompts),
        evidence=EvidenceStore(),
        chat_model=models.get("chat"),
        query_model=models.get("query"),
        extractor=AskExtractor(extractor) if extractor else None,
        rerankers={name: replaying_reranker(name, made, drifts) for name, made in run.rerankers.items()},
        clustering=configured_clustering(settings, None) if steps else [],
    )

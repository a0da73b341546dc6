"""Recording a real run: its models, its sources, its rerankers, in one file that can be replayed without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages

from groundgraph.chains.ask_extractor import AskExtractor
from groundgraph.chains.call_model import model_name
from groundgraph.core.context import Context
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.evidence import jsonable
from groundgraph.core.load_settings import load_settings
from groundgraph.core.settings import Settings
from groundgraph.graph.resources import Resources
from groundgraph.graph.turn import compiled_turn
from groundgraph.testing.recorded_messages import as_input
from groundgraph.testing.recorded_run import RecordedRun
from groundgraph.testing.recording_calls import RecordingCalls
from groundgraph.testing.recording_parts import recorded_extractor, recorded_reranker
from groundgraph.testing.recording_source import RecordingSource, recording_source
from groundgraph.testing.turn_harness import TurnResult

OUTPUT = ("answer", "outcome", "notes", "citations", "support", "provenance")


async def record_run(
    message: str | Sequence[Any],
    *,
    to: str | Path,
    settings: Settings | Mapping[str, Any],
    metadata: Mapping[str, Any] | None = None,
    context: Context | None = None,
    **given: Any,
) -> TurnResult:
    """Run one turn as it is configured, and write down what `replay_run` needs to run it again without any of it.

    The file holds the input, the prompts and replies of models, what the sources were asked and answered, what
    rerankers made of it, and the output. It holds no setting, and no value of a setting or of an environment variable
    that is a secret; it does hold the texts of the evidence.

    Args:
        message: the user's message, or a conversation that ends with it.
        to: the file; its folder is made.
        settings: from `load_settings`, or what it takes.
        metadata: session metadata.
        context: the choices of the run.
        given: `sources`, `chat_model`, `query_model`, `embeddings`, `reranker`, `extractor` as for `turn_graph`.

    Raises:
        ConfigurationError: the settings ask for something that cannot be replayed: `max_kb_tokens`, or clustering by
            embeddings.
    """
    chosen = settings if isinstance(settings, Settings) else load_settings(dict(settings))
    refuse_unreplayable(chosen)
    # Before a run that costs something could be lost.
    Path(to).parent.mkdir(parents=True, exist_ok=True)
    resources = Resources.build(chosen, **given)
    messages = _with_ids(message)
    choices = context.model_dump(exclude_none=True) if context else {}
    told = jsonable(dict(metadata or {}))
    run = RecordedRun([as_input(one) for one in messages], told, choices, _models(resources))
    sources = {name: recording_source(source) for name, source in resources.sources.items()}
    graph = compiled_turn(_recording(resources, sources, run))
    try:
        input_ = {"messages": messages, "metadata": dict(run.metadata)}
        output = await graph.ainvoke(input_, {"callbacks": [RecordingCalls(run.calls)]}, context=context)
    finally:
        await resources.close()
    run.sources = {name: source.record for name, source in sources.items()}
    run.output = {name: output[name] for name in OUTPUT}
    run.save(Path(to))
    return TurnResult(output["answer"], output)


def refuse_unreplayable(settings: Settings) -> None:
    """Refuse what depends on more than the replies of models and sources.

    Raises:
        ConfigurationError: see `record_run`.
    """
    processing = settings.result_processing
    problems = []
    if processing.max_kb_tokens:
        problems.append(
            Problem("result_processing.max_kb_tokens", "counts by the model's own tokenizer; cannot be replayed")
        )
    if any(step.method == "embedding" for step in processing.cluster_steps):
        problems.append(Problem("result_processing.cluster_strategy", "embedding calls a model that is not recorded"))
    if problems:
        raise ConfigurationError(problems)


def _with_ids(message: str | Sequence[Any]) -> list[BaseMessage]:
    """The messages under ids of their own, since the prompts of a turn depend on them."""
    given = [HumanMessage(message)] if isinstance(message, str) else convert_to_messages(list(message))
    return [one.model_copy(update={"id": one.id or f"recorded-{number}"}) for number, one in enumerate(given)]


def _models(resources: Resources) -> dict[str, str]:
    found = {
        "chat": resources.chat_model,
        "query": resources.query_model,
        "extractor": resources.extractor.extractor if resources.extractor else None,
    }
    return {part: model_name(model) for part, model in found.items() if model is not None}  # type: ignore[arg-type]


def _recording(resources: Resources, sources: dict[str, RecordingSource], run: RecordedRun) -> Resources:
    extractor = resources.extractor
    if extractor is not None:
        extractor = AskExtractor(recorded_extractor(extractor.extractor, run.calls))
    rerankers = {
        name: recorded_reranker(rerank, run.rerankers.setdefault(name, []))
        for name, rerank in resources.rerankers.items()
    }
    return replace(resources, sources=dict(sources), rerankers=rerankers, extractor=extractor)

"""Spans of OpenTelemetry: what a run looks like from outside, and what is not told."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import turns
from forks import run_code
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState
from langgraph.types import Command, interrupt
from opentelemetry import trace
from opentelemetry.sdk.trace import SynchronousMultiSpanProcessor
from opentelemetry.trace import StatusCode
from parents import in_a_row
from ranked_source import RankedSource
from recorded_spans import RecordedSpans, attributes, recorded_spans
from turns import QUESTION, ask, ask_once, asking, docs, notes, thread

from groundgraph import KnowledgeBase, ingest_graph, load_settings, retrieval_graph, retrieve_context, turn_graph
from groundgraph.core.errors import ConfigurationError
from groundgraph.settings.services import TracingSettings
from groundgraph.testing import FaultySource, NgramEmbeddings, Reply, Rule, ScriptedChatModel
from groundgraph.tracing.spans import LISTED
from groundgraph.tracing.tracing import on_run, span, state_graph

ROOT = Path(__file__).parent.parent.parent
SNAPSHOT = Path(__file__).parent / "snapshots" / "turn_spans.json"
TRACED: dict[str, Any] = {"tracing": {"enabled": True}, "intent": {"mode": "static"}, "limits": {"attempts": 1}}
ANSWER = "OAuth has four grant types [1]."


def settings(**more: Any) -> Any:
    return load_settings({**TRACED, **more})


def build(reply: Any = ANSWER, *, sources: Sequence[Any] | None = None, **more: Any) -> Any:
    return turns.build(reply, base=TRACED, sources=sources or [docs()], **more)


def kinds(spans: RecordedSpans) -> dict[str, set[Any]]:
    """The kinds of the spans by name."""
    found: dict[str, set[Any]] = {}
    for one in spans.all:
        found.setdefault(one.name, set()).add(attributes(one)["openinference.span.kind"])
    return found


def said(spans: RecordedSpans) -> str:
    """Everything that the spans say, events and states included."""
    return "\n".join(one.to_json() for one in spans.all)


# A whole turn


async def score_by_length(question: str, candidates: Sequence[Any]) -> list[float]:
    return [round(1 / len(one.content), 4) for one in candidates]


async def full_turn(folder: Path, **tracing: bool) -> RecordedSpans:
    """A turn with a knowledge base, a source in memory, one that fails, a reranker and two models' calls."""
    reply = f'{ANSWER} The guide says "no such words at all" [2].'
    rules = [Rule("search queries", QUESTION, role="system"), Rule("<evidence-", reply, role="user")]
    chosen = load_settings(
        {
            "tracing": {"enabled": True, **tracing},
            "knowledge_base": {"file": str(folder / "kb.sqlite")},
            "intent": {"mode": "extract", "num_queries": 1},
            "retrieval": {"score_threshold": 0.0},
            "reranker": {"candidates_count": 5, "threshold": 0.0},
            "limits": {"attempts": 1},
        }
    )
    with KnowledgeBase.open(chosen, embeddings=NgramEmbeddings()) as base:
        base.add_documents(
            [{"name": "oauth.md", "text": "# Grants\n\nThe grant types of OAuth are four: code, implicit, password."}]
        )
    graph = turn_graph(
        chosen,
        sources=[docs(), FaultySource(RankedSource([], name="wiki"), error=RuntimeError("wiki: cinnamon"))],
        chat_model=ScriptedChatModel(rules=rules),
        embeddings=NgramEmbeddings(),
        reranker=score_by_length,
        checkpointer=InMemorySaver(),
    )
    with recorded_spans() as spans:
        await ask_once(graph, on="t")
    return spans


def tree(spans: RecordedSpans) -> list[dict[str, Any]]:
    """The spans as a tree, with the times and ids left out and children in a fixed order."""

    def node(one: Any) -> dict[str, Any]:
        children = sorted(map(node, spans.below(one)), key=json.dumps)
        known = {name: masked(name, value) for name, value in sorted(attributes(one).items())}
        status = one.status.status_code.name + (f": {one.status.description}" if one.status.description else "")
        return {"name": one.name, "status": status, "attributes": known, "below": children}

    return [node(one) for one in spans.all if one.parent is None]


def masked(name: str, value: Any) -> Any:
    if name.endswith("turn_id"):
        return "(id)"
    if name.startswith("llm.token_count"):
        # Grows and shrinks with the wording of the prompts.
        return "(n)"
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, str) and name.endswith("document.id"):
        return re.sub(r"\d+$", "(n)", value)
    return list(value) if isinstance(value, tuple) else value


async def test_the_spans_of_a_full_turn_match_the_snapshot(tmp_path: Path) -> None:
    found = tree(await full_turn(tmp_path))
    if os.environ.get("GROUNDGRAPH_WRITE_SNAPSHOTS"):
        SNAPSHOT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert found == json.loads(SNAPSHOT.read_text("utf-8"))


async def test_each_part_of_a_turn_has_its_openinference_kind(tmp_path: Path) -> None:
    spans = await full_turn(tmp_path)
    found = kinds(spans)
    assert found["turn"] == found["resolve_intent"] == found["record_turn"] == {"CHAIN"}
    assert found["retrieve_source"] == {"RETRIEVER"}
    assert found["embed"] == {"EMBEDDING"}
    assert found["model_call"] == {"LLM"}
    assert found["rerank_results"] == {"RERANKER"}
    assert found["check_citations"] == {"GUARDRAIL"}
    # With the first answer that needs them, the model's cosines are measured.
    assert [tuple(spans.path(one))[:-1] for one in spans.named("embed")] == [
        ("turn", "retrieve_source"),
        ("turn", "process_results", "judge_evidence"),
    ]
    assert {tuple(spans.path(one)) for one in spans.named("model_call")} == {
        ("turn", "resolve_intent", "model_call"),
        ("turn", "answer_conversational", "model_call"),
    }


async def test_the_outer_span_counts_and_the_inner_ones_name_documents_with_scores(tmp_path: Path) -> None:
    spans = await full_turn(tmp_path)
    outer = attributes(spans.one("turn"))
    retrievals = {attributes(one)["groundgraph.source"]: attributes(one) for one in spans.named("retrieve_source")}
    assert outer["groundgraph.retrievals"] == len(retrievals) == 3
    assert outer["groundgraph.retrievals_failed"] == 1
    assert outer["groundgraph.retrieved"] == sum(one["groundgraph.results"] for one in retrievals.values())
    assert outer["groundgraph.model_calls"] == 2
    assert outer["session.id"] == "t"
    assert retrievals["docs"]["retrieval.documents.0.document.id"] == "oauth"
    assert 0 < retrievals["docs"]["retrieval.documents.0.document.score"] <= 1
    reranked = attributes(spans.one("rerank_results"))
    ids = [reranked[f"reranker.output_documents.{place}.document.id"] for place in range(2)]
    assert "oauth" in ids
    # The model is called through a wrapper, whose call is no second one.
    calls = [attributes(one) for one in spans.named("model_call")]
    assert outer["llm.token_count.prompt"] == sum(call["llm.token_count.prompt"] for call in calls)


async def test_a_source_that_fails_marks_its_span_and_not_the_turn(tmp_path: Path) -> None:
    spans = await full_turn(tmp_path)
    failed = [one for one in spans.all if one.status.status_code is StatusCode.ERROR]
    assert [attributes(one)["groundgraph.source"] for one in failed] == ["wiki"]
    assert failed[0].status.description == "RuntimeError"


# Content


SECRETS = ("grant types", "authorization code", "four", "cinnamon", "no such words", "search queries")


async def test_no_text_is_in_a_span_unless_content_is_asked_for(tmp_path: Path) -> None:
    text = said(await full_turn(tmp_path))
    assert [secret for secret in SECRETS if secret in text] == []


async def test_with_content_questions_texts_prompts_and_errors_are_in_the_spans(tmp_path: Path) -> None:
    spans = await full_turn(tmp_path, content=True)
    text = said(spans)
    assert [secret for secret in SECRETS if secret not in text] == []
    outer = attributes(spans.one("turn"))
    assert outer["input.value"] == QUESTION
    assert str(outer["output.value"]).startswith(ANSWER)
    answer = next(one for one in spans.named("model_call") if "answer_conversational" in spans.path(one))
    assert attributes(answer)["llm.input_messages.0.message.role"] == "system"
    assert str(attributes(answer)["llm.output_messages.0.message.content"]).startswith(ANSWER)


async def test_an_error_that_ends_a_turn_is_named_and_its_message_is_content() -> None:
    for content in (False, True):
        graph = build(tracing={"enabled": True, "content": content}, intent={"mode": "template", "template": "a: ["})
        with recorded_spans() as spans, suppress(Exception):
            await ask(graph)
        outer, step = spans.one("turn"), spans.one("resolve_intent")
        assert outer.status.status_code is step.status.status_code is StatusCode.ERROR
        assert outer.status.description == step.status.description
        assert [event.name for event in outer.events] == (["exception"] if content else [])
        assert spans.open == []


@pytest.mark.parametrize("at", ["on_start", "on_end"])
async def test_a_span_processor_that_raises_costs_no_answer(
    at: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken")

    with recorded_spans():
        monkeypatch.setattr(SynchronousMultiSpanProcessor, at, broken)
        output = await ask(build())
    assert output["outcome"] == "answered"
    assert "A span processor failed" in caplog.text


async def test_a_long_list_ends_and_loses_nothing_else() -> None:
    source = RankedSource([(0.9, f"Grant type {n} of OAuth") for n in range(100)])
    graph = build(None, sources=[source], retrieval={"top_k": 100}, tracing={"enabled": True, "content": True})
    with recorded_spans() as spans:
        await ask(graph)
    found = attributes(spans.one("retrieve_source"))
    assert found["openinference.span.kind"] == "RETRIEVER"
    assert found["groundgraph.results"] == 100
    assert sum(name.endswith("document.id") for name in found) == LISTED
    assert spans.one("retrieve_source").dropped_attributes == 0


# Nesting


async def test_a_turn_is_nested_below_the_span_of_its_caller_however_it_is_called() -> None:
    graph, tracer = build(), trace.get_tracer("test")

    async def streamed() -> None:
        async for _ in graph.astream(asking(), stream_mode=["updates", "messages"]):
            pass

    calls = {
        "ainvoke": lambda: ask(graph),
        "astream": streamed,
        "invoke": lambda: asyncio.to_thread(graph.invoke, asking()),
        "stream": lambda: asyncio.to_thread(lambda: list(graph.stream(asking()))),
    }
    for name, call in calls.items():
        with recorded_spans() as spans:
            with tracer.start_as_current_span("caller"):
                await call()
            assert spans.path(spans.one("retrieve_source")) == ["caller", "turn", "retrieve_source"], name
            assert len({one.context.trace_id for one in spans.all}) == 1
            assert spans.open == []


async def test_whoever_reads_a_stream_keeps_their_own_span() -> None:
    graph, tracer = build(), trace.get_tracer("test")
    with recorded_spans() as spans, tracer.start_as_current_span("reader") as own:
        async for _ in graph.astream(asking()):
            assert trace.get_current_span() is own
            tracer.start_span("work of the reader").end()
    assert {tuple(spans.path(one)) for one in spans.named("work of the reader")} == {("reader", "work of the reader")}


async def test_spans_that_a_source_opens_are_below_its_own() -> None:
    class Instrumented(RankedSource):
        async def query(self, intent: Any, *, top_k: int = 5, score_threshold: float = 0.0) -> Any:
            trace.get_tracer("http client").start_span("GET").end()
            with span("retrieval", "RETRIEVER", {"documents": 1}) as opened:
                found = await super().query(intent, top_k=top_k, score_threshold=score_threshold)
                opened.set({"results": len(found)})
            on_run({"retrieval.results": len(found)})
            return found

    graph = build(sources=[Instrumented([(0.9, "OAuth has four grant types.")])])
    with recorded_spans() as spans:
        await ask(graph)
    assert spans.path(spans.one("GET")) == ["turn", "retrieve_source", "GET"]
    assert spans.path(spans.one("retrieval")) == ["turn", "retrieve_source", "retrieval"]
    assert attributes(spans.one("retrieval"))["results"] == 1
    assert attributes(spans.one("turn"))["retrieval.results"] == 1


async def test_a_turn_inside_a_larger_graph_is_nested_in_the_step_that_holds_it() -> None:
    inner, tracer = build(), trace.get_tracer("test")

    async def step(state: MessagesState) -> Any:
        with tracer.start_as_current_span("step of the parent"):
            found = await inner.ainvoke({"messages": state["messages"]})
        return {"messages": found["messages"][-1:]}

    parent = in_a_row(MessagesState, called=step, as_node=inner).compile()
    with recorded_spans() as spans, tracer.start_as_current_span("parent"):
        await ask(parent)
    paths = [spans.path(one)[:-1] for one in spans.named("check_citations")]
    # The second turn leaves its question to the assistant's reply, so it says that there is no question.
    assert ["parent", "step of the parent", "turn"] in paths
    assert {tuple(spans.path(one)) for one in spans.named("turn")} == {
        ("parent", "step of the parent", "turn"),
        ("parent", "turn"),
    }
    assert spans.open == []


@pytest.mark.covers("fault 76")
async def test_turns_at_once_have_traces_of_their_own() -> None:
    graph = build(sources=[docs(), notes()])
    with recorded_spans() as spans:
        await asyncio.gather(*(ask(graph, f"{QUESTION} {n}") for n in range(20)))
    turns = spans.named("turn")
    assert len({one.context.trace_id for one in turns}) == 20
    shapes = [sorted(child.name for child in spans.below(one)) for one in turns]
    assert shapes[0].count("retrieve_source") == 2
    assert all(shape == shapes[0] for shape in shapes)


async def test_a_span_outside_of_a_run_asks_the_settings() -> None:
    with recorded_spans() as spans:
        with span("none"):
            pass
        with span("off", settings=TracingSettings()):
            pass
        with span("on", "AGENT", settings=TracingSettings(enabled=True)) as opened:
            opened.set({"answered": True})
    assert [one.name for one in spans.all] == ["on"]
    assert attributes(spans.one("on")) == {"openinference.span.kind": "AGENT", "answered": True}


# Endings


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.01)


@pytest.mark.covers("fault 69")
async def test_a_cancelled_turn_ends_its_spans_and_says_why() -> None:
    graph = build(Reply("Four", delay=30))
    with recorded_spans() as spans:
        task = asyncio.create_task(ask(graph))
        await until(lambda: "model_call" in spans.open)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await until(lambda: not spans.open)
    assert spans.open == []
    for name in ("turn", "answer_conversational", "model_call"):
        one = spans.one(name)
        assert (one.status.status_code, one.status.description) == (StatusCode.ERROR, "CancelledError"), name


async def test_a_stream_that_nobody_reads_to_its_end_ends_its_spans() -> None:
    graph = build(Reply(ANSWER, token_delay=0.05))
    with recorded_spans() as spans:
        items = graph.astream(asking(), stream_mode="messages")
        await anext(items)
        await items.aclose()
    assert spans.open == []
    assert spans.one("turn").status.status_code is StatusCode.ERROR
    assert spans.path(spans.one("answer_conversational")) == ["turn", "answer_conversational"]


async def test_each_try_of_a_model_is_a_span(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundgraph.models.call_model._BACKOFF", lambda state: 0.0)
    reply = [Reply("busy", status=503), Reply(ANSWER)]
    graph = build(reply, limits={"attempts": 2})
    with recorded_spans() as spans:
        result = await ask(graph)
    assert result["outcome"] == "answered"
    assert [one.status.status_code for one in spans.named("model_call")] == [StatusCode.ERROR, StatusCode.UNSET]
    assert spans.one("turn").status.status_code is StatusCode.UNSET


async def test_waiting_for_a_human_is_no_failure() -> None:
    async def asks(state: MessagesState) -> Any:
        return {"messages": [("ai", interrupt("May I?"))]}

    builder = state_graph(TracingSettings(enabled=True))(MessagesState)
    builder.add_node("asks", asks)
    builder.add_edge(START, "asks")
    graph = builder.compile(checkpointer=InMemorySaver())
    with recorded_spans() as spans:
        await ask(graph, on="t")
        await graph.ainvoke(Command(resume="yes"), thread())
    asked, answered = spans.named("asks")
    assert asked.status.status_code is answered.status.status_code is StatusCode.UNSET
    assert attributes(asked)["groundgraph.waiting"] is True
    assert "groundgraph.waiting" not in attributes(answered)


async def test_a_turn_that_is_resumed_is_another_run_of_the_same_turn() -> None:
    graph = build(checkpointer=InMemorySaver())
    with recorded_spans() as spans:
        await graph.ainvoke(asking(), thread(), interrupt_before=["check_citations"])
        result = await graph.ainvoke(None, thread())
    first, second = (attributes(one) for one in spans.named("turn"))
    assert result["answer"] == ANSWER
    assert "groundgraph.outcome" not in first
    assert second["groundgraph.outcome"] == "answered"
    assert first["groundgraph.turn_id"] == second["groundgraph.turn_id"]
    assert first["session.id"] == second["session.id"] == "t"


# The other graphs


@pytest.mark.covers("T8")
async def test_a_retrieval_is_a_run_of_its_own() -> None:
    graph = retrieval_graph(settings(), sources=[docs(), notes()])
    with recorded_spans() as spans:
        found = await retrieve_context(graph, QUESTION)
    outer = attributes(spans.one("retrieval"))
    assert outer["groundgraph.outcome"] == "answered"
    assert outer["groundgraph.results"] == len(found.evidence) == 2
    assert spans.path(spans.one("give_context")) == ["retrieval", "give_context"]


@pytest.mark.covers("K1")
async def test_an_ingest_is_a_run_with_its_embeddings_and_model_calls(tmp_path: Path) -> None:
    chosen = settings(
        knowledge_base={"file": str(tmp_path / "kb.sqlite")}, chains={"documents": {"matching_text": "questions"}}
    )
    model = ScriptedChatModel("What are the grant types?")
    graph = ingest_graph(chosen, query_model=model, embeddings=NgramEmbeddings())
    with recorded_spans() as spans:
        await graph.ainvoke({"documents": [{"name": "a", "text": "OAuth has four grant types: saffron."}]})
    outer = attributes(spans.one("ingest"))
    assert (outer["groundgraph.written"], outer["groundgraph.failed"]) == (1, 0)
    assert spans.path(spans.one("model_call")) == ["ingest", "write_matching_texts", "model_call"]
    embedded = [one for one in spans.named("embed") if "embed_texts" in spans.path(one)]
    assert [spans.path(one) for one in embedded] == [["ingest", "embed_texts", "embed"]]
    assert attributes(embedded[0])["embedding.model_name"] == "NgramEmbeddings"
    assert "saffron" not in said(spans)


@pytest.mark.covers("P4")
async def test_the_reranker_of_a_knowledge_base_has_a_span_inside_its_retriever(tmp_path: Path) -> None:
    def half(query: str, candidates: Sequence[Any]) -> list[float]:
        return [0.75] * len(candidates)

    from groundgraph import register_chain
    from groundgraph.ingest import builtin_chains  # noqa: F401 - the registry is there

    register_chain("reranker", "half", half)
    chosen = settings(
        knowledge_base={"file": str(tmp_path / "kb.sqlite")},
        chains={"query": {"reranker": "half", "filter": "identity"}},
        retrieval={"score_threshold": 0.0},
    )
    with KnowledgeBase.open(chosen) as base:
        base.add_documents([{"name": "a", "text": "OAuth has four grant types."}])
    graph = turn_graph(chosen, chat_model=ScriptedChatModel(ANSWER))
    with recorded_spans() as spans:
        await ask_once(graph)
    one = spans.one("rerank")
    assert spans.path(one) == ["turn", "retrieve_source", "rerank"]
    assert attributes(one)["reranker.output_documents.0.document.score"] == 0.75


# What stays as it is


async def test_langsmith_sees_the_same_runs_with_spans_and_without() -> None:
    def shape(run: Any) -> Any:
        return (run.name, run.run_type, sorted(shape(child) for child in run.child_runs))

    shapes = []
    for enabled in (True, False):
        graph = build(tracing={"enabled": enabled})
        collector = RunCollectorCallbackHandler()
        with recorded_spans() as spans:
            await graph.ainvoke(asking(), {"callbacks": [collector]})
        assert bool(spans.all) is enabled
        shapes.append([shape(run) for run in collector.traced_runs])
    assert shapes[0] == shapes[1]
    names = json.dumps(shapes[0])
    assert '"retrieve_source"' in names
    assert '"llm"' in names


@pytest.mark.covers("T7")
async def test_spans_change_nothing_in_a_stream() -> None:
    found = []
    for enabled in (True, False):
        graph = build(tracing={"enabled": enabled})
        pieces = [piece.text async for piece, _ in graph.astream(asking(), stream_mode="messages")]
        found.append(pieces)
    assert found[0] == found[1]
    assert "".join(found[0]) == ANSWER


@pytest.mark.covers("T5")
async def test_the_picture_of_the_graph_is_the_same_with_spans() -> None:
    assert build().get_graph().draw_mermaid() == build(tracing={"enabled": False}).get_graph().draw_mermaid()


# Packages


TURN = (
    "from groundgraph import InMemorySource, load_settings, turn_graph\n"
    "def build(**tracing):\n"
    "    chosen = load_settings({'tracing': tracing, 'intent': {'mode': 'static'}})\n"
    "    return turn_graph(chosen, sources=[InMemorySource(['Pump 17 is red.'])])\n"
)


@pytest.mark.covers("L10")
def test_only_the_room_of_tracing_imports_its_packages() -> None:
    files = [
        path for folder in ("graph", "nodes", "sources", "prompts", "src") for path in (ROOT / folder).rglob("*.py")
    ]
    pattern = re.compile(r"^\s*(?:from|import) (?:opentelemetry|openinference)", re.MULTILINE)
    importing = {path for path in files if pattern.search(path.read_text("utf-8"))}
    assert "spans.py" in {path.name for path in importing}
    assert {path.parent.name for path in importing} == {"tracing"}


@pytest.mark.parametrize("missing", ["opentelemetry", "openinference"])
def test_without_the_extra_it_is_refused_when_the_graph_is_built(missing: str, tmp_path: Path) -> None:
    blocked = (
        "import sys\nfrom importlib.abc import MetaPathFinder\n"
        "class Missing(MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] == '{missing}': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        # What the process that this one is forked from has loaded of it, as LangSmith does.
        f"for name in [name for name in sys.modules if name.split('.')[0] == '{missing}']: del sys.modules[name]\n"
    )
    code = f"{blocked}{TURN}\nbuild().invoke({{'question': 'Which pump?'}})\nbuild(enabled=True)"
    assert 'tracing.enabled: needs: pip install "groundgraph[otel]"' in run_code(code, tmp_path)[1]


def test_the_provider_is_the_applications_own_and_may_come_later(tmp_path: Path) -> None:
    code = (
        f"{TURN}\nfrom opentelemetry import trace\n"
        "graph = build(enabled=True)\n"
        "graph.invoke({'question': 'Which pump is red?'})\n"
        "print(type(trace.get_tracer_provider()).__name__)\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
        "from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter\n"
        "exporter = InMemorySpanExporter(); provider = TracerProvider()\n"
        "provider.add_span_processor(SimpleSpanProcessor(exporter)); trace.set_tracer_provider(provider)\n"
        "graph.invoke({'question': 'Which pump is red?'})\n"
        "print(exporter.get_finished_spans()[-1].name)"
    )
    assert run_code(code, tmp_path) == (0, "ProxyTracerProvider\nturn\n")


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="contents"):
        load_settings({"tracing": {"enabled": True, "contents": True}})

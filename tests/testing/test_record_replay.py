"""A run is recorded with its real parts, and replayed without them (U7)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from groundgraph import Context, InMemorySource, KnowledgeBase, SourceSchema, SqlSource, load_settings
from groundgraph.core.document import Document
from groundgraph.core.errors import ConfigurationError, InputInvalid, SchemaVersionUnsupported
from groundgraph.testing import (
    FaultySource,
    NgramEmbeddings,
    ReplayDrifted,
    Reply,
    Rule,
    ScriptedChatModel,
    TurnResult,
    openai_stub,
    record_run,
    replay_run,
)
from groundgraph.testing.recorded_run import RecordedRun
from groundgraph.testing.recording_calls import RecordingCalls

QUESTION = "When is pump 17 serviced?"
FACT = "Pump 17 is serviced every 90 days."
ANSWER = "Pump 17 is serviced every 90 days [1]."
STATIC: dict[str, Any] = {"intent": {"mode": "static"}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.json"


def pumps(**options: Any) -> InMemorySource:
    records = [{"id": "p17", "content": FACT, "hall": 4}, {"id": "p18", "content": "Pump 18 is new.", "hall": 5}]
    return InMemorySource(records, name="pumps", schema=SourceSchema("pumps", {"hall": {"type": "integer"}}), **options)


# What a clock or a process decides.
TIMES = {"elapsed_ms", "started_at", "timings_ms", "retrieval_time_ms", "intent_resolution_time_ms"}


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: timeless(item) for name, item in value.items() if name not in TIMES}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def same(recorded: TurnResult, replayed: TurnResult) -> bool:
    """Whether the outputs are the same but for times; the messages carry them."""
    outputs = [
        timeless({k: v for k, v in one.output.items() if k not in ("messages", "metadata")})
        for one in (recorded, replayed)
    ]
    assert outputs[0] == outputs[1]
    return True


async def test_U7_a_replay_gives_the_same_answer_and_the_same_record_of_the_turn(file: Path) -> None:
    model = ScriptedChatModel(ANSWER, model_name="the-model")
    recorded = await record_run(QUESTION, to=file, settings=STATIC, sources=[pumps()], chat_model=model)
    assert recorded.response == ANSWER
    replayed = await replay_run(file, settings=STATIC)
    assert same(recorded, replayed)
    assert replayed.provenance["models"][0]["model"] == "the-model"
    assert replayed.output["citations"][0]["quote"] == FACT
    assert same(recorded, await replay_run(file, settings=STATIC)), "as often as one likes"


async def test_U7_a_run_over_the_wire_is_replayed_without_key_or_network_and_its_file_holds_no_secret(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, password = "sk-live-0123456789abcdef", "hunter2-hunter2"
    rules = [Rule("search queries", "service of pump 17"), Rule("<evidence", ANSWER)]
    settings = {"llm": {"provider": "openai", "model": "test-model"}, "intent": {"mode": "extract", "num_queries": 1}}
    with openai_stub(rules=rules, api_key=key) as stub:
        monkeypatch.setenv("OPENAI_API_KEY", key)
        monkeypatch.setenv("OPENAI_BASE_URL", stub.base_url)
        monkeypatch.setenv("DATABASE_URL", f"postgresql://ada:{password}@db/plant")
        talkative = InMemorySource([f"{FACT} The key is {key}, the password {password}."], name="pumps")
        recorded = await record_run(QUESTION, to=file, settings=settings, sources=[talkative])
        asked = len(stub.requests)
    text = file.read_text("utf-8")
    assert key not in text
    assert password not in text
    assert "***" in text
    monkeypatch.delenv("OPENAI_API_KEY")
    assert asked == 2
    # What was masked stood in the evidence and in the prompt, so they agree.
    assert (await replay_run(file, settings=settings)).response == recorded.response


async def test_U7_queries_of_a_model_extraction_and_filters_are_replayed(file: Path) -> None:
    extractor = ScriptedChatModel(
        Reply.json({"text_queries": ["pump service"], "scope": "broad", "pumps": {"hall": 4}, "filters": {}})
    )
    settings = {"intent": {"mode": "extract"}}
    given = {"sources": [pumps()], "chat_model": ScriptedChatModel(ANSWER), "extractor": extractor}
    recorded = await record_run("When is a pump in hall 4 serviced?", to=file, settings=settings, **given)
    assert recorded.provenance["intent"]["text_queries"] == ["pump service"]
    assert same(recorded, await replay_run(file, settings=settings))


@pytest.mark.parametrize("kind", ["plain", "message"])
async def test_U7_an_extractor_of_ones_own_is_replayed(kind: str, file: Path) -> None:
    value = {"text_queries": ["pump service"]}

    def extract(messages: Any) -> Any:
        return value if kind == "plain" else AIMessage(json.dumps(value))

    settings = {"intent": {"mode": "extract"}}
    given = {"sources": [pumps()], "chat_model": ScriptedChatModel(ANSWER), "extractor": extract}
    recorded = await record_run(QUESTION, to=file, settings=settings, **given)
    assert recorded.provenance["intent"]["text_queries"] == ["pump service"]
    replayed = await replay_run(file, settings=settings)
    assert replayed.response == recorded.response
    assert replayed.provenance["intent"] == recorded.provenance["intent"]


async def test_U7_a_knowledge_base_with_vectors_joined_neighbours_and_a_reranker_is_replayed_without_them(
    file: Path, tmp_path: Path
) -> None:
    settings = load_settings(
        {
            **STATIC,
            "knowledge_base": {"file": str(tmp_path / "base.sqlite"), "chunker": {"max_chunk_size": 100}},
            "retrieval": {"score_threshold": 0.0},
            "synthesis": {"style": "structured"},
        }
    )
    embeddings = NgramEmbeddings()
    async with KnowledgeBase.open(settings, embeddings=embeddings) as base:
        text = "\n\n".join(f"Pump {n} is serviced every {n * 10} days, says the plan of the plant." for n in range(8))
        await base.aadd_documents([Document("plan.md", f"# Plan\n\n{text}", "text/markdown")])

    def rerank(query: str, candidates: Any) -> list[float]:
        return [0.9 - 0.1 * n for n, _ in enumerate(candidates)]

    recorded = await record_run("pump 3 and pump 4", to=file, settings=settings, embeddings=embeddings, reranker=rerank)
    strategies = recorded.provenance["strategies"]
    assert strategies["merge_adjacent"] == {"joined": 2}
    assert strategies["reranker"]["judged"] == 3
    (tmp_path / "base.sqlite").unlink()
    assert same(recorded, await replay_run(file, settings=settings))


async def test_U7_a_database_is_replayed_without_it(file: Path, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "plant.sqlite") as connection:
        connection.execute("CREATE TABLE pumps (id INTEGER PRIMARY KEY, note TEXT)")
        connection.execute("INSERT INTO pumps (note) VALUES (?)", (FACT,))
    connection.close()
    source = SqlSource(f"sqlite:///{tmp_path / 'plant.sqlite'}", table="pumps", name="plant", content_field="note")
    recorded = await record_run(QUESTION, to=file, settings=STATIC, sources=[source])
    await source.close()
    (tmp_path / "plant.sqlite").unlink()
    assert FACT in recorded.response
    assert same(recorded, await replay_run(file, settings=STATIC))


async def test_U7_failures_of_sources_and_of_the_model_are_replayed(file: Path) -> None:
    broken = FaultySource(InMemorySource([], name="broken"), error=ValueError("no such index"))
    late = FaultySource(InMemorySource([], name="late"), delay=60)
    settings = {**STATIC, "deadlines": {"source": 2}, "limits": {"attempts": 1}}
    model = ScriptedChatModel(Reply(status=401))
    recorded = await record_run(QUESTION, to=file, settings=settings, sources=[pumps(), broken, late], chat_model=model)
    statuses = {"pumps": "ok", "broken": "failed", "late": "timed_out"}
    assert {name: one["status"] for name, one in recorded.provenance["sources"].items()} == statuses
    replayed = await replay_run(file, settings=settings)
    assert {name: one["status"] for name, one in replayed.provenance["sources"].items()} == statuses
    assert replayed.response == recorded.response
    assert [note for note in replayed.output["notes"] if "within" not in note] == [
        note for note in recorded.output["notes"] if "within" not in note
    ]


async def test_U7_a_conversation_metadata_and_the_choices_of_a_run_are_replayed(file: Path) -> None:
    talk = [("user", QUESTION), ("assistant", ANSWER), ("user", "And pump 18?")]
    context = Context(top_k=1, instruction="Be brief.")
    given = {"sources": [pumps()], "chat_model": ScriptedChatModel("It is new [1].")}
    recorded = await record_run(
        talk, to=file, settings=STATIC, metadata={"synthesis_style": "hybrid"}, context=context, **given
    )
    assert recorded.provenance["style"]["used"] == "hybrid"
    assert same(recorded, await replay_run(file, settings=STATIC))


# Drift


async def record(file: Path, **options: Any) -> TurnResult:
    model = options.pop("chat_model", None) or ScriptedChatModel(ANSWER)
    return await record_run(QUESTION, to=file, settings=STATIC, sources=[pumps()], chat_model=model, **options)


async def test_U7_a_changed_prompt_is_a_typed_error_that_shows_the_difference(file: Path) -> None:
    await record(file)
    with pytest.raises(ReplayDrifted) as caught:
        await replay_run(file, settings={**STATIC, "synthesis": {"instruction": "Answer like a pirate."}})
    assert "answer_conversational" in caught.value.what
    added = [line for line in caught.value.diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert added == ["+", "+Answer like a pirate."]
    assert "Answer like a pirate." in str(caught.value)
    assert "Record the run anew" in str(caught.value)


async def test_U7_a_changed_query_is_a_drift_of_the_source(file: Path) -> None:
    await record(file)
    with pytest.raises(ReplayDrifted, match="The source 'pumps' is asked what was not recorded") as caught:
        await replay_run(file, settings={**STATIC, "retrieval": {"top_k": 3}})
    assert caught.value.diff.splitlines()[-3:] == ["-top_k: 5", "+top_k: 3", " score_threshold: 0.3"]


async def test_U7_a_call_that_is_not_made_any_more_is_a_drift(file: Path) -> None:
    await record(file)
    with pytest.raises(ReplayDrifted, match="not called in the step 'answer_conversational'"):
        await replay_run(file, settings={**STATIC, "synthesis": {"style": "structured"}})


async def test_U7_another_answer_from_the_same_replies_is_a_drift(file: Path) -> None:
    await record(file)
    found = json.loads(file.read_text("utf-8"))
    found["output"]["answer"] = "Pump 17 is never serviced [1]."
    file.write_text(json.dumps(found), "utf-8")
    with pytest.raises(ReplayDrifted, match="The answer is another one") as caught:
        await replay_run(file, settings=STATIC)
    assert "-Pump 17 is never serviced [1]." in caught.value.diff


async def test_U7_a_recording_of_another_format_is_refused(file: Path) -> None:
    await record(file)
    found = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**found, "format": 99}), "utf-8")
    with pytest.raises(SchemaVersionUnsupported, match="format 99"):
        await replay_run(file, settings=STATIC)


@pytest.mark.parametrize(
    "processing",
    [{"max_kb_tokens": 500}, {"cluster_strategy": "embedding"}, {"cluster_strategy": ["tfidf", "embedding"]}],
)
async def test_U7_what_cannot_be_replayed_is_refused_before_the_run(processing: dict[str, Any], file: Path) -> None:
    with pytest.raises(ConfigurationError, match="result_processing"):
        await record_run(QUESTION, to=file, settings={**STATIC, "result_processing": processing}, sources=[pumps()])
    assert not file.exists()


async def test_U7_a_model_that_breaks_off_while_it_streams_is_replayed_to_the_letter(file: Path) -> None:
    recorded = await record(file, chat_model=ScriptedChatModel(Reply(ANSWER, error_after=3)))
    replayed = await replay_run(file, settings=STATIC)
    assert replayed.response == recorded.response
    assert replayed.output["outcome"] == recorded.output["outcome"]


def test_U7_a_recording_is_small_and_readable(file: Path) -> None:
    asyncio.run(record(file))
    found = json.loads(file.read_text("utf-8"))
    assert list(found) == [
        "format",
        "messages",
        "metadata",
        "context",
        "models",
        "calls",
        "sources",
        "rerankers",
        "output",
    ]
    assert [call["reply"]["text"] for call in found["calls"]] == [ANSWER]
    assert [result["content"] for result in found["sources"]["pumps"]["answers"][0]["results"]] == [
        FACT,
        "Pump 18 is new.",
    ]
    assert file.stat().st_size < 12_000


def test_U7_a_real_client_is_recorded_as_well(file: Path) -> None:
    with openai_stub(ANSWER) as stub:
        model = init_chat_model("openai:test-model", base_url=stub.base_url, api_key="test-key-test-key")
        recorded = asyncio.run(record(file, chat_model=model))
    replayed = asyncio.run(replay_run(file, settings=STATIC))
    assert (replayed.response, replayed.provenance["models"]) == (
        recorded.response,
        [
            {**one, "elapsed_ms": new["elapsed_ms"]}
            for one, new in zip(recorded.provenance["models"], replayed.provenance["models"], strict=True)
        ],
    )


@pytest.mark.parametrize("text", ["[]", "[1, 2]", "{", "5"])
async def test_U7_a_file_that_is_no_recording_is_refused(text: str, file: Path) -> None:
    file.write_text(text, "utf-8")
    with pytest.raises((InputInvalid, SchemaVersionUnsupported), match=file.name):
        await replay_run(file, settings=STATIC)


@pytest.mark.parametrize("change", [{"surprise": 1}, {"messages": "none"}, {"context": None}, {"sources": []}])
async def test_U7_a_recording_that_was_edited_out_of_shape_is_refused(change: dict[str, Any], file: Path) -> None:
    await record(file)
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(InputInvalid, match="no whole recording"):
        await replay_run(file, settings=STATIC)
    file.write_text('{"format": 1}', "utf-8")
    with pytest.raises(InputInvalid, match="no whole recording"):
        await replay_run(file, settings=STATIC)


@pytest.mark.parametrize("before", [True, False])
async def test_U7_a_conversation_with_calls_of_tools_is_replayed(before: bool, file: Path) -> None:
    call = AIMessage("One moment.", tool_calls=[{"name": "clock", "args": {"zone": "utc"}, "id": "1"}])
    used = [call, ToolMessage("noon", tool_call_id="1")]
    asked = HumanMessage(QUESTION)
    said = [HumanMessage("What time is it?"), *used, AIMessage("It is noon."), asked] if before else [asked, *used]
    given: dict[str, Any] = {"sources": [pumps()], "chat_model": ScriptedChatModel(ANSWER)}
    recorded = await record_run(said, to=file, settings=STATIC, **given)
    replayed = await replay_run(file, settings=STATIC)
    assert same(recorded, replayed)
    kept = [one for one in replayed.output["messages"] if isinstance(one, AIMessage) and one.tool_calls]
    assert [one.tool_calls for one in kept] == [call.tool_calls]


async def test_U7_metadata_that_json_does_not_know_costs_no_run(file: Path) -> None:
    given: dict[str, Any] = {"sources": [pumps()], "chat_model": ScriptedChatModel(ANSWER)}
    recorded = await record_run(QUESTION, to=file, settings=STATIC, metadata={"halls": {4, 5}}, **given)
    assert same(recorded, await replay_run(file, settings=STATIC))
    assert json.loads(file.read_text("utf-8"))["metadata"] == {"halls": [4, 5]}


async def test_U7_what_cannot_be_encoded_is_recorded_in_a_folder_that_is_made(file: Path) -> None:
    broken = FaultySource(InMemorySource([], name="broken"), error=ValueError("\ud800"))
    folder = file.parent / "new" / "runs"
    given: dict[str, Any] = {"sources": [pumps(), broken], "chat_model": ScriptedChatModel(ANSWER)}
    recorded = await record_run(QUESTION, to=folder / "run.json", settings=STATIC, **given)
    assert same(recorded, await replay_run(folder / "run.json", settings=STATIC))


def test_U7_a_secret_in_the_pieces_of_a_stream_that_broke_off_is_masked(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANT_API_KEY", "hunter2-hunter2")
    run = RecordedRun([], {}, {})
    calls, number = RecordingCalls(run.calls), uuid4()
    calls.on_chat_model_start({}, [[HumanMessage(QUESTION)]], run_id=number)
    for piece in ("The key is hunter2", "-hun", "ter2."):
        calls.on_llm_new_token(piece, run_id=number)
    calls.on_llm_error(ConnectionError("gone"), run_id=number)
    run.save(file)
    assert json.loads(file.read_text("utf-8"))["calls"][0]["pieces"] == ["The key is ***."]

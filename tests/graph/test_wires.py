"""Every provider that ships as an extra, driven over its own wire by its own client of LangChain's."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest
import yaml
from langchain_core.messages import AIMessageChunk, HumanMessage
from turns import ask, asking, build, docs, thread
from wire_anthropic import named_event
from wires import PROVIDERS, shape, wired

from groundgraph import load_settings
from groundgraph.core.failure import failure_of, is_transient, retry_after
from groundgraph.models.chat_model import configured_model
from groundgraph.models.replies import finish_reason, refusal_text
from groundgraph.testing import Reply, Rule
from groundgraph.testing.wire_stub import WireStub, event

pytestmark = [
    pytest.mark.covers("B4"),
    # Google's client: a class of aiohttp's that is discouraged, and a body of an error that it never reads.
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession"),
    pytest.mark.filterwarnings("ignore:coroutine 'ClientResponse.json' was never awaited"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def never_read() -> Iterator[None]:
    """That body is garbage by the end of this file, and not found during a test that does not know of it."""
    yield
    gc.collect()


# The two that differ most are asked in every run, the others in the slow tier: each loads a client of its own.
QUICK = ("openai", "anthropic")


def tiered(names: Iterable[str]) -> list[Any]:
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


every_wire = pytest.mark.parametrize("provider", tiered(PROVIDERS))

ANSWER = "OAuth has four grant types [1]."
LOGS = Path(__file__).parents[1] / "data" / "wires"
THOUGHT = [{"type": "reasoning", "reasoning": "Let me see."}, {"type": "text", "text": ANSWER}]
EXTRACTED = Reply.json({"text_queries": ["OAuth grant types"], "filters": {"docs": {"category": "security"}}})


def model(llm: dict[str, Any]) -> Any:
    return configured_model(load_settings({"llm": llm}).llm, "llm")


def over(llm: dict[str, Any], style: str = "conversational", **sections: Any) -> Any:
    return build(llm=llm, sources=[docs()], memory=True, synthesis={"style": style}, **sections)


async def streamed(graph: Any) -> tuple[list[str], dict[str, Any]]:
    """The pieces of the answer, and the outputs of the turn."""
    pieces, output = [], {}
    async for mode, item in graph.astream(asking(), thread(), stream_mode=["messages", "values"]):
        if mode == "values":
            output = item
        elif isinstance(item[0], AIMessageChunk):
            pieces.append(item[0].text)
    return pieces, output


def golden(provider: str, turn: str, stub: WireStub) -> None:
    """The shape of what was sent is as it was; GROUNDGRAPH_WRITE_SNAPSHOTS writes it anew."""
    path = LOGS / f"{provider}.yaml"
    logs = yaml.safe_load(path.read_text("utf-8")) if path.exists() else {}
    found = shape(stub)
    if os.environ.get("GROUNDGRAPH_WRITE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump({**logs, turn: found}, width=120), "utf-8")
    else:
        assert found == logs[turn]


@every_wire
@pytest.mark.parametrize("style", ["conversational", "hybrid"])
async def test_a_conversation_in_each_style_that_writes(provider: str, style: str) -> None:
    with wired(provider, default=ANSWER) as (stub, llm):
        graph = over(llm, style)
        first = await ask(graph, on="t")
        second = await ask(graph, "Which of them is used by web apps?", on="t")
    for result in (first, second):
        assert ANSWER.removesuffix(" [1].") in result["answer"]
        assert result["citations"][0]["source_id"] == "oauth"
        assert not [call for call in result["provenance"]["models"] if call.get("error")]
    golden(provider, style, stub)


@every_wire
def test_the_log_of_each_wire_has_every_way_of_asking_and_nobody_twice_in_a_row(provider: str) -> None:
    logs = yaml.safe_load((LOGS / f"{provider}.yaml").read_text("utf-8"))
    assert set(logs) == {"conversational", "hybrid", "extraction", "judge"}
    for roles in (request["roles"] for requests in logs.values() for request in requests):
        assert roles[:1] == ["system"]
        assert roles[1:] == [("user", "assistant")[place % 2] for place in range(len(roles) - 1)]


@every_wire
async def test_the_structured_style_sends_nothing(provider: str) -> None:
    with wired(provider, default=ANSWER) as (stub, llm):
        result = await ask(over(llm, "structured"), on="t")
    assert (result["outcome"], stub.requests) == ("answered", [])


@every_wire
async def test_a_turn_streams_and_shows_no_thought(provider: str) -> None:
    with wired(provider, default=Reply(blocks=THOUGHT)) as (_, llm):
        pieces, output = await streamed(over(llm))
    assert "".join(pieces) == ANSWER == output["answer"]
    assert len(pieces) > 3


@every_wire
async def test_thoughts_in_blocks_of_their_own_and_in_the_text_reach_nobody(provider: str) -> None:
    with wired(provider, [Reply(blocks=THOUGHT), f"<think>Hm.</think>\n{ANSWER}"]) as (_, llm):
        graph = over(llm)
        assert [(await ask(graph, on=name))["answer"] for name in "ab"] == [ANSWER, ANSWER]


@every_wire
async def test_content_comes_in_standard_blocks_whole_and_streamed(provider: str) -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    options = {"ollama": {"reasoning": True}, "anthropic": thinking}.get(provider, {})
    thinks = [] if provider == "openai" else ["reasoning"]
    with wired(provider, default=Reply(blocks=THOUGHT, usage=(7, 5)), **options) as (_, llm):
        made = model({**llm, "output_version": "v1"} if provider != "ollama" else llm)
        whole = await made.ainvoke([HumanMessage("hi")])
        streamed = reduce(add, [chunk async for chunk in made.astream([HumanMessage("hi")])])
    for reply in (whole, streamed):
        kinds = [block["type"] for block in reply.content_blocks if block.get("text") or block["type"] == "reasoning"]
        assert (list(dict.fromkeys(kinds)), reply.text) == ([*thinks, "text"], ANSWER)
    usage = whole.usage_metadata
    assert (usage["input_tokens"], usage["output_tokens"]) == (7, 5)


@every_wire
async def test_an_intent_is_extracted_by_structured_output(provider: str) -> None:
    rules = [Rule("search request", EXTRACTED), Rule("", ANSWER)]
    with wired(provider, rules=rules) as (stub, llm):
        graph = build(base={}, llm=llm, sources=[docs()], intent={"mode": "extract", "extraction_config": llm})
        result = await ask(graph, "Which grant types of OAuth are about security?")
    assert result["provenance"]["intent"]["filters"] == {"docs": {"category": "security"}}
    assert result["answer"] == ANSWER
    sent = json.dumps(stub.requests[0].body, ensure_ascii=False)
    assert sent.count("minItems") == 1, "the schema is sent once"
    golden(provider, "extraction", stub)


@every_wire
async def test_a_judge_ranks(provider: str) -> None:
    rules = [Rule("passages", "1: 4\n2: 0", role="system"), Rule("", ANSWER)]
    with wired(provider, rules=rules) as (stub, llm):
        result = await ask(over(llm, reranker={"enabled": True, "type": "judge"}), "OAuth grant types, pump 17", on="t")
    assert not [call for call in result["provenance"]["models"] if call.get("error")]
    golden(provider, "judge", stub)


FAILURES = [
    (Reply("slow down", status=429, headers={"Retry-After": "2"}), "limited", True),
    (Reply("overloaded", status=529), "broken", True),
    (Reply("broken", status=500), "broken", True),
    (Reply("no such key", status=401), "refused", False),
    (Reply("forbidden", status=403), "refused", False),
    (Reply("no such model", status=404), "rejected", False),
    (Reply("too long", status=400), "rejected", False),
    (Reply(error=ConnectionError), "unreachable", True),
]


@every_wire
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(("reply", "kind", "passes"), FAILURES)
async def test_failures_are_told_by_their_class_and_tried_again_only_where_that_helps(
    provider: str, streams: bool, reply: Reply, kind: str, passes: bool
) -> None:
    with wired(provider, default=reply) as (stub, llm):
        made = model(llm)
        with pytest.raises(Exception) as caught:  # noqa: PT011 - each SDK has errors of its own
            await (anext(made.astream([HumanMessage("hi")])) if streams else made.ainvoke([HumanMessage("hi")]))
        assert len(stub.requests) == 1, "one layer tries again, and it is not the SDK's"
    assert failure_of(caught.value, "model")["kind"] == kind
    assert is_transient(caught.value) is passes
    expected = 2.0 if reply.status == 429 and PROVIDERS[provider].asks_to_wait else None
    assert retry_after(caught.value) == expected


@every_wire
async def test_a_turn_waits_as_asked_and_tries_again(provider: str) -> None:
    with wired(provider, [Reply("slow down", status=429, headers={"Retry-After": "0.1"}), ANSWER]) as (stub, llm):
        result = await ask(over(llm), on="t")
    assert (result["answer"], len(stub.requests)) == (ANSWER, 2)


@every_wire
async def test_a_model_that_cannot_gives_way_to_a_quote_with_a_note(provider: str) -> None:
    with wired(provider, default=Reply("no such key", status=401)) as (_, llm):
        result = await ask(over(llm), on="t")
    assert (result["outcome"], len(result["notes"])) == ("answered", 1)
    assert "401" in result["notes"][0]
    assert "no such key" not in str(result["notes"])


@every_wire
async def test_an_answer_that_breaks_off_stays_and_is_flagged(provider: str) -> None:
    with wired(provider, default=Reply(ANSWER, error_after=5)) as (_, llm):
        pieces, output = await streamed(over(llm))
    assert "".join(pieces) == output["answer"]
    assert ANSWER.startswith(output["answer"].rstrip())
    assert output["notes"]


@every_wire
@pytest.mark.parametrize("streams", [False, True])
async def test_a_length_stop_is_told(provider: str, streams: bool) -> None:
    with wired(provider, default=Reply("OAuth has four grant types [1]. And", finish_reason="length")) as (_, llm):
        graph = over(llm)
        output = (await streamed(graph))[1] if streams else await ask(graph, on="t")
    assert "And" in output["answer"]
    assert "cut off" in output["notes"][0]


@pytest.mark.parametrize("provider", tiered(name for name in PROVIDERS if PROVIDERS[name].refuses))
async def test_a_refusal_is_told_as_one(provider: str) -> None:
    for reply in (Reply(refusal="I cannot help."), Reply("", finish_reason="content_filter")):
        with wired(provider, default=reply) as (_, llm):
            made = await model(llm).ainvoke([HumanMessage("hi")])
        assert finish_reason(made) == "refusal" or refusal_text(made) == reply.refusal


@every_wire
@pytest.mark.parametrize(
    "said", [[("user", "a"), ("user", "b")], [("user", "a"), ("assistant", "b"), ("assistant", "c"), ("user", "d")]]
)
async def test_the_stubs_are_as_strict_as_a_template_can_be(provider: str, said: list[tuple[str, str]]) -> None:
    if PROVIDERS[provider].name in ("anthropic", "google_genai") and said[1][0] == "user":
        pytest.skip("its client joins them itself")
    with wired(provider, default="x") as (_, llm), pytest.raises(Exception, match="alternate"):
        await model(llm).ainvoke(said)


@pytest.mark.covers("fault 72")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_stream_that_ends_without_saying_so_is_no_whole_answer(provider: str, monkeypatch: Any) -> None:
    with wired(provider, ANSWER) as (stub, llm):
        monkeypatch.setattr(stub.wire, "closing", lambda *_: [])
        _, output = await streamed(over(llm))
    assert [flag["kind"] for flag in output["support"]["flags"]] == ["incomplete"]
    assert "incomplete" in output["notes"][0]


OVERLOADED = {
    "openai": event({"error": {"message": "Overloaded", "type": "overloaded_error", "code": None}}),
    "anthropic": named_event("error", error={"message": "Overloaded", "type": "overloaded_error"}),
}


@pytest.mark.covers("fault 23")
@pytest.mark.parametrize("provider", OVERLOADED)
async def test_an_overload_that_is_told_within_a_stream_is_tried_again(provider: str, monkeypatch: Any) -> None:
    with wired(provider, [ANSWER, ANSWER]) as (stub, llm):
        opening = stub.wire.opening
        told = iter([[OVERLOADED[provider]]])
        monkeypatch.setattr(stub.wire, "opening", lambda *asked: next(told, None) or opening(*asked))
        _, output = await streamed(over(llm))
        assert len(stub.requests) == 2
    assert (output["answer"], output["notes"]) == (ANSWER, [])


@pytest.mark.covers("fault 72")
@pytest.mark.parametrize("provider", OVERLOADED)
async def test_an_overload_in_the_middle_of_an_answer_is_told_as_the_services_own(
    provider: str, monkeypatch: Any
) -> None:
    with wired(provider, ANSWER) as (stub, llm):
        monkeypatch.setattr(stub.wire, "closing", lambda *_: [OVERLOADED[provider]])
        _, output = await streamed(over(llm))
    assert "529: it has a failure of its own" in output["notes"][0]

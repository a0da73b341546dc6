"""The works of `process_results`: what each tells, what it costs, and a turn that fails behind one that pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Any

import pytest
import turns
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from ranked_source import RankedSource
from recorded_spans import attributes, recorded_spans
from turns import QUOTING, ask, asking, thread

from groundgraph import SourceResult, load_settings, turn_graph
from groundgraph.graph.works import WORKS
from groundgraph.testing import NgramEmbeddings

TEXTS = [
    (0.9, "Access tokens expire after one hour."),
    (0.8, "An access token expires after an hour."),
    (0.7, "Pump seventeen is serviced every ninety days."),
    (0.1, "Nothing of the kind stands here."),
]
QUESTION = "When do access tokens expire?"
PROCESSING = {"relative_threshold": 0.5, "cluster_strategy": "embedding", "cluster_threshold": 0.3}


class Paid(NgramEmbeddings):
    """A reranker and an embedding model that count how often they are asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked.append("embedding model")
        return await super().aembed_documents(texts)

    async def rerank(self, question: str, candidates: Sequence[Any]) -> list[float]:
        self.asked.append("reranker")
        return [0.9 - number / 10 for number in range(len(candidates))]


BASE = {
    **QUOTING,
    "retrieval": {"score_threshold": 0.0, "top_k": 50},
    "reranker": {"threshold": 0.75},
    "result_processing": PROCESSING,
}


def build(paid: Paid, **given: Any) -> Any:
    more = {"sources": [RankedSource(TEXTS)], "store": InMemoryStore(), **given}
    return turns.build(base=BASE, reranker=paid.rerank, embeddings=paid, **more)


# What was paid for


class Once(Exception):
    """What a part of a turn raises when it runs for the first time."""


def fails_once(make: Callable[..., Any]) -> Callable[..., Any]:
    """What makes what `make` makes, but the first call of that raises."""

    def made(*args: Any, **kwargs: Any) -> Any:
        part, calls = make(*args, **kwargs), list[int]()

        @wraps(part)
        async def failing(*given: Any, **named: Any) -> Any:
            calls.append(1)
            if len(calls) == 1:
                raise Once
            return await part(*given, **named)

        return failing

    return made


@pytest.mark.covers("T3")
@pytest.mark.parametrize(
    ("module", "name"), [("nodes.works.judge_evidence", "judge_evidence"), ("graph.turn", "check_citations")]
)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_what_was_paid_for_is_not_paid_again_when_the_turn_fails_behind_it(
    saver: Any, durability: Any, module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = import_module(f"groundgraph.{module}")
    monkeypatch.setattr(home, name, fails_once(getattr(home, name)))
    paid = Paid()
    graph = build(paid, checkpointer=saver)
    with pytest.raises(Once):
        await graph.ainvoke(asking(QUESTION), thread(), durability=durability)
    result = await graph.ainvoke(None, thread(), durability=durability)
    assert paid.asked == ["reranker", "embedding model"]
    assert [row["text"] for row in result["provenance"]["results"]] == [TEXTS[0][1], TEXTS[1][1]]
    assert result["provenance"]["strategies"]["reranker"]["dropped"] == 1
    assert result["provenance"]["clusters"]


class Neighbours(RankedSource):
    """Two chunks that follow each other and one apart, of a source that cannot tell the first time what is between."""

    def __init__(self) -> None:
        texts = [(0, "Access tokens are short."), (1, "Access tokens are opaque."), (4, TEXTS[0][1])]
        places = [{"document": "guide", "position": at, "start": 100 * at} for at, _ in texts]
        ends = [{"end": place["start"] + len(text)} for place, (_, text) in zip(places, texts, strict=True)]
        super().__init__(
            [
                SourceResult(text, f"guide#{at}", "docs", "ranked", 0.9 - at / 10, metadata={**place, **end})
                for (at, text), place, end in zip(texts, places, ends, strict=True)
            ]
        )
        self.asked = 0

    async def texts_between(self, pairs: Sequence[tuple[str, str]]) -> list[str | None]:
        """The white space between the first two, once the source is there again."""
        self.asked += 1
        if self.asked == 1:
            raise TimeoutError
        return [" " * (100 - len("Access tokens are short.")) for _ in pairs]


@pytest.mark.covers("T3")
async def test_what_was_paid_for_about_another_ranking_is_not_taken_for_what_is_said_about_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = import_module("groundgraph.nodes.works.judge_evidence")
    monkeypatch.setattr(home, "judge_evidence", fails_once(home.judge_evidence))
    judged: list[list[str]] = []

    async def rerank(_: str, candidates: Sequence[Any]) -> list[float]:
        judged.append([one.content for one in candidates])
        return [1.0 if one.content == TEXTS[0][1] else 0.3 for one in candidates]

    given = {"intent": {"mode": "static"}, "retrieval": {"score_threshold": 0.0}, "reranker": {"threshold": 0.2}}
    stored = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    graph = turn_graph(load_settings(given), sources=[Neighbours()], reranker=rerank, **stored)
    with pytest.raises(Once):
        await ask(graph, QUESTION, "t")
    result = await graph.ainvoke(None, thread())
    assert [len(texts) for texts in judged] == [3, 2]
    shown = [(row["text"][:24], row["relevance"]) for row in result["provenance"]["results"]]
    assert shown == [(TEXTS[0][1][:24], 1.0), ("Access tokens are short.", 0.3)]


async def test_a_work_that_pays_for_nothing_is_no_task_of_its_own() -> None:
    graph = build(Paid(), result_processing={"reorder": "zigzag"})
    names = [name async for update in graph.astream(asking(QUESTION), stream_mode="updates") for name in update]
    assert names[3:5] == ["rerank_results", "process_results"]
    assert "arrange_results" not in names


# What a work tells


@pytest.mark.covers("V1")
async def test_the_record_says_of_each_work_what_came_in_and_went_out_and_why_what_was_left_out() -> None:
    result = await ask(build(Paid(), sources=[RankedSource(TEXTS), RankedSource(TEXTS[:1], name="notes")]), QUESTION)
    works = {step["step"]: step for step in result["provenance"]["steps"] if "came_in" in step}
    counts = {name: (work["came_in"], work["went_out"]) for name, work in works.items()}
    assert counts == {
        "merge_results": (5, 5), "score_results": (5, 4), "rerank_results": (4, 2), "arrange_results": (2, 2),
        "judge_evidence": (2, 2),
    }  # fmt: skip
    left_out = {name: {why: len(keys) for why, keys in work["left_out"].items()} for name, work in works.items()}
    assert left_out == {
        "merge_results": {}, "score_results": {"relative_threshold": 1}, "rerank_results": {"reranker": 2},
        "arrange_results": {}, "judge_evidence": {},
    }  # fmt: skip
    assert all(work["elapsed_ms"] >= 0 for work in works.values())
    assert list(works) == [name for name in WORKS if name in works]


@pytest.mark.covers("V1", "S5")
async def test_evidence_that_says_too_little_is_left_out_by_the_judgement_and_the_record_says_so() -> None:
    text = SourceResult("Pump seventeen is serviced.", "pump", "docs", "knowledge_base", 0.1)
    given = {"intent": {"mode": "static"}, "retrieval": {"score_threshold": 0.0, "answerable_threshold": 0.9}}
    # A template of the user's would take what comes closest for an answer.
    given["synthesis"] = {"template": "{% for one in results %}{{ one.text }}{% endfor %}"}
    graph = turn_graph(load_settings(given), sources=[RankedSource([text], source_type="knowledge_base")])
    result = await ask(graph, "Who discovered the moons of Jupiter?")
    assert result["outcome"] == "insufficient"
    [judged] = [step for step in result["provenance"]["steps"] if step["step"] == "judge_evidence"]
    assert (judged["came_in"], judged["went_out"]) == (1, 0)
    assert [(why, len(keys)) for why, keys in judged["left_out"].items()] == [("answerable", 1)]


async def test_each_work_has_a_span_below_that_of_its_step() -> None:
    graph = build(Paid(), tracing={"enabled": True}, result_processing=PROCESSING)
    with recorded_spans() as spans:
        await ask(graph, QUESTION)
    works = [one for one in spans.all if spans.path(one)[:2] == ["turn", "process_results"] and one.name in WORKS]
    assert [one.name for one in works] == [
        "merge_results", "score_results", "rerank_results", "arrange_results", "judge_evidence"
    ]  # fmt: skip
    told = {one.name: attributes(one) for one in works}
    assert told["score_results"]["groundgraph.results_before"] == 4
    assert told["score_results"]["groundgraph.results"] == 3
    assert told["rerank_results"]["openinference.span.kind"] == "RERANKER"
    assert attributes(spans.one("process_results"))["groundgraph.results"] == 2

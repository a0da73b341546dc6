"""Reranking once, after the merge, in the graph (P4, P6, fault 39)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from cohere_stub import API_KEY, Fault, cohere_stub
from langchain_core.documents import BaseDocumentCompressor, Document
from ranked_source import RankedSource
from turn_works import works_of
from turns import QUOTING, ask, build

from groundgraph import load_settings, retrieval_graph, retrieve_context, turn_graph
from groundgraph.core.errors import ConfigurationError
from groundgraph.testing import Rule, ScriptedChatModel

pytestmark = pytest.mark.covers("P4")

TEXTS = [(0.9, "Pumps are serviced."), (0.8, "Access tokens."), (0.7, "Access tokens expire after one hour.")]
QUESTION = "When do access tokens expire?"


class Judge:
    """Finds everything relevant, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, query: str, candidates: Sequence[Any]) -> list[float]:
        self.asked.append(query)
        return [1.0 for _ in candidates]


class Reversed(BaseDocumentCompressor):
    """Turns the order round, and drops the last `without`."""

    without: int = 0

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> list[Document]:
        return list(reversed(documents))[: len(documents) - self.without]


BASE = {**QUOTING, "retrieval": {"score_threshold": 0.0}, "limits": {"attempts": 1}}


def settings(reranker: dict[str, Any] | None = None, **more: Any):
    return load_settings({**BASE, **({"reranker": {"enabled": True, **reranker}} if reranker else {}), **more})


async def ranked(given: Any, *sources: RankedSource, **arguments: Any) -> tuple[list[int], Any]:
    """The places in `TEXTS` of what was found, and everything that was found."""
    graph = retrieval_graph(given, sources=list(sources) or [RankedSource(TEXTS)], **arguments)
    context = await retrieve_context(graph, QUESTION)
    return [[text for _, text in TEXTS].index(row["text"]) for row in context.evidence], context


def cohere(url: str, **options: Any) -> Any:
    return settings({"type": "cohere", "base_url": url, **options})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_API_KEY", API_KEY)


async def test_cohere_orders_scores_and_drops_what_is_below_the_threshold():
    with cohere_stub() as stub:
        places, context = await ranked(cohere(stub.base_url))
        assert places == [2, 1]
        assert [row["relevance"] for row in context.evidence] == [1.0, pytest.approx(2 / 3, abs=1e-5)]
        entry = context.provenance["strategies"]["reranker"]
        assert entry == {"method": "cohere", "judged": 3, "dropped": 1}
        assert "rerank_results" in context.provenance["timings_ms"]
        assert (await ranked(cohere(stub.base_url, threshold=0.0)))[0] == [2, 1, 0]
        assert (await ranked(cohere(stub.base_url, threshold=0.9)))[0] == [2]
    assert stub.requests[0]["query"] == QUESTION


async def test_the_best_candidates_are_judged_and_the_others_dropped():
    with cohere_stub() as stub:
        places, context = await ranked(cohere(stub.base_url, candidates_count=2, threshold=0.0))
    assert stub.requests[0]["documents"] == [text for _, text in TEXTS[:2]]
    assert places == [1, 0]
    assert context.provenance["strategies"]["reranker"]["dropped"] == 1


async def test_it_runs_once_after_the_merge_of_all_sources():
    with cohere_stub() as stub:
        one, other = RankedSource(TEXTS[:2], name="one"), RankedSource(TEXTS[2:], name="other")
        places, _ = await ranked(cohere(stub.base_url, threshold=0.0), one, other)
    assert places == [2, 1, 0]
    assert len(stub.requests) == 1


@pytest.mark.covers("fault 39")
async def test_no_reranker_of_any_kind_is_asked_about_nothing():
    judge = Judge()
    with cohere_stub() as stub:
        for given, reranker in ((cohere(stub.base_url), None), (settings(), judge)):
            context = (await ranked(given, RankedSource([]), reranker=reranker))[1]
            assert (context.outcome, context.provenance["notes"]) == ("insufficient", [])
    assert (stub.requests, judge.asked) == ([], [])


@pytest.mark.covers("fault 39")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 418, 422, 429, 498, 499, 500, 501, 503, 504])
async def test_a_failure_keeps_the_order_and_is_told(status):
    with cohere_stub(Fault(status)) as stub:
        places, context = await ranked(cohere(stub.base_url, candidates_count=2))
    assert places == [0, 1, 2]
    entry = context.provenance["strategies"]["reranker"]
    assert entry["method"] is None
    assert f"told {status}" in entry["unavailable"]["cohere"]
    [note] = context.provenance["notes"]
    assert f"RerankerFailed {status}: " in note
    assert "told" not in note
    assert "could not be reranked" in note


@pytest.mark.covers("fault 39")
@pytest.mark.parametrize("fault", [Fault(wait=30), Fault(drop=True), Fault(200, "no json"), Fault(200, {"id": "x"})])
async def test_so_does_a_service_that_is_late_gone_or_talks_nonsense(fault):
    with cohere_stub(fault) as stub:
        given = settings({"type": "cohere", "base_url": stub.base_url}, deadlines={"model": 0.5})
        places, context = await ranked(given)
    assert places == [0, 1, 2]
    assert context.provenance["strategies"]["reranker"]["unavailable"]["cohere"]
    assert len(context.provenance["notes"]) == 1


@pytest.mark.covers("fault 39")
async def test_the_note_is_in_the_language_of_the_question():
    with cohere_stub(Fault(500)) as stub:
        output = await ask(turn_graph(cohere(stub.base_url), sources=[RankedSource(TEXTS)]), "Когда истекают токены?")
    assert any(note.startswith("Переранжировать") for note in output["notes"])


async def test_when_everything_is_below_the_threshold_no_model_writes_an_answer():
    model = ScriptedChatModel("never")
    with cohere_stub(scores=lambda query, documents: [0.1] * len(documents)) as stub:
        output = await ask(turn_graph(cohere(stub.base_url), sources=[RankedSource(TEXTS)], chat_model=model), QUESTION)
    assert output["outcome"] == "insufficient"
    assert model.calls == []


@pytest.mark.covers("P6")
async def test_a_reranker_that_fails_hands_over_to_the_next():
    with cohere_stub(Fault(503)) as stub:
        given = settings({"type": ["cohere", "identity"], "base_url": stub.base_url})
        places, context = await ranked(given)
    assert places == [0, 1, 2]
    entry = context.provenance["strategies"]["reranker"]
    assert (entry["method"], list(entry["unavailable"])) == ("identity", ["cohere"])
    assert context.provenance["notes"] == []


@pytest.mark.covers("P6")
async def test_one_without_a_key_hands_over_and_alone_is_refused(monkeypatch):
    monkeypatch.delenv("CO_API_KEY")
    context = (await ranked(settings({"type": ["cohere", "identity"]})))[1]
    assert "CO_API_KEY" in context.provenance["strategies"]["reranker"]["unavailable"]["cohere"]
    with pytest.raises(ConfigurationError, match="CO_API_KEY or GROUNDGRAPH_RERANKER__API_KEY"):
        retrieval_graph(settings({"type": "cohere"}), sources=[RankedSource(TEXTS)])


async def test_the_model_is_the_judge():
    judge = ScriptedChatModel(rules=[Rule("Judge for each", "1: 0\n2: 1\n3: 4")])
    places, context = await ranked(settings({"type": "judge"}), chat_model=judge, query_model=judge)
    assert places == [2]
    assert context.evidence[0]["relevance"] == 1.0
    assert context.provenance["strategies"]["reranker"]["method"] == "judge"


@pytest.mark.covers("T9")
async def test_the_calls_of_a_judge_are_recorded_and_count_among_those_of_the_turn():
    judge = ScriptedChatModel(rules=[Rule("Judge for each", "1: 0\n2: 1\n3: 4")], default="After an hour [1].")

    async def turn(calls: int) -> dict[str, Any]:
        given = settings({"type": "judge"}, synthesis={"style": "conversational"}, limits={"model_calls": calls})
        return (await ask(turn_graph(given, sources=[RankedSource(TEXTS)], chat_model=judge), QUESTION))["provenance"]

    record = await turn(3)
    assert [call["role"] for call in record["models"]] == ["judge", "answer"]
    assert record["models"][0]["input_tokens"] > 0
    # One call is kept for the queries and one for the answer.
    record = await turn(2)
    assert [call["role"] for call in record["models"]] == ["answer"]
    assert "limits.model_calls" in record["strategies"]["reranker"]["unavailable"]["judge"]
    assert len(record["results"]) == 3


async def test_the_judge_is_what_enabled_alone_asks_for_and_it_needs_a_model():
    with pytest.raises(ConfigurationError, match="'judge' needs a model"):
        retrieval_graph(load_settings({"reranker": {"enabled": True}}), sources=[RankedSource(TEXTS)])


async def test_a_document_compressor_from_the_configuration():
    given = {"type": "langchain", "compressor": f"{__name__}:Reversed", "options": {"without": 1}}
    places, context = await ranked(settings(given))
    assert places == [2, 1]
    assert [row["relevance"] for row in context.evidence] == [0.7, 0.8]
    assert context.provenance["strategies"]["reranker"]["method"] == "langchain"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"type": "langchain"}, "needs a document compressor"),
        ({"type": "langchain", "compressor": "nowhere:Nothing"}, "cannot be imported"),
        ({"type": "langchain", "compressor": "groundgraph:InMemorySource"}, "is no document compressor"),
        ({"type": "langchain", "compressor": f"{__name__}:Reversed", "options": {"without": "x"}}, "without: Input"),
        ({"type": "coher"}, "Did you mean 'cohere'"),
    ],
)
def test_what_cannot_work_is_refused_when_the_graph_is_built(given, told):
    with pytest.raises(ConfigurationError, match=told):
        turn_graph(settings(given), sources=[RankedSource(TEXTS)])


async def test_a_reranker_from_python_turns_reranking_on():
    places, context = await ranked(settings(), reranker=Reversed())
    assert places == [2, 1, 0]
    assert context.provenance["strategies"]["reranker"]["method"] == "Reversed"

    def by_length(query: str, candidates: Sequence[Any]) -> list[float]:
        return [len(candidate.content) / 100 for candidate in candidates]

    assert (await ranked(settings(), reranker=by_length))[0] == []
    assert (await ranked(settings({"threshold": 0.2}), reranker=by_length))[0] == [2]


def test_two_rerankers_are_refused_also_when_one_comes_from_python():
    given = settings(chains={"query": {"reranker": "judge"}})
    with pytest.raises(ConfigurationError, match="two rerankers"):
        turn_graph(given, sources=[RankedSource(TEXTS)], reranker=Reversed(), chat_model=ScriptedChatModel("x"))


async def test_off_the_work_is_not_in_the_graph():
    assert works_of(turn_graph(settings(), sources=[RankedSource(TEXTS)])) == set()
    assert works_of(build(base={}, reranker={"enabled": False}, sources=[RankedSource(TEXTS)])) == set()
    with pytest.raises(ConfigurationError, match=r"reranker\.type: has no effect without reranker\.enabled: true"):
        load_settings({"reranker": {"enabled": False, "type": "cohere"}})


@pytest.mark.covers("I11")
async def test_a_follow_up_is_judged_together_with_what_it_leans_on():
    judge = Judge()
    given = load_settings({"retrieval": {"score_threshold": 0.0}, "synthesis": {"style": "structured"}})
    graph = turn_graph(given, sources=[RankedSource(TEXTS)], reranker=judge)
    conversation = [("user", QUESTION), ("assistant", "After an hour."), ("user", "And why is that?")]
    await graph.ainvoke({"messages": conversation})
    assert "access tokens" in judge.asked[0]
    assert "why" in judge.asked[0].lower()

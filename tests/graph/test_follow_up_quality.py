"""The rule for follow-ups, measured on real conversations (I11, L14)."""

from __future__ import annotations

import json
from pathlib import Path

import ir_measures
import pytest
from ir_measures import R, nDCG
from langchain_core.messages import AIMessage, HumanMessage

from benchmarks.public_sets.sets import CONVERSATION
from groundgraph import load_settings, retrieval_graph
from groundgraph.evals.corpus_base import corpus_base
from groundgraph.evals.dataset import load_dataset
from groundgraph.sources.knowledge_base import KnowledgeBaseSource

MEASURES = [nDCG @ 5, R @ 5]


def rows(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def conversation(text: str, whole: bool) -> list[HumanMessage | AIMessage]:
    """The user's turns, each answered; the last one alone unless `whole`."""
    lines = [line for line in text.split("\n") if line.strip()]
    asked = lines if whole else lines[-1:]
    messages: list[HumanMessage | AIMessage] = []
    for number, line in enumerate(asked):
        messages.append(HumanMessage(line, id=f"q{number}"))
        if number < len(asked) - 1:
            messages.append(AIMessage("An answer.", id=f"a{number}"))
    return messages


@pytest.mark.covers("I11", "L14")
@pytest.mark.slow
async def test_the_rule_is_never_below_the_last_turn_alone(bases: Path, data: Path) -> None:
    folder = data / "mtrag_pool"
    [corpus] = load_dataset(CONVERSATION.files(data)).corpora
    source = KnowledgeBaseSource(await corpus_base(corpus, bases))
    graph = retrieval_graph(load_settings({"retrieval": {"top_k": 50, "score_threshold": 0.0}}), sources=[source])
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, gain = line.split("\t")
        judged.setdefault(query, {})[document] = int(gain)
    figures = {}
    opened = 0
    for whole in (False, True):
        run = {}
        for row in rows(folder / "queries_questions.jsonl"):
            found = await graph.ainvoke({"messages": conversation(row["text"], whole)})
            opened += whole and len(found["provenance"]["intent"]["text_queries"]) > 1
            run[row["_id"]] = {e["metadata"]["document"]: -float(n) for n, e in enumerate(found["evidence"])}
        figures[whole] = ir_measures.calc_aggregate(MEASURES, judged, run)
    await source.close()
    print(figures, "the rule opened for", opened)
    assert opened > 20
    for measure in MEASURES:
        assert figures[True][measure] >= figures[False][measure] - 0.01

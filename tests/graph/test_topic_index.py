"""Turns over sources with a topic index (X5, X6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from topic_bases import GUIDE, WordVectors, base
from turns import ask_once, build

from groundgraph import Context, load_settings, retrieval_graph
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError
from groundgraph.sources import InMemorySource
from groundgraph.testing import ScriptedChatModel

SAFETY = ["Safety", "Fire", "Water", "Pumps", "Power"]
TREE = {"type": "heading_tree", "entry_strategy": "heading_match"}


async def retrieved(path: Path, question: str, index: dict[str, Any], *, context: Any = None, **given: Any) -> Any:
    base = {"knowledge_base": {"file": str(path), "topic_index": index}}
    retrieval = {"merge_adjacent": False, **given.pop("retrieval", {})}
    graph = build(graph=retrieval_graph, base=base, retrieval=retrieval, **given)
    return await ask_once(graph, question, context=context)


@pytest.fixture
async def guide(tmp_path: Path) -> Path:
    await base(tmp_path / "kb.sqlite", {"guide": GUIDE})
    return tmp_path / "kb.sqlite"


def headings(output: dict[str, Any]) -> list[str]:
    return [row["metadata"]["headings"][-1] for row in output["evidence"]]


@pytest.mark.covers("X5")
async def test_neither_top_k_nor_the_threshold_cuts_a_topic(guide):
    output = await retrieved(guide, "What about safety?", TREE, retrieval={"top_k": 1, "score_threshold": 0.9})
    assert headings(output) == SAFETY
    assert output["provenance"]["sources"]["knowledge_base"]["dropped"] == {}


@pytest.mark.covers("X5")
async def test_the_context_budget_cuts_afterwards(guide):
    output = await retrieved(guide, "safety", TREE, result_processing={"max_kb_chars": 120})
    assert headings(output) == SAFETY[: len(output["evidence"])]
    assert 0 < len(output["evidence"]) < len(SAFETY)
    assert len(output["context"]) <= 120
    assert output["provenance"]["sources"]["knowledge_base"]["kept"] == len(SAFETY)


@pytest.mark.covers("X6")
async def test_a_source_with_an_index_is_asked_once_with_the_question_and_others_as_usual(guide):
    other = InMemorySource(["pump rules and safety rules"], name="notes")
    model = ScriptedChatModel("pump rules\nsafety rules")
    output = await retrieved(guide, "What about safety of machines?", TREE, sources=[other], query_model=model)
    sources = output["provenance"]["sources"]
    assert sources["knowledge_base"]["queries"] == ["What about safety of machines?"]
    assert sources["notes"]["queries"] == ["What about safety of machines?", "pump rules", "safety rules"]
    assert {row["source_name"] for row in output["evidence"]} == {"knowledge_base", "notes"}


@pytest.mark.covers("X6")
async def test_a_question_that_leans_on_the_conversation_is_asked_as_a_model_put_it(guide):
    settings = load_settings({"knowledge_base": {"file": str(guide), "topic_index": TREE}})
    graph = retrieval_graph(settings, query_model=ScriptedChatModel("safety of a workshop"))
    messages = [
        HumanMessage("Tell me about workshops.", id="1"),
        AIMessage("Yes.", id="2"),
        HumanMessage("And its safety?", id="3"),
    ]
    output = await graph.ainvoke({"messages": messages})
    assert output["provenance"]["sources"]["knowledge_base"]["queries"] == ["safety of a workshop"]
    await graph.resources.close()


@pytest.mark.covers("X6")
async def test_a_configuration_with_fixed_queries_may_leave_the_message_out(guide):
    intent = {"mode": "static", "text_queries": ["safety"], "include_message_as_query": False}
    assert headings(await retrieved(guide, "linux", TREE, intent=intent)) == SAFETY
    with_message = {**intent, "include_message_as_query": True}
    assert headings(await retrieved(guide, "linux", TREE, intent=with_message)) == ["Linux", "Servers"]


TEMPLATE = """
text_queries: ["{{ message }}"]
scope: SCOPE
topic_index: {expansion_mode: children, nonsense: 1}
"""


@pytest.mark.covers("X5")
async def test_a_template_overrides_the_index_and_what_it_cannot_set_is_told(guide):
    index = {**TREE, "scope_profiles": {"broad": {"expansion_mode": "leaves"}}}
    intent = {"mode": "template", "template": TEMPLATE.replace("SCOPE", "broad")}
    output = await retrieved(guide, "safety", index, intent=intent)
    assert headings(output) == ["Fire", "Water", "Power"]
    assert "'nonsense' is no option of a topic index" in " ".join(output["notes"])


@pytest.mark.covers("X5")
@pytest.mark.parametrize(
    ("scope", "expected"), [("broad", SAFETY), ("exact", ["Safety"]), ("focused", ["Fire", "Pumps", "Power"])]
)
async def test_the_scope_of_the_intent_chooses_a_profile(guide, scope, expected):
    profiles = {"exact": {"max_expansion_depth": 0}, "focused": {"expansion_mode": "leaves"}}
    output = await retrieved(guide, "safety", {**TREE, "scope_profiles": profiles}, intent={"scope": scope})
    assert headings(output) == expected


@pytest.mark.covers("fault 60")
async def test_default_and_scope_filters_hold_inside_an_index(tmp_path):
    text = "# Book\n\n## Safety\n\nintro\n\n### Fire\n\nsecret\n"
    tenants = {"a": {"tenant": "a", "year": 1}, "b": {"tenant": "b", "year": 1}, "old": {"tenant": "a", "year": 0}}
    fields = {"tenant": {"type": "string"}, "year": {"type": "integer"}}
    await base(tmp_path / "kb.sqlite", dict.fromkeys(tenants, text), metadata=tenants, fields=fields)
    graph = build(
        graph=retrieval_graph,
        knowledge_base={"file": str(tmp_path / "kb.sqlite"), "fields": fields, "topic_index": TREE},
        intent={"default_filters": {"knowledge_base": {"year": 1}}},
        retrieval={"scope_filters": {"knowledge_base": {"tenant": "context.tenant"}}},
    )
    context = Context(scope={"tenant": "a"})
    output = await ask_once(graph, "fire safety", context=context)
    assert {row["metadata"]["document"] for row in output["evidence"]} == {"a"}


@pytest.mark.covers("S4")
async def test_the_structured_answer_shows_a_topic_as_an_outline(guide):
    listing = {"style": "structured"}
    graph = build(base={}, knowledge_base={"file": str(guide), "topic_index": TREE}, synthesis=listing)
    output = await ask_once(graph, "What about safety?")
    lines = [line.split(" (relevance")[0] for line in output["messages"][-1].text.split("## Sources")[1].splitlines()]
    outline = [line.replace("- [", "- ").replace("] ", " ") for line in lines if line.lstrip().startswith("- ")]
    depth = {line.split(" ")[-1]: (len(line) - len(line.lstrip())) // 2 for line in outline}
    assert outline[0] == "- Guide > Safety"
    assert {name: depth[name] for name in ("Fire", "Water", "Pumps", "Power")} == {
        "Fire": 2, "Water": 2, "Pumps": 3, "Power": 2,
    }  # fmt: skip
    assert output["outcome"] == "answered", "the text below the heading is quoted"


@pytest.mark.covers("X3")
async def test_a_model_chooses_in_a_turn_and_its_call_is_recorded(guide):
    index = {"type": "heading_tree", "resolution_prompt": "Take what fits."}
    model = ScriptedChatModel(["anything at all", "S6"])
    output = await retrieved(guide, "safety", index, query_model=model)
    assert headings(output) == ["Fire"]
    assert "choose_headings" in [call["role"] for call in output["provenance"]["models"]]


@pytest.mark.covers("X3")
async def test_a_bad_reply_falls_back_and_is_told(guide):
    index = {"type": "heading_tree", "resolution_prompt": "Take what fits."}
    output = await retrieved(guide, "safety", index, query_model=ScriptedChatModel(["a query", "no idea"]))
    assert headings(output) == SAFETY
    assert "names no section of the list" in " ".join(output["notes"])


@pytest.mark.covers("X4")
async def test_a_turn_over_clusters(tmp_path):
    texts = {"p1": "pump leaks", "p2": "pump noise", "c1": "cat sleeps", "c2": "cat purrs"}
    await base(tmp_path / "kb.sqlite", texts, words=["pump", "cat"])
    embedder = Embedder(WordVectors(["pump", "cat"]), "words")
    output = await retrieved(tmp_path / "kb.sqlite", "my pump", {"type": "cluster"}, embeddings=embedder)
    assert [row["metadata"]["document"] for row in output["evidence"]] == ["p1", "p2"]


@pytest.mark.covers("X5")
@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"knowledge_base": {"topic_index": {"type": "cluster"}}}, "knowledge_base.topic_index.type"),
        (
            {
                "sources": [
                    {"type": "knowledge_base", "topic_index": {"type": "heading_tree", "resolution_prompt": "x"}}
                ]
            },
            "sources[0].topic_index.resolution_prompt",
        ),
        (
            {
                "sources": [
                    {"type": "database", "name": "t", "backend": "memory", "records": [{"a": "b"}], "topic_index": TREE}
                ]
            },
            "sources[0].topic_index: the source does not say which columns",
        ),
    ],
)
def test_an_index_that_cannot_work_is_refused_when_the_graph_is_built(sections, told):
    with pytest.raises(ConfigurationError) as caught:
        retrieval_graph(load_settings(sections))
    assert told in str(caught.value)


@pytest.mark.covers("X5")
def test_config_check_says_what_an_index_lacks(tmp_path):
    from groundgraph.cli.check_config import check_config

    file = tmp_path / "groundgraph.yaml"
    file.write_text("knowledge_base:\n  topic_index:\n    type: cluster\n", "utf-8")
    checked = check_config(file)
    # No problem of the file: the model may come from Python, as a chat model may.
    assert checked.problems == []
    notice, alone = checked.notices
    assert notice.startswith("knowledge_base.topic_index.type: 'cluster' works with vectors")
    assert alone.startswith("no turn is run from this file alone")
    file.write_text(file.read_text("utf-8") + "embeddings: {provider: openai, model: small}\n", "utf-8")
    assert check_config(file).problems == []


@pytest.mark.covers("X5")
async def test_the_index_of_the_knowledge_base_is_that_of_its_sources_without_one(tmp_path):
    await base(tmp_path / "kb.sqlite", {"guide": GUIDE})
    entry = {"type": "vector_kb", "path": str(tmp_path / "kb.sqlite")}
    entries = [{**entry, "name": "docs"}, {**entry, "name": "own", "topic_index": {**TREE, "expansion_mode": "leaves"}}]
    settings = load_settings(
        {"sources": entries, "knowledge_base": {"topic_index": TREE}, "retrieval": {"merge_adjacent": False}}
    )
    by_source = (await ask_once(retrieval_graph(settings), "safety"))["provenance"]["sources"]
    assert (by_source["docs"]["kept"], by_source["own"]["kept"]) == (5, 3)

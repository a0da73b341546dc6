"""What newcomers try: each wrong use is refused at the call, with an error that says what to do."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument

from groundgraph import (
    Context,
    InMemorySource,
    KnowledgeBase,
    load_settings,
    open_graph,
    retrieval_tool,
    retrieve_context,
    turn_graph,
    turn_page,
)
from groundgraph.core.errors import ConfigurationError, InputInvalid

pytestmark = pytest.mark.covers("B6", "B7")
QUESTION = "When is the pump serviced?"


def source() -> InMemorySource:
    return InMemorySource(["The pump is serviced every month."])


def asked(given: Any) -> Any:
    return turn_graph(sources=[source()]).invoke(given)


@pytest.mark.parametrize(
    ("use", "error", "told"),
    [
        (lambda: turn_graph(sources=source()), ConfigurationError, "put it in one: sources=[...]"),
        (lambda: turn_graph(sources=["docs"]), ConfigurationError, "LangChainSource wraps retrievers"),
        (lambda: turn_graph(3), ConfigurationError, "a file, a mapping or None"),
        (lambda: turn_graph("gone.yaml"), ConfigurationError, "gone.yaml"),
        (lambda: turn_graph({"synthesiss": {}}), ConfigurationError, "Did you mean 'synthesis'?"),
        (lambda: retrieval_tool(source()), ConfigurationError, "a file, a mapping or None"),
        (lambda: KnowledgeBase.open("base.sqlite"), ConfigurationError, "base.sqlite"),
        (lambda: InMemorySource("one text"), ConfigurationError, "records are a list"),
        (lambda: InMemorySource(3), ConfigurationError, "records are a list"),
        (lambda: InMemorySource([1]), ConfigurationError, "memory.records[0]: a record is a text"),
        (lambda: InMemorySource([{"body": "x"}]), ConfigurationError, "needs 'content'"),
        (lambda: InMemorySource(["x"], schema={"fields": {}}), ConfigurationError, "a SourceSchema"),
        (lambda: asked({"query": QUESTION}), InputInvalid, "has no key 'query'"),
        (lambda: asked({"question": 3}), InputInvalid, "'question' is a text"),
        (lambda: asked({"messages": [object()]}), InputInvalid, "no message"),
        (lambda: Context(topk=3), InputInvalid, "topk"),
        (lambda: turn_page({"answer": "x"}), InputInvalid, "load_provenance()"),
        (lambda: turn_page("first"), InputInvalid, "load_provenance()"),
    ],
)
def test_a_wrong_use_says_what_to_do(use, error, told):
    with pytest.raises(error) as caught:
        use()
    assert told in str(caught.value)


async def test_settings_are_optional_and_may_be_what_load_settings_takes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for given in (None, {}, load_settings({})):
        assert turn_graph(given, sources=[source()]).invoke({"question": QUESTION})["outcome"] == "answered"
        async with open_graph(given, sources=[source()]) as graph:
            one = await graph.ainvoke({"question": QUESTION}, {"configurable": {"thread_id": "first"}})
            assert one["outcome"] == "answered"
    found = await retrieve_context({"sources": [{"type": "memory", "name": "m", "records": ["Pumps leak."]}]}, "pumps")
    assert found.evidence[0]["text"] == "Pumps leak."


def test_the_output_of_a_turn_has_a_page():
    output = asked({"question": QUESTION})
    assert turn_page(output) == turn_page(output["provenance"])


def test_documents_of_langchain_are_taken_in_under_the_names_that_they_have(tmp_path):
    base = KnowledgeBase.open({"knowledge_base": {"file": str(tmp_path / "base.sqlite")}})
    pages = [LangChainDocument(f"Text of page {n}.", metadata={"source": "guide.pdf", "page": n}) for n in (1, 2)]
    report = base.add_documents([*pages, LangChainDocument("A pump.", id="a"), LangChainDocument("A press.")])
    names = [row.name for row in base.documents()]
    assert (report.written, names[1:]) == (4, ["a", "guide.pdf, page 1", "guide.pdf, page 2"])
    assert base.document("guide.pdf, page 2").metadata["page"] == 2

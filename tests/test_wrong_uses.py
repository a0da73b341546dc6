"""What newcomers try: each wrong use is refused at the call, with an error that says what to do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.checkpoint.memory import InMemorySaver

from groundgraph import (
    CascadeRetriever,
    ConfigurationError,
    Context,
    GroundedSource,
    InMemorySource,
    InputInvalid,
    KnowledgeBase,
    NothingToResume,
    QueryBot,
    RetrievalIntent,
    SourceSchema,
    SqlSource,
    ingest_graph,
    load_provenance_sync,
    load_settings,
    open_graph,
    resume_turn_sync,
    retrieval_tool,
    retrieve_context,
    turn_graph,
    turn_page,
    turn_tool,
)
from groundgraph.testing import NgramEmbeddings, ScriptedChatModel

pytestmark = pytest.mark.covers("B6", "B7")
QUESTION = "When is the pump serviced?"
PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/pump.png"}}
MODEL = ScriptedChatModel("Every month [1].")


def source() -> InMemorySource:
    return InMemorySource(["The pump is serviced every month."])


class Unschemed(GroundedSource):
    name = source_type = "plain"

    def get_schema(self) -> Any:
        return {}

    async def query(self, intent: Any, *, top_k: int = 5, score_threshold: float = 0.0) -> Any:
        return []


class Unnamed(GroundedSource):
    name = source_type = ""

    async def query(self, intent: Any, *, top_k: int = 5, score_threshold: float = 0.0) -> Any:
        return []


def asked(given: Any, *configuration: Any, **options: Any) -> Any:
    return turn_graph(sources=[source()]).invoke(given, *configuration, **options)


def kept() -> Any:
    """A graph that keeps its threads."""
    return turn_graph(sources=[source()], checkpointer=InMemorySaver())


async def history_of(configuration: Any) -> list[Any]:
    return [state async for state in kept().aget_state_history(configuration)]


def base(**schemas: Any) -> KnowledgeBase:
    declared = {name: {"fields": {"a": {"type": "string"}}} for name in schemas}
    return KnowledgeBase.open({"knowledge_base": {"schemas": declared}})


def langchain(named: str) -> dict[str, Any]:
    return {"sources": [{"type": "langchain", "name": "docs", "class": named}]}


def store() -> InMemoryVectorStore:
    return InMemoryVectorStore(NgramEmbeddings())


@pytest.mark.parametrize(
    ("use", "error", "told"),
    [
        (lambda: turn_graph(sources=source()), ConfigurationError, "put it in one: sources=[...]"),
        (lambda: turn_graph(sources=["docs"]), ConfigurationError, "LangChainSource wraps retrievers"),
        (lambda: turn_graph(sources=[base()]), ConfigurationError, "leave sources= out"),
        (lambda: turn_graph(sources=[store()]), ConfigurationError, "LangChainSource(..., name=...)"),
        (lambda: turn_graph(sources=[store().as_retriever()]), ConfigurationError, "LangChainSource(..., name=...)"),
        (lambda: turn_graph(3), ConfigurationError, "a file, a mapping or None"),
        (lambda: turn_graph("gone.yaml"), ConfigurationError, "gone.yaml"),
        (lambda: turn_graph({"synthesiss": {}}), ConfigurationError, "Did you mean 'synthesis'?"),
        (lambda: turn_graph(langchain("no.such:Thing")), ConfigurationError, "sources[0].class: 'no.such:Thing'"),
        (lambda: retrieval_tool(source()), ConfigurationError, "a file, a mapping or None"),
        (lambda: KnowledgeBase.open("base.sqlite"), ConfigurationError, "base.sqlite"),
        (lambda: InMemorySource("one text"), ConfigurationError, "records are a list"),
        (lambda: InMemorySource(3), ConfigurationError, "records are a list"),
        (lambda: InMemorySource([1]), ConfigurationError, "memory.records[0]: a record is a text"),
        (lambda: InMemorySource([{"body": "x"}]), ConfigurationError, "needs 'content'"),
        (lambda: InMemorySource(["x"], schema={"fields": {}}), ConfigurationError, "a SourceSchema"),
        (lambda: asked({}), InputInvalid, '{"question": "..."}'),
        (lambda: asked({"query": QUESTION}), InputInvalid, "has no key 'query'"),
        (lambda: asked({"question": 3}), InputInvalid, "'question' is a text"),
        (lambda: asked({"messages": [object()]}), InputInvalid, "Message 1 of 'messages' cannot be read"),
        (lambda: asked({"messages": [QUESTION, PICTURE]}), InputInvalid, "no picture, sound or file."),
        (lambda: asked({"messages": {"role": "user", "content": PICTURE}}), InputInvalid, "cannot be read. Send a"),
        (lambda: Context(topk=3), InputInvalid, "topk"),
        (lambda: turn_page({"answer": "x"}), InputInvalid, "load_provenance()"),
        (lambda: turn_page("first"), InputInvalid, "load_provenance()"),
        (lambda: asked(None), NothingToResume, "Ask a question"),
        (lambda: turn_graph(sources=[InMemorySource]), ConfigurationError, "write InMemorySource(...)"),
        (lambda: turn_graph(sources=[Unschemed()]), ConfigurationError, "plain: its get_schema() gives a dict"),
        (lambda: turn_graph(sources=[Unnamed()]), ConfigurationError, "sources[0]: a source has a name"),
        (lambda: turn_graph(sources=[source()], chat_model=3), ConfigurationError, "such as 'openai:gpt-5-mini'"),
        (lambda: turn_graph(sources=[source()], query_model=ScriptedChatModel), ConfigurationError, "no object of it"),
        (lambda: turn_graph(chat_model=MODEL.with_fallbacks([MODEL])), ConfigurationError, "chat_model: takes a chat"),
        (lambda: turn_graph(chat_model=MODEL.bind(stop=["."])), ConfigurationError, "without bind"),
        (lambda: turn_graph(query_model=MODEL.bind(stop=["."])), ConfigurationError, "query_model: takes a chat model"),
        (lambda: turn_graph(embeddings=lambda text: [0.0]), ConfigurationError, "an embedding model of LangChain's"),
        (lambda: turn_graph(sources=[source()], reranker="cohere"), ConfigurationError, "named in the settings"),
        (lambda: turn_graph(sources=[source()], checkpointer="a.sqlite"), ConfigurationError, "open_graph opens"),
        (lambda: turn_graph(sources=[source()], store="a.sqlite"), ConfigurationError, "a store of LangGraph's"),
        (lambda: asked({"question": QUESTION}, "visit-1"), InputInvalid, '{"configurable": {"thread_id": "visit-1"}}'),
        (lambda: kept().get_state({}), InputInvalid, "name the conversation"),
        (lambda: kept().get_state_history({}), InputInvalid, "name the conversation"),
        (lambda: kept().update_state({}, {"draft": "x"}), InputInvalid, "name the conversation"),
        (lambda: asyncio.run(kept().aget_state({})), InputInvalid, "name the conversation"),
        (lambda: asyncio.run(kept().aget_state({"configurable": {"thread_id": None}})), InputInvalid, "name the"),
        (lambda: asyncio.run(history_of({})), InputInvalid, "name the conversation"),
        (lambda: asked(5), InputInvalid, 'A turn takes {"question": "..."}'),
        (lambda: asked({"question": QUESTION}, {"thread_id": "a"}), InputInvalid, '{"configurable": {"thread_id"'),
        (lambda: asked({"question": QUESTION}, top_k=3), InputInvalid, "context=Context(top_k=...)"),
        (lambda: asked({"question": QUESTION}, thread_id="a"), InputInvalid, "the second argument"),
        (lambda: asked({"question": QUESTION}, interrupt_befor="*"), InputInvalid, "Did you mean 'interrupt_before'?"),
        (lambda: asked({"question": QUESTION}, context="fast"), InputInvalid, "a Context, or a mapping"),
        (lambda: asked({"question": QUESTION}, stream_mode="tokens"), InputInvalid, "Known: values, updates"),
        (lambda: RetrievalIntent("pumps"), InputInvalid, "RetrievalIntent(['pumps'])"),
        (lambda: SourceSchema("a", ["floor"]), ConfigurationError, '{"floor": {"type": "integer"}}'),
        (lambda: SourceSchema("a", {"floor": "integer"}), ConfigurationError, '{"floor": {"type": "integer"}}'),
        (lambda: InMemorySource({"pump": "serviced"}), ConfigurationError, "records are a list"),
        (lambda: InMemorySource(["x"], name=3), ConfigurationError, "a source has a name"),
        (lambda: SqlSource("sqlite:///a.db", name="a", table=["b", "c"]), ConfigurationError, "tables=[...]"),
        (lambda: SqlSource("postgresql://h/d", name="a", vector_field="v"), ConfigurationError, "needs embeddings="),
        (lambda: base().search(["pump"]), InputInvalid, "'query' is a text"),
        (lambda: base().remove(["a"]), InputInvalid, "'id' is a text"),
        (lambda: base(facts={}).add_records("facts", {"a": "x"}), InputInvalid, "in one: [...]"),
        (lambda: ingest_graph().invoke("docs"), InputInvalid, '{"paths": ["docs"]}'),
        (lambda: ingest_graph().invoke({"path": ["docs"]}), InputInvalid, "Did you mean 'paths'?"),
        (lambda: load_provenance_sync({"answer": "x"}, "visit-1"), InputInvalid, "the graph that ran the turn"),
        (lambda: resume_turn_sync(None, "visit-1"), InputInvalid, "the graph that ran the turn"),
        (lambda: turn_tool(source()), ConfigurationError, "a file, a mapping or None"),
        (lambda: QueryBot("Help.", ["a text"]), ConfigurationError, "an object with retrieve"),
        (lambda: QueryBot("Help.", source(), model_name="a/b", chat_model="c:d"), ConfigurationError, "pass one of"),
        (lambda: CascadeRetriever(3), ConfigurationError, "a file, a folder or a list"),
    ],
)
def test_a_wrong_use_says_what_to_do(use, error, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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


def test_documents_of_one_name_in_one_call_of_which_the_last_is_kept_are_told_once(tmp_path):
    schemas = {"notes": {"fields": {"id": {}, "text": {}}, "content": ["text"], "id": "id"}}
    base = KnowledgeBase.open({"knowledge_base": {"file": str(tmp_path / "base.sqlite"), "schemas": schemas}})
    cut = [LangChainDocument(f"Piece {n}.", metadata={"source": "guide.md"}) for n in range(3)]
    report = base.add_documents([*cut, {"name": "other", "text": "A pump."}, {"name": "other", "text": "A pump."}])
    assert [row.name for row in base.documents()] == ["guide.md", "other"]
    assert (report.documents, base.document("guide.md").text) == (2, "Piece 2.")
    [told] = report.warnings
    assert told["document"] == "guide.md"
    assert "only the last of them is kept: give each a name of its own" in told["reason"]
    assert not base.add_documents(cut[-1:]).warnings
    # Also where a batch lies between them.
    apart = [{"name": str(n % 300), "text": f"Text {n}."} for n in range(301)]
    assert [told["document"] for told in base.add_documents(iter(apart)).warnings] == ["0"]
    report = base.add_records("notes", [{"id": "a", "text": "One."}, {"id": "a", "text": "Two."}])
    assert [told["document"] for told in report.warnings] == ["notes/a"]

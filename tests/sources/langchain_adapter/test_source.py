from __future__ import annotations

import asyncio
import math
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from pydantic import Field

from groundgraph import LangChainSource, load_settings, retrieval_graph, retrieve_context, turn_graph
from groundgraph.core.errors import ConfigurationError, FilterInvalid
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.conformance import check_source
from groundgraph.sources.langchain_adapter import MAX_ASKED_FOR, as_relevance
from groundgraph.testing import NgramEmbeddings, check_filters

pytestmark = pytest.mark.covers("R6")

TEXTS = [
    "Refund policy: goods come back within thirty days.",
    "Refund policy for food: no refund once opened.",
    "Shipping takes three days inside the country.",
    "The refund is paid to the card within a week.",
    "Our office is closed on Sunday.",
    "Policy on gifts and refund vouchers.",
]
FIELDS = {"topic": {"type": "string"}, "year": {"type": "integer"}}
SCHEMA = SourceSchema("docs", FIELDS)
QUERY = "refund policy"


def documents() -> list[Document]:
    return [
        Document(text, id=f"d{number}", metadata={"topic": "even" if number % 2 == 0 else "odd", "year": 2020 + number})
        for number, text in enumerate(TEXTS)
    ]


def vector_store(given=None) -> InMemoryVectorStore:
    store = InMemoryVectorStore(NgramEmbeddings())
    store.add_documents(given or documents())
    return store


class WordRetriever(BaseRetriever):
    """Gives the documents that share a word with the question, the most words first."""

    documents: list[Document]
    asked: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query, *, run_manager):
        self.asked.append(query)
        words = set(query.lower().split())
        shared = [(len(words & set(found.page_content.lower().split())), found) for found in self.documents]
        return [found for count, found in sorted(shared, key=lambda pair: -pair[0]) if count]


class Scored(VectorStore):
    """A store that gives the scores it was made with."""

    def __init__(self, scores, relevance=None):
        self.scores = scores
        self.relevance = relevance
        self.asked: list[int] = []

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        raise NotImplementedError

    def similarity_search(self, query, k=4, **kwargs):
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(self, query, k=4, **kwargs):
        self.asked.append(k)
        return [(Document(f"text {number}", id=str(number)), score) for number, score in enumerate(self.scores)][:k]

    async def asimilarity_search_with_score(self, *args, **kwargs):
        return self.similarity_search_with_score(*args, **kwargs)

    def _select_relevance_score_fn(self):
        if self.relevance is None:
            raise NotImplementedError
        return self.relevance


async def ask(source, *queries, top_k=5, threshold=0.0, **conditions):
    intent = RetrievalIntent(list(queries or [QUERY]), {source.name: conditions} if conditions else {})
    return await source.query(intent, top_k=top_k, score_threshold=threshold)


# ---- the contract -----------------------------------------------------------------------------------------------


def knn_retriever(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from langchain_community.retrievers import KNNRetriever
    return KNNRetriever.from_documents(documents(), NgramEmbeddings(), **options)


SOURCES = {
    "vector store": lambda: LangChainSource(vector_store(), name="docs", schema=SCHEMA),
    "vector store without schema": lambda: LangChainSource(vector_store(), name="docs"),
    "made when needed": lambda: LangChainSource(vector_store, name="docs", schema=SCHEMA),
    "native filter": lambda: LangChainSource(
        vector_store(),
        name="docs",
        schema=SCHEMA,
        native_filter=lambda conditions: {"filter": lambda found: found.metadata.get("topic") != "no-such"},
    ),
    "retriever": lambda: LangChainSource(WordRetriever(documents=documents()), name="docs", schema=SCHEMA),
    "retriever of a store": lambda: LangChainSource(vector_store().as_retriever(), name="docs", schema=SCHEMA),
    "mmr": lambda: LangChainSource(
        vector_store().as_retriever(search_type="mmr", search_kwargs={"lambda_mult": 1.0}), name="docs", schema=SCHEMA
    ),
    "community": lambda: LangChainSource(knn_retriever(), name="docs", schema=SCHEMA),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=list(SOURCES))
async def test_a_langchain_source_keeps_the_contract(make):
    if make().get_schema():
        (await check_filters(make(), query=QUERY)).raise_for_failures()
    report = await check_source(make(), query=QUERY)
    report.raise_for_failures()
    without_schema = [check.id for check in report.checks if check.detail]
    assert without_schema == (
        [] if make().get_schema() else ["schema", "filters_hold", "filters_empty", "filters_hostile"]
    )


async def test_a_turn_finds_evidence_in_a_vector_store_and_in_a_retriever():
    sources = [
        LangChainSource(vector_store(), name="docs"),
        LangChainSource(WordRetriever(documents=documents()[:2]), name="words"),
    ]
    graph = retrieval_graph(load_settings({"intent": {"mode": "static"}}), sources=sources)
    found = await retrieve_context(graph, "What is the refund policy?")
    assert {row["source_name"] for row in found.evidence} == {"docs", "words"}
    assert {row["source_type"] for row in found.evidence} == {"langchain"}


# ---- relevance --------------------------------------------------------------------------------------------------


@given(st.one_of(st.floats(), st.integers(), st.none(), st.text(max_size=3)))
def test_a_relevance_is_always_from_0_to_1(score):
    value = as_relevance(score)
    assert 0 <= value <= 1
    if isinstance(score, float) and 0 <= score <= 1:
        assert value == score


async def test_the_relevance_of_a_store_is_its_own_cut_to_0_to_1():
    store = Scored([1.7, 0.9, 0.4, -0.2, math.nan], relevance=lambda score: score)
    results = await ask(LangChainSource(store, name="docs"))
    assert [result.relevance for result in results] == [1.0, 0.9, 0.4, 0.0, 0.0]
    assert [result.source_id for result in results] == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("scores", "given", "expected"),
    [
        ("similarity", [0.9, 0.5, -0.1], [0.9, 0.5, 0.0]),
        ("distance", [0.0, 1.0, 3.0], [1.0, 0.5, 0.25]),
        ("none", [0.9, 0.5, 0.1], [1.0, 1.0, 1.0]),
        (lambda score: score / 10, [9.0, 5.0, 1.0], [0.9, 0.5, 0.1]),
    ],
)
async def test_what_the_scores_of_a_store_mean_can_be_told(scores, given, expected):
    results = await ask(LangChainSource(Scored(given), name="docs", scores=scores))
    assert [result.relevance for result in results] == expected


async def test_a_store_that_does_not_tell_what_its_scores_mean_is_not_guessed_at():
    with pytest.raises(ConfigurationError, match=r"docs\.scores: a Scored does not tell what its scores mean"):
        await ask(LangChainSource(Scored([0.5]), name="docs"))


async def test_a_retriever_without_scores_is_relevant_and_one_with_scores_is_ordered_by_them():
    given = [Document("a", metadata={"score": 0.2}), Document("a b", metadata={"score": 0.8}), Document("a c")]
    plain = await ask(LangChainSource(WordRetriever(documents=given), name="docs"), "a")
    assert [result.relevance for result in plain] == [1.0, 1.0, 1.0]
    scored = await ask(LangChainSource(WordRetriever(documents=given), name="docs", score_field="score"), "a")
    assert [(result.content, result.relevance) for result in scored] == [("a b", 0.8), ("a", 0.2), ("a c", 0.0)]
    # It belongs to the question: the same evidence must have the same record with every question.
    assert all("score" not in result.metadata for result in scored)


# ---- filters ----------------------------------------------------------------------------------------------------


@pytest.mark.covers("R2")
async def test_a_filter_without_a_schema_is_refused():
    with pytest.raises(FilterInvalid, match="declares no schema"):
        await ask(LangChainSource(vector_store(), name="docs"), topic="odd")


@pytest.mark.covers("R2")
def test_a_default_filter_without_a_schema_is_an_error_when_the_graph_is_built():
    settings = load_settings({"intent": {"default_filters": {"docs": {"topic": "odd"}}}})
    with pytest.raises(ConfigurationError, match="declares no schema"):
        turn_graph(settings, sources=[LangChainSource(vector_store(), name="docs")])


@pytest.mark.covers("R2")
async def test_an_undeclared_field_or_value_is_refused():
    source = LangChainSource(vector_store(), name="docs", schema=SCHEMA)
    with pytest.raises(FilterInvalid, match="Did you mean 'topic'"):
        await ask(source, topics="odd")
    with pytest.raises(FilterInvalid, match="integer"):
        await ask(source, year="soon")


@pytest.mark.covers("R2")
@pytest.mark.parametrize("kind", ["store", "retriever"])
async def test_more_is_asked_for_until_enough_satisfy_the_filter(kind):
    given = [Document(f"refund policy {number}", metadata={"topic": "common"}) for number in range(300)]
    given += [Document(f"something far away {number}", metadata={"topic": "rare"}) for number in range(3)]
    store = vector_store(given)
    source = LangChainSource(store if kind == "store" else store.as_retriever(), name="docs", schema=SCHEMA)
    assert len(await ask(source, top_k=5, topic="rare")) == 3
    assert len(await ask(source, top_k=2, topic="rare")) == 2


@pytest.mark.covers("R2")
async def test_asking_for_more_ends():
    store = Scored([0.5] * 5000)
    source = LangChainSource(store, name="docs", schema=SCHEMA, scores="similarity")
    assert await ask(source, topic="odd") == []
    assert store.asked == [50, 200, 800, MAX_ASKED_FOR]
    store.asked.clear()
    assert await ask(source, threshold=0.6, topic="odd") == []
    assert store.asked == [50]


@pytest.mark.covers("R2")
async def test_a_native_filter_finds_what_lies_far_away():
    given = [Document(f"refund policy {number}", metadata={"topic": "common"}) for number in range(MAX_ASKED_FOR + 50)]
    given.append(Document("something far away", metadata={"topic": "rare"}))
    store = vector_store(given)
    seen = []

    def native(conditions):
        seen.append(dict(conditions))
        return {"filter": lambda found: found.metadata["topic"] == conditions["topic"]}

    source = LangChainSource(store, name="docs", schema=SCHEMA, native_filter=native)
    assert [result.content for result in await ask(source, topic="rare")] == ["something far away"]
    assert seen == [{"topic": "rare"}]
    # Without conditions the store gets no filter at all.
    assert len(await ask(source)) == 5
    assert len(seen) == 1


@pytest.mark.covers("R2")
async def test_a_native_filter_that_lets_too_much_through_widens_nothing():
    source = LangChainSource(vector_store(), name="docs", schema=SCHEMA, native_filter=lambda conditions: {})
    assert {result.metadata["topic"] for result in await ask(source, topic="odd")} == {"odd"}


@pytest.mark.covers("I8")
async def test_a_default_filter_holds_in_a_turn():
    settings = load_settings({"intent": {"mode": "static", "default_filters": {"docs": {"topic": "odd"}}}})
    graph = retrieval_graph(settings, sources=[LangChainSource(vector_store(), name="docs", schema=SCHEMA)])
    found = await retrieve_context(graph, "refund policy of the shop")
    assert found.evidence
    assert {row["metadata"]["topic"] for row in found.evidence} == {"odd"}


# ---- ids and metadata -------------------------------------------------------------------------------------------


async def test_an_id_is_the_field_that_was_named_else_that_of_the_document_else_a_hash():
    given = [
        Document("a one", id="own", metadata={"key": "k1"}),
        Document("a two", metadata={"key": 7}),
        Document("a three", metadata={"key": None}),
    ]
    retriever = WordRetriever(documents=given)
    named = await ask(LangChainSource(retriever, name="docs", id_field="key"), "a")
    plain = await ask(LangChainSource(retriever, name="docs"), "a")
    assert [result.source_id for result in named][:2] == ["k1", "7"]
    assert plain[0].source_id == "own"
    assert plain[1].source_id != plain[2].source_id
    again = await ask(LangChainSource(WordRetriever(documents=given[::-1]), name="docs"), "a")
    assert {result.source_id for result in again} == {result.source_id for result in plain}


async def test_what_was_found_twice_comes_once():
    twice = [Document("a b"), Document("a b"), Document("a c")]
    results = await ask(LangChainSource(WordRetriever(documents=twice), name="docs"), "a", "a b")
    assert sorted(result.content for result in results) == ["a b", "a c"]


async def test_what_comes_several_times_takes_no_place_of_others():
    given = [Document(QUERY, metadata={"key": "same"}) for _ in range(4)]
    given += [Document(f"{QUERY} of another kind", metadata={"key": "other"})]
    source = LangChainSource(vector_store(given), name="docs", id_field="key")
    assert [result.source_id for result in await ask(source, top_k=2)] == ["same", "other"]


async def test_metadata_can_be_renamed_and_filtered_by_the_new_name():
    given = [
        Document("a one", metadata={"source": "http://one.example", "page": 1}),
        Document("a two", metadata={"source": "http://two.example", "page": 2}),
    ]
    source = LangChainSource(
        WordRetriever(documents=given),
        name="docs",
        rename={"source": "url", "absent": "title"},
        schema=SourceSchema("docs", {"url": {"type": "string"}}),
    )
    results = await ask(source, "a", url="http://two.example")
    assert [result.metadata for result in results] == [
        {"source": "http://two.example", "page": 2, "url": "http://two.example"}
    ]


@pytest.mark.covers("R12")
async def test_metadata_fields_are_those_of_a_sample_and_of_the_schema():
    source = LangChainSource(vector_store(), name="docs", schema=SourceSchema("docs", {"author": {}}))
    assert await source.metadata_fields() == {"topic", "year", "author"}
    empty = LangChainSource(InMemoryVectorStore(NgramEmbeddings()), name="docs")
    assert await empty.metadata_fields() == set()
    words = WordRetriever(documents=documents())
    unknown = LangChainSource(words, name="docs")
    assert await unknown.metadata_fields() == set()
    await ask(unknown)
    words.asked.clear()
    assert await unknown.metadata_fields() == {"topic", "year"}
    assert words.asked == []


# ---- the rest ---------------------------------------------------------------------------------------------------


async def test_a_retriever_gives_as_many_as_were_asked_for():
    assert len(await ask(LangChainSource(knn_retriever(k=1), name="docs"), top_k=3)) == 3
    narrow = vector_store().as_retriever(search_kwargs={"k": 1})
    assert len(await ask(LangChainSource(narrow, name="docs"), top_k=3)) == 3
    assert narrow.search_kwargs == {"k": 1}


async def test_questions_at_the_same_time_do_not_mix_up_their_numbers():
    retriever = knn_retriever(k=4)
    source = LangChainSource(retriever, name="docs")
    answers = await asyncio.gather(*(ask(source, top_k=number) for number in range(1, 6)))
    assert [len(answer) for answer in answers] == [1, 2, 3, 4, 5]
    assert retriever.k == 4


async def test_a_source_without_text_queries_or_with_blank_ones_asks_nothing():
    words = WordRetriever(documents=documents())
    source = LangChainSource(words, name="docs")
    assert await source.query(RetrievalIntent([]), top_k=5) == []
    assert await ask(source, "", " \n") == []
    assert words.asked == []


@pytest.mark.covers("fault 37")
async def test_results_without_text_come_last():
    given = [Document(" ", id="blank", metadata={}), Document("a one"), Document("a two")]

    class Everything(WordRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return self.documents

    source = LangChainSource(Everything(documents=given), name="docs")
    assert [result.content for result in await ask(source, "a")] == ["a one", "a two", " "]
    assert [result.content for result in await ask(source, "a", top_k=2)] == ["a one", "a two"]


@pytest.mark.covers("fault 30")
async def test_an_error_of_the_store_is_passed_on():
    class Down(Embeddings):
        def embed_documents(self, texts):
            return [[1.0] for _ in texts]

        def embed_query(self, text):
            raise ConnectionError("the embedding service is down")

    store = InMemoryVectorStore(Down())
    with pytest.raises(ConnectionError, match="is down"):
        await ask(LangChainSource(store, name="docs"))


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        (object(), {}, "a object is neither a BaseRetriever nor a VectorStore"),
        (InMemoryVectorStore(NgramEmbeddings()), {"score_field": "score"}, "docs.score_field: belongs to a retriever"),
        (WordRetriever(documents=[]), {"scores": "distance"}, "docs.scores: belongs to a vector store"),
    ],
)
def test_what_does_not_fit_is_refused(target, options, message):
    with pytest.raises(ConfigurationError, match=message):
        LangChainSource(target, name="docs", **options)


async def test_what_a_function_makes_is_checked_when_it_is_made():
    source = LangChainSource(lambda: "nothing", name="docs")
    with pytest.raises(ConfigurationError, match="a str is neither"):
        await ask(source)


@pytest.mark.covers("A20")
async def test_the_retriever_of_a_store_has_the_scores_of_the_store():
    store = vector_store()
    by_store = await ask(LangChainSource(store, name="docs"), threshold=0.0)
    by_retriever = await ask(LangChainSource(store.as_retriever(), name="docs"), threshold=0.0)
    assert by_retriever == by_store
    assert by_store[0].relevance < 1
    diverse = LangChainSource(store.as_retriever(search_type="mmr"), name="docs")
    assert {one.relevance for one in await ask(diverse)} == {1.0}

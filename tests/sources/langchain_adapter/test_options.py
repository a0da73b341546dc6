from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError
from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.conformance import check_source
from groundgraph.sources.contract import SourceOptions, source_types
from groundgraph.testing import NgramEmbeddings

pytestmark = pytest.mark.covers("R6")

TEXTS = ["Refund policy: thirty days.", "Refund policy for food.", "Shipping takes three days."]
KNN = "langchain_community.retrievers:KNNRetriever.from_texts"
STORE = "langchain_core.vectorstores:InMemoryVectorStore.from_texts"


class Fixed(BaseRetriever):
    """Gives one text, and needs a key."""

    text: str
    api_key: str = ""

    def model_post_init(self, context):
        if self.api_key == "s3cret-wrong":
            raise RuntimeError(f"bad key {self.api_key}")

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(self.text), Document(f"{self.text} again")]


def nothing():
    """Makes no source."""


def build(embedder=True, **options):
    entry = SourceOptions(
        "docs", options, Path(), "sources[0]", Embedder(NgramEmbeddings(), "ngrams") if embedder else None
    )
    return source_types.get("langchain")(entry)


@pytest.fixture
def fixed(monkeypatch):
    """The name under which `Fixed` can be configured."""
    monkeypatch.setitem(sys.modules, "fixed_retrievers", sys.modules[Fixed.__module__])
    return "fixed_retrievers:Fixed"


@pytest.mark.parametrize("made_by", [KNN, STORE])
async def test_a_configured_class_answers_with_the_embedding_model_of_the_configuration(made_by):
    metadatas = [{"topic": topic} for topic in ("money", "food", "post")]
    source = build(
        **{"class": made_by},
        options={"texts": TEXTS, "metadatas": metadatas},
        schema={"fields": {"topic": {"type": "string"}}},
        description="A shop.",
    )
    assert source.get_schema().description == "A shop."
    (await check_source(source, query="refund policy")).raise_for_failures()
    results = await source.query(RetrievalIntent(["refund"], {"docs": {"topic": "food"}}), top_k=5)
    assert [result.content for result in results] == [TEXTS[1]]


async def test_all_options_reach_the_source(fixed):
    source = build(**{"class": fixed}, options={"text": "hello"}, score_field="score")
    results = await source.query(RetrievalIntent(["x"]), top_k=5)
    assert [result.relevance for result in results] == [0.0, 0.0]
    source = build(
        **{"class": STORE}, options={"texts": TEXTS, "metadatas": [{"n": number, "u": "x"} for number in range(3)]},
        id_field="n", rename={"u": "url"}, scores="none",
    )  # fmt: skip
    results = await source.query(RetrievalIntent(["refund"]), top_k=3)
    assert {result.source_id for result in results} == {"0", "1", "2"}
    assert {result.relevance for result in results} == {1.0}
    assert all(result.metadata["url"] == "x" for result in results)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"sources\[0\].class: is missing"),
        ({"class": KNN, "klass": 1}, r"sources\[0\].klass: .* Did you mean 'class'\?"),
        ({"class": 3}, r"sources\[0\].class: must be a text"),
        ({"class": KNN, "options": [1]}, r"sources\[0\].options: must be a mapping"),
        ({"class": KNN, "scores": "distanse"}, "'distanse' is unknown. Did you mean 'distance'"),
        ({"class": "langchain_community.retrievers"}, "must have the form package.module:ClassName"),
        ({"class": "no_such_package.things:Store"}, "cannot be loaded .* Is it spelled right"),
        ({"class": "langchain_community.retrievers:NoSuchRetriever"}, "cannot be loaded"),
        ({"class": "langchain_core.documents:Document"}, "is no BaseRetriever or VectorStore"),
        ({"class": "langchain_core.vectorstores:__doc__"}, "is no BaseRetriever or VectorStore"),
        ({"class": KNN, "options": {}}, r"sources\[0\].options: missing a required argument: 'texts'"),
        ({"class": STORE, "options": {"texts": []}, "embedder": False}, "needs an embedding model"),
        ({"class": STORE, "options": {"texts": []}, "schema": {"fields": {"a": {"type": "odd"}}}}, "type 'odd'"),
        ({"class": STORE, "options": {"texts": []}, "schema": 7}, "must be a mapping"),
    ],
)
def test_what_cannot_work_is_refused_when_the_graph_is_built(options, message):
    with pytest.raises(ConfigurationError, match=message):
        build(**options)


async def test_options_that_the_class_refuses_are_named_without_their_values(fixed):
    source = build(**{"class": fixed}, options={"text": 12345, "api_key": "s3cret"})
    with pytest.raises(ConfigurationError, match=r"sources\[0\].options: Fixed does not take them \(text: ") as caught:
        await source.query(RetrievalIntent(["x"]), top_k=5)
    assert "12345" not in str(caught.value)
    source = build(**{"class": fixed}, options={"text": "hello", "api_key": "s3cret-wrong"})
    with pytest.raises(ConfigurationError, match=r"RuntimeError: bad key \*\*\*") as caught:
        await source.query(RetrievalIntent(["x"]), top_k=5)
    assert "s3cret" not in str(caught.value)


async def test_a_function_that_makes_no_source_is_found_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "fixed_retrievers", sys.modules[Fixed.__module__])
    source = build(**{"class": "fixed_retrievers:nothing"})
    with pytest.raises(ConfigurationError, match="a NoneType is neither"):
        await source.query(RetrievalIntent(["x"]), top_k=5)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_langchain_community_is_loaded_only_when_it_is_named_and_without_its_warning():
    code = f"""
import sys
from pathlib import Path
from groundgraph.sources import LangChainSource
from groundgraph.sources.contract import SourceOptions, source_types
print('langchain_community' in sys.modules, 'langchain_core.vectorstores' in sys.modules)
from groundgraph.testing import NgramEmbeddings
from groundgraph.core.embedder import Embedder
entry = SourceOptions('docs', {{'class': {KNN!r}, 'options': {{'texts': ['a']}}}}, Path(), 'sources[0]',
                      Embedder(NgramEmbeddings(), 'ngrams'))
source_types.get('langchain')(entry)
print('langchain_community' in sys.modules)
"""
    assert run(code).split() == ["False", "False", "True"]

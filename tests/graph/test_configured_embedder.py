"""The embedding model of a configuration, or of Python."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, ClassVar

import pytest
from langchain_core.embeddings import Embeddings
from turns import build

from groundgraph import load_settings, retrieval_graph, turn_graph
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError
from groundgraph.graph import configured_models as module
from groundgraph.graph.configured_models import configured_embedder, embedding_problem
from groundgraph.settings.services import EmbeddingSettings
from groundgraph.testing import NgramEmbeddings, openai_stub

OPENAI = {"provider": "openai", "model": "small", "api_key": "test", "check_embedding_ctx_length": False}


def built(**sections: Any) -> Embedder | None:
    return configured_embedder(load_settings(sections))


def refused(**sections: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        built(**sections)
    return str(caught.value)


async def test_the_configured_model_embeds_over_the_wire_with_its_languages_and_batch_size() -> None:
    with openai_stub() as stub:
        section = {**OPENAI, "base_url": stub.base_url, "languages": ["en"], "batch_size": 7}
        embedder = built(embeddings=section)
        vectors = await embedder.embed_texts(["a pump", "a valve"])
    assert vectors.shape[0] == 2
    assert embedder.name == "openai:small"
    assert (embedder.languages, embedder.batch_size) == (frozenset({"en"}), 7)
    assert not embedder.speaks("ru")


async def test_one_layer_retries_and_it_is_not_the_sdks() -> None:
    from groundgraph.testing import Reply, Rule

    with openai_stub(rules=[Rule("", Reply(status=500), role="embedding")]) as stub:
        embedder = built(embeddings={**OPENAI, "base_url": stub.base_url})
        with pytest.raises(Exception, match="500"):
            await embedder.embed_query("a pump")
        assert len(stub.requests) == 1


def test_the_knowledge_base_may_have_a_model_of_its_own() -> None:
    embedder = built(embeddings=OPENAI, knowledge_base={"embeddings": {**OPENAI, "model": "own"}})
    assert embedder.name == "openai:own"
    assert built() is None
    assert built(embeddings={**OPENAI, "provider": None, "model": "openai:small"}).name == "openai:small"  # type: ignore[union-attr]


def test_a_missing_package_is_named() -> None:
    message = refused(knowledge_base={"embeddings": {"provider": "cohere", "model": "m"}})
    assert message.startswith("knowledge_base.embeddings: ")
    assert "pip install langchain-cohere" in message


def test_an_unknown_or_missing_provider_is_explained() -> None:
    assert "Did you mean 'openai'" in refused(embeddings={"provider": "opnai", "model": "m"})
    assert "name the `provider`" in refused(embeddings={"model": "m"})


def test_a_wrong_option_is_refused() -> None:
    assert "embeddings" in refused(embeddings={**OPENAI, "dimensions": "many"})


class Local(Embeddings):
    """Stands for a model that runs in this process."""

    made: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, **options: Any) -> None:
        if "max_retries" in options:
            raise TypeError("unexpected keyword argument 'max_retries'")
        self.made.append(options)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [0.0, 2.0]


async def test_a_local_model_is_read_on_first_use_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from langchain.embeddings.base import _get_embeddings_class_creator

    package = ModuleType("langchain_huggingface")
    package.HuggingFaceEmbeddings = Local  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "langchain_huggingface", package)
    monkeypatch.setattr(module, "find_spec", lambda name: name)
    _get_embeddings_class_creator.cache_clear()
    Local.made.clear()
    embedder = built(embeddings={"provider": "huggingface", "model": "mini", "cache_folder": "x"})
    assert Local.made == []
    assert (await embedder.embed_query("a")).tolist() == [0.0, 1.0]
    assert (await embedder.embed_texts(["a"])).tolist() == [[1.0, 0.0]]
    assert Local.made == [{"model_name": "mini", "cache_folder": "x"}]
    assert embedder.name == "huggingface:mini"
    _get_embeddings_class_creator.cache_clear()


def test_a_local_model_whose_package_is_missing_is_refused_when_the_graph_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert "pip install langchain-huggingface" in refused(embeddings={"model": "huggingface:mini"})
    section = EmbeddingSettings(provider="huggingface", model="mini")
    problem = embedding_problem(section, "embeddings")
    assert problem.of_this_machine


def test_a_model_from_python_stands_in_place_of_the_configured_one() -> None:
    settings = load_settings({"embeddings": {**OPENAI, "languages": ["en"], "batch_size": 5}})
    own = configured_embedder(settings, NgramEmbeddings())
    assert (own.name, own.languages, own.batch_size) == ("NgramEmbeddings", frozenset({"en"}), 5)
    from langchain_openai import OpenAIEmbeddings

    same = OpenAIEmbeddings(model="small", api_key="test")  # type: ignore[arg-type]
    assert configured_embedder(settings, same).name == "openai:small"  # type: ignore[union-attr]
    other = OpenAIEmbeddings(model="large", api_key="test")  # type: ignore[arg-type]
    assert configured_embedder(settings, other).name == "OpenAIEmbeddings:large"  # type: ignore[union-attr]
    ready = Embedder(NgramEmbeddings(), "mine", batch_size=3)
    assert configured_embedder(settings, ready) is ready


@pytest.mark.parametrize("build", [turn_graph, retrieval_graph])
def test_embeddings_and_query_chains_reach_every_knowledge_base(build: Any) -> None:
    for sections in (
        {},
        {"knowledge_base": {"vector_weight": 0.3}},
        {"sources": [{"type": "vector_kb", "name": "kb"}]},
    ):
        settings = load_settings({"chains": {"query": {"keep": 2}}, **sections})
        resources = build(settings, embeddings=NgramEmbeddings()).resources
        [source] = resources.sources.values()
        assert source._embedder is resources.embedder
        assert source._embedder.name == "NgramEmbeddings"
        assert source._chains.keep == 2
        assert source._vector_weight == (0.3 if "knowledge_base" in sections else 0.5)


def test_a_wrong_chain_is_refused_when_the_graph_is_built() -> None:
    with pytest.raises(ConfigurationError, match=r"chains\.query\.reranker: there is no reranker 'juge'"):
        turn_graph(load_settings({"chains": {"query": {"reranker": "juge"}}}))


def test_the_query_model_works_in_the_chains() -> None:
    from groundgraph.testing import ScriptedChatModel

    writer, worker = ScriptedChatModel("a"), ScriptedChatModel("b")
    resources = build(writer, base={}, chains={"query": {"reranker": "judge"}}, query_model=worker).resources
    assert resources.query_chains.reranker.model.model is worker  # type: ignore[union-attr]

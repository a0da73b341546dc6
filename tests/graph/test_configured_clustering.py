"""The ways of clustering that the settings name (P5, P6)."""

from __future__ import annotations

import pytest
from ranked_source import RankedSource

from groundgraph import load_settings, retrieval_graph, retrieve_context
from groundgraph.core.errors import ConfigurationError
from groundgraph.graph.configured_reranker import configured_clustering
from groundgraph.testing import NgramEmbeddings, openai_stub

pytestmark = pytest.mark.covers("P6")

TEXTS = [(0.9, "Access tokens expire."), (0.8, "An access token expires."), (0.7, "Pumps are serviced.")]


def settings(*strategies):
    processing = {"cluster_strategy": list(strategies), "cluster_threshold": 0.6}
    return load_settings(
        {"intent": {"mode": "static"}, "retrieval": {"score_threshold": 0}, "result_processing": processing}
    )


async def test_provider_and_model_of_a_step_are_the_ones_that_embed():
    with openai_stub(embeddings=NgramEmbeddings(256)) as stub:
        own = {"method": "embedding", "provider": "openai", "model": "own-model", "base_url": stub.base_url,
               "api_key": "test", "check_embedding_ctx_length": False}  # fmt: skip
        graph = retrieval_graph(settings(own), sources=[RankedSource(TEXTS)], embeddings=NgramEmbeddings())
        record = (await retrieve_context(graph, "access tokens")).provenance
    assert {request.body["model"] for request in stub.requests} == {"own-model"}
    assert record["strategies"]["cluster"] == {"method": "embedding"}
    assert [one["labels"] for one in record["clusters"]] == [[1, 2]]


def test_an_embedding_model_that_cannot_be_built_is_refused_alone_and_hands_over_in_a_chain():
    unknown = {"method": "embedding", "provider": "nowhere", "model": "m"}
    with pytest.raises(ConfigurationError, match=r"cluster_strategy.*nowhere"):
        configured_clustering(settings(unknown), None)
    assert [one.name for one in configured_clustering(settings(unknown, "tfidf"), None)] == ["embedding", "tfidf"]


def test_bad_options_of_the_model_are_an_error_also_in_a_chain():
    with pytest.raises(ConfigurationError, match="batch_size"):
        configured_clustering(settings({"method": "embedding", "model": "openai:m", "batch_size": 0}, "tfidf"), None)

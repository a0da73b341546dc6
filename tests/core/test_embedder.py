"""An embedding model as the knowledge base uses it (R5, fault 40)."""

from __future__ import annotations

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import EmbeddingFailed

pytestmark = pytest.mark.covers("R5")


class Given(Embeddings):
    """Gives the rows that it was made with, whatever the texts."""

    def __init__(self, *rows: list[float]) -> None:
        self.rows = list(rows)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.rows

    def embed_query(self, text: str) -> list[float]:
        return self.rows[0]


async def test_vectors_come_as_unit_rows_of_32_bits():
    embedder = Embedder(Given([3.0, 4.0], [0.0, 2.0]), "m")
    rows = await embedder.embed_texts(["a", "b"])
    assert rows.dtype == np.float32
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.0, 1.0]]))
    assert await embedder.embed_query("a") == pytest.approx(np.array([0.6, 0.8]))


async def test_a_vector_of_zeros_stays_near_to_nothing():
    assert list(await Embedder(Given([0.0, 0.0]), "m").embed_query("a")) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([1.0],), "1 vectors for 2 texts"),
        (([1.0], [1.0, 2.0]), "several sizes"),
        (([1.0], [float("nan")]), "holds no numbers"),
        (([], []), "is empty"),
    ],
)
async def test_what_is_no_vector_for_each_text_is_refused(rows, message):
    with pytest.raises(EmbeddingFailed, match=message):
        await Embedder(Given(*rows), "m").embed_texts(["a", "b"])


@pytest.mark.covers("L14")
def test_a_model_knows_its_languages_or_all_of_them():
    assert Embedder(Given(), "m").speaks("ru")
    english = Embedder(Given(), "m", frozenset({"en"}))
    assert english.speaks("en")
    assert not english.speaks("ru")

"""A collection whose own module makes the vectors; the module's service is a stub on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from asking import ask, opened
from weaviate.classes.config import Configure
from weaviate_collections import ARTICLES, MAPPING, address, article, client, make, properties
from weaviate_server import WeaviateServer, running

from groundgraph.sources.weaviate import WeaviateSource
from groundgraph.testing import NgramEmbeddings
from groundgraph.testing.wire_stub import LocalServer

pytestmark = pytest.mark.live


class Transformers(BaseHTTPRequestHandler):
    """What the module `text2vec-transformers` asks: is it there, what is it, the vector of a text."""

    def do_GET(self) -> None:
        self._answer({"model": "ngram"})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = asked["text"]
        self._answer({"text": text, "dims": 64, "vector": NgramEmbeddings(64).embed_query(text)})

    def _answer(self, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def vectorizing(weaviate_binary: Path) -> Iterator[WeaviateServer]:
    service = LocalServer(Transformers)
    try:
        with running(
            weaviate_binary,
            ENABLE_MODULES="text2vec-transformers",
            TRANSFORMERS_INFERENCE_API=f"http://127.0.0.1:{service.port}",
        ) as server:
            yield server
    finally:
        service.close()


@pytest.mark.covers("R4")
async def test_vectors_that_the_server_makes(vectorizing: WeaviateServer) -> None:
    vectors = [
        Configure.Vectors.text2vec_transformers(name="own", source_properties=["body"], vectorize_collection_name=False)
    ]
    await make(vectorizing, "Vectorized", objects=[], vectors=vectors, own_properties=properties())
    async with client(vectorizing) as own:
        collection = own.collections.use("Vectorized")
        done = await collection.data.insert_many([article(number) for number in range(len(ARTICLES))])
        assert not done.has_errors, done.errors
        for _ in range(100):
            found = await collection.query.near_text("pump", limit=10)
            if len(found.objects) == len(ARTICLES):
                break
            await asyncio.sleep(0.1)
    source = opened(WeaviateSource("Vectorized", address=address(vectorizing), mapping=MAPPING, vectorizer="server"))
    found = await ask(source, "How often is the coolant pump serviced?", top_k=10)
    words = opened(WeaviateSource("Vectorized", address=address(vectorizing), mapping=MAPPING))
    by_words = await ask(words, "How often is the coolant pump serviced?", top_k=10)
    assert found[0].source_id == "pumps/0"
    assert len(found) == len(ARTICLES) > len(by_words)
    expected = NgramEmbeddings(64).embed_query("how often is the coolant pump serviced")
    stored = NgramEmbeddings(64).embed_query(ARTICLES[0][4].lower())
    cosine = sum(a * b for a, b in zip(expected, stored, strict=True))
    assert found[0].scores["vector"] == pytest.approx(cosine, abs=0.02)

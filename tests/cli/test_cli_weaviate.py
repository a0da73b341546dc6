"""`groundgraph sources`, `doctor` and `ask` over a real Weaviate server (U5)."""

from __future__ import annotations

import asyncio

import pytest
from weaviate_collections import ARTICLES, make
from weaviate_server import WeaviateServer

pytestmark = [pytest.mark.live, pytest.mark.covers("U5")]
CONFIG = """
retrieval: {{score_threshold: 0.1}}
sources:
- type: weaviate
  name: manuals
  url: {url}
  grpc_port: {grpc}
  api_key: {key}
  collection: {collection}
  mapping: {{text: body, id: slug, title: headline}}
  fields: {{year: integer, {field}: string}}
"""


def write(
    folder, server: WeaviateServer, *, collection: str = "CliManuals", field: str = "manual", url: str = ""
) -> None:
    asyncio.run(make(server, "CliManuals"))
    text = CONFIG.format(url=url or server.url, grpc=server.grpc_port, key="''", collection=collection, field=field)
    (folder / "groundgraph.yaml").write_text(text)


def test_sources_lists_the_collection_with_its_size(run, tmp_path, weaviate_server) -> None:
    write(tmp_path, weaviate_server)
    ran = run("sources", "--json")
    assert ran.code == 0, ran.err
    [source] = ran.json["sources"]
    assert (source["type"], source["chunks"], source["answers"]) == ("weaviate", len(ARTICLES), True)
    assert source["fields"] == {"year": "integer", "manual": "string"}
    assert ran.err == ""


@pytest.mark.covers("fault 34")
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"collection": "Nothing"}, "has no collection 'Nothing'"),
        ({"field": "manaul"}, "Did you mean 'manual'?"),
        ({"field": "headline"}, "divided into words"),
        ({"url": "http://127.0.0.1:9"}, "cannot be reached"),
    ],
    ids=str,
)
def test_doctor_tells_what_is_wrong_with_the_collection(run, tmp_path, weaviate_server, change, told) -> None:
    write(tmp_path, weaviate_server, **change)
    ran = run("doctor", "--json")
    assert ran.code == 1, "and what the client prints is not among the JSON"
    [finding] = [check for check in ran.json["checks"] if check["check"] == "source manuals"]
    assert finding["state"] == "fail"
    assert told in finding["message"]

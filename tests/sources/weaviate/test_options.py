"""The source type `weaviate`: its options, and what is refused before anything is opened."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import groundgraph.sources.weaviate as package
from groundgraph import load_settings
from groundgraph.core.errors import ConfigurationError, FilterInvalid
from groundgraph.core.intent import RetrievalIntent
from groundgraph.graph.resources import Resources
from groundgraph.sources.weaviate import WeaviateSource, address_of

ENTRY: dict[str, Any] = {"type": "weaviate", "name": "manuals", "collection": "Articles"}


def build(**options: Any) -> WeaviateSource:
    settings = load_settings({"sources": [{**ENTRY, **options}], "llm": None})
    source = Resources.build(settings).sources["manuals"]
    assert isinstance(source, WeaviateSource)
    return source


def problems(**options: Any) -> str:
    with pytest.raises(ConfigurationError) as refused:
        build(**options)
    return str(refused.value)


@pytest.mark.covers("R11")
def test_every_option_builds_a_source() -> None:
    source = build(
        url="https://weaviate.example:8443", grpc_host="grpc.example", grpc_port=443, api_key="secret",
        headers={"X-OpenAI-Api-Key": "other"}, mapping={"text": "body", "document": "manual", "order": "paragraph"},
        fields={"year": "integer", "owner": {"type": "string", "property": "customer"}}, metadata=["extra"],
        description="Manuals.", vectorizer="server", vector="content", vector_weight=0.3, candidates=50,
        tenant_from="tenant", per_document=2, neighbours=1, consistency="quorum", request_timeout=5,
    )  # fmt: skip
    schema = source.get_schema()
    assert schema.fields["owner"] == {"type": "string"}
    assert (set(schema.fields), schema.required_fields) == ({"year", "owner", "tenant"}, ["tenant"])
    assert schema.description == "Manuals."


@pytest.mark.covers("R11")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"colection": "x"}, "Did you mean 'collection'?"),
        ({"collection": ""}, "is missing: the collection"),
        ({"url": "127.0.0.1:8080"}, "must be an address such as"),
        ({"url": "http://127.0.0.1:8080/v1"}, "without a path"),
        ({"url": "http://user:secret@127.0.0.1:8080"}, "must be an address such as"),
        ({"grpc_port": 8080}, "cannot share the port 8080"),
        ({"grpc_port": "50051"}, "must be a whole number"),
        ({"mapping": {"body": "text"}}, "nothing of a result is called so"),
        ({"mapping": {"title": 3}}, "must be the name of a property"),
        ({"mapping": "text"}, "must be a mapping"),
        ({"fields": {"year": {"type": "year"}}}, "field type 'year' is not one of"),
        ({"fields": 3}, "must list fields"),
        ({"vector_weight": 2}, "must be from 0 to 1, not 2"),
        ({"vectorizer": "client"}, "must be one of: server"),
        ({"consistency": "most"}, "must be one of: one, quorum, all"),
        ({"candidates": 0}, "must be 1 or more"),
        ({"neighbours": 1}, "needs `mapping.document` and `mapping.order`"),
        ({"per_document": 1}, "needs `mapping.document`"),
        ({"tenant_from": "year", "fields": {"year": "integer"}}, "must name a field of type string"),
        ({"metadata": "extra"}, "must be a list of properties"),
    ],
    ids=str,
)
def test_a_bad_option_is_refused_when_the_graph_is_built(options: dict[str, Any], told: str) -> None:
    message = problems(**options)
    assert told in message
    assert "sources[0]" in message or "manuals" in message
    assert "secret" not in message


@pytest.mark.covers("fault 13")
def test_a_default_filter_on_a_field_that_is_not_declared_is_refused() -> None:
    entry = {**ENTRY, "fields": {"year": "integer"}}
    with pytest.raises(ConfigurationError, match="no field 'yeer'"):
        Resources.build(load_settings({"sources": [entry], "intent": {"default_filters": {"manuals": {"yeer": 1}}}}))


async def test_an_undeclared_filter_is_refused_before_the_server_is_asked() -> None:
    source = WeaviateSource("Articles", address="http://127.0.0.1:9")
    with pytest.raises(FilterInvalid):
        await source.query(RetrievalIntent(["x"], {"weaviate": {"year": 1}}))
    assert await source.query(RetrievalIntent([" "])) == []
    await source.close()


def test_a_key_is_never_shown() -> None:
    address = address_of("http://127.0.0.1:8080", api_key="very-secret", headers={"X-Key": "also-secret"})
    assert "secret" not in repr(address)


def test_the_source_makes_no_call_that_writes() -> None:
    writes = {"insert", "insert_many", "ingest", "delete_by_id", "delete_many", "delete_all", "reference_add", "batch",
              "create_from_dict", "data", "delete"}  # fmt: skip
    files = list(Path(package.__file__).parent.glob("*.py"))
    assert len(files) > 10
    for path in files:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            assert not (isinstance(node, ast.Attribute) and node.attr in writes), f"{path.name}:{node.lineno}"

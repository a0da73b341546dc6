"""Chains of one's own under a name (K3, K4)."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from groundgraph import register_chain
from groundgraph.core import registry as registry_module
from groundgraph.core.document import Chunk, Document
from groundgraph.core.errors import ConfigurationError
from groundgraph.ingest.builtin_chains import REGISTRIES, WITHOUT_MODEL, ingest_chains, query_chains
from groundgraph.settings.load_settings import load_settings


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    for registry in REGISTRIES.values():
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))


CHUNK = Chunk(Document("d", "x"), 0, 0, 1, (), "x")


@pytest.mark.covers("K4")
def test_every_built_in_name_is_reserved_and_identity_is_among_them():
    for kind, registry in REGISTRIES.items():
        assert "identity" in registry._reserved
        for name in registry._reserved:
            with pytest.raises(ConfigurationError, match=f"'{name}' is groundgraph's own.*cannot be registered again"):
                register_chain(kind, name, len)


@pytest.mark.covers("K5")
def test_every_chain_that_stands_in_without_a_model_exists():
    for (kind, name), instead in WITHOUT_MODEL.items():
        assert {name, instead} <= REGISTRIES[kind]._reserved


@pytest.mark.covers("K3")
async def test_a_registered_function_is_asked_for_by_its_name():
    register_chain("matching_text", "loud", lambda chunk, about: chunk.text.upper(), signature="1")
    register_chain("transformer", "loud", str.upper)
    settings = load_settings({"chains": {"documents": {"matching_text": "loud"}, "query": {"transformer": "loud"}}})
    built = ingest_chains(settings, "documents").matching_texts
    assert await built(CHUNK, "") == ["X"]
    assert built.signature == "loud 1"
    queries = query_chains(settings)
    assert await queries.transformer("food") == "FOOD"
    assert queries.filter is not None, "its texts count as generated"


@pytest.mark.covers("K6")
def test_matching_texts_that_are_not_generated_leave_the_filter_off():
    register_chain("matching_text", "loud", lambda chunk, about: chunk.text, generated=False)
    assert query_chains(load_settings({"chains": {"documents": {"matching_text": "loud"}}})).filter is None


@pytest.mark.covers("K3")
def test_a_registered_chain_takes_no_options_but_a_factory_does():
    register_chain("transformer", "loud", str.upper)
    with pytest.raises(ConfigurationError, match=r"chains\.query\.transformer\.x: the chain 'loud' has no option 'x'"):
        query_chains(load_settings({"chains": {"query": {"transformer": {"name": "loud", "x": 1}}}}))

    def add(entry):
        return lambda query: query + entry.options["text"]

    register_chain("transformer", "add", factory=add)
    built = query_chains(load_settings({"chains": {"query": {"transformer": {"name": "add", "text": "!"}}}}))
    assert built.transformer("a") == "a!"


@pytest.mark.covers("K3")
def test_a_taken_name_an_unknown_kind_and_nothing_at_all_are_refused():
    register_chain("transformer", "loud", str.upper)
    with pytest.raises(ConfigurationError, match="'loud' is registered already"):
        register_chain("transformer", "loud", str.upper)
    with pytest.raises(ConfigurationError, match="Did you mean 'chunker'"):
        register_chain("chunkr", "loud", str.upper)
    with pytest.raises(ConfigurationError, match="either a chain or a factory"):
        register_chain("chunker", "loud")


@pytest.mark.covers("K4")
def test_an_entry_point_registers_a_factory_but_cannot_claim_a_reserved_name(monkeypatch):
    points = [EntryPoint("theirs", "os.path:basename", "groundgraph.rerankers")]
    monkeypatch.setattr(registry_module, "entry_points", lambda **wanted: EntryPoints(points).select(**wanted))
    assert "theirs" in REGISTRIES["reranker"].names()
    points.append(EntryPoint("identity", "os.path:join", "groundgraph.rerankers"))
    own = REGISTRIES["reranker"].get("identity")
    assert own.__module__.startswith("groundgraph.")
    for look_up in (REGISTRIES["reranker"].names, lambda: REGISTRIES["reranker"].get("theirs")):
        with pytest.raises(ConfigurationError, match=r"os\.path:join claims the reranker 'identity'"):
            look_up()


def test_interface_the_entry_point_groups_are_the_documented_ones():
    assert {registry.group for registry in REGISTRIES.values()} == {
        "groundgraph.chunkers",
        "groundgraph.matching_texts",
        "groundgraph.qualifying_texts",
        "groundgraph.query_transformers",
        "groundgraph.rerankers",
        "groundgraph.filters",
    }

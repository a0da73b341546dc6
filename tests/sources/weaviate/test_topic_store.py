"""Topic indices over a collection of a real server (X1, X2, X4): whole subtrees, whole clusters, nothing escapes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from asking import close_opened, ids, opened
from topic_bases import WordVectors
from weaviate.classes.config import Configure, DataType, Property, Tokenization
from weaviate_collections import address, client, fill, make
from weaviate_server import WeaviateServer

from groundgraph import RetrievalIntent
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, EmbeddingModelChanged, ScopeMissing, SourceUnavailable
from groundgraph.core.evidence import SourceResult
from groundgraph.settings.topics import TopicIndexSettings
from groundgraph.sources.topic_index import TopicIndexSource
from groundgraph.sources.weaviate import WeaviateSource, topic_store
from groundgraph.sources.weaviate.reader import heading_path

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="module"), pytest.mark.covers("X1")]
WORDS = ["linux", "windows", "smoke", "flood", "impeller", "shock", "thanks"]
# Heading path, text, and who may see it.
GUIDE = [
    ("Install", "install intro", "all"),
    ("Install > Linux", "linux install apt", "all"),
    ("Install > Linux > Servers", "linux server notes", "staff"),
    ("Install > Windows", "windows install msi", "all"),
    ("Safety", "safety intro", "all"),
    ("Safety > Fire", "fire smoke", "all"),
    ("Safety > Water", "water flood", "all"),
    ("Safety > Water > Pumps", "water impeller", "staff"),
    ("Safety > Water > Pumps", "water impeller again", "staff"),
    ("Safety > Power", "power shock", "all"),
    ("Credits", "thanks everyone", "all"),
]
SAFETY = ["guide/4", "guide/5", "guide/6", "guide/7", "guide/8", "guide/9"]
FOR_ALL = ["guide/4", "guide/5", "guide/6", "guide/9"]
MAPPING = {"text": "body", "id": "slug", "headings": "path", "document": "manual", "order": "paragraph"}
FIELDS: dict[str, Any] = {"seen_by": {"type": "string", "property": "audience"}}


def row(number: int, name: str = "guide", *, listed: bool = False) -> dict[str, Any]:
    path, body, audience = GUIDE[number]
    return {"body": body, "path": path.split(" > ") if listed else path, "slug": f"{name}/{number}", "manual": name,
            "paragraph": number, "audience": audience}  # fmt: skip


def guide(name: str = "guide", *, listed: bool = False) -> list[dict[str, Any]]:
    """Backwards, so that no order but that of the property makes it right."""
    return [row(number, name, listed=listed) for number in reversed(range(len(GUIDE)))]


def properties(*, listed: bool = False) -> list[Property]:
    exact: Any = {"data_type": DataType.TEXT, "tokenization": Tokenization.FIELD}
    return [
        Property(name="body", data_type=DataType.TEXT),
        Property(name="path", data_type=DataType.TEXT_ARRAY if listed else DataType.TEXT),
        Property(name="paragraph", data_type=DataType.INT),
        *(Property(name=name, **exact) for name in ("slug", "manual", "audience")),
    ]


async def made(
    server: WeaviateServer, name: str, objects: list[dict[str, Any]] | None = None, *, listed: bool = False, **more: Any
) -> None:
    given = guide(listed=listed) if objects is None else objects
    model = WordVectors(WORDS)
    await make(server, name, objects=given, own_properties=properties(listed=listed), model=model, **more)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(weaviate_server: WeaviateServer) -> WeaviateServer:
    await made(weaviate_server, "Guide")
    await made(weaviate_server, "GuideTenants", [], tenants=("north", "south"))
    async with client(weaviate_server) as own:
        tenants = own.collections.use("GuideTenants")
        north = [row for row in guide("north") if not row["path"].startswith("Install")]
        await fill(tenants.with_tenant("north"), north, WordVectors(WORDS))
        await fill(tenants.with_tenant("south"), guide("south"), WordVectors(WORDS))
    return weaviate_server


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def _closed() -> AsyncIterator[None]:
    yield
    await close_opened()


@pytest.fixture
def source(server: WeaviateServer) -> WeaviateSource:
    return over(server)


def over(server: WeaviateServer, collection: str = "Guide", **options: Any) -> WeaviateSource:
    embedder = Embedder(WordVectors(WORDS), "words")
    given: dict[str, Any] = {"mapping": MAPPING, "fields": FIELDS, "embedder": embedder, **options}
    return opened(WeaviateSource(collection, name="docs", address=address(server), **given))


def indexed(source: WeaviateSource, kind: str = "heading_tree", **options: Any) -> TopicIndexSource:
    return TopicIndexSource(source, TopicIndexSettings(type=kind, **options))


async def ask(source: TopicIndexSource, question: str, threshold: float = 0.0, **conditions: Any) -> list[SourceResult]:
    intent = RetrievalIntent([question], {"docs": conditions} if conditions else {})
    return await source.query(intent, top_k=1, score_threshold=threshold)


@pytest.mark.parametrize("seeds", [1, 10])
@pytest.mark.parametrize("strategy", ["heading_match", "both"])
async def test_a_heading_gives_its_whole_subtree_in_order_whatever_the_seeds_are(server, strategy, seeds):
    own = over(server, embedder=None)
    found = await ask(indexed(own, seed_max_results=seeds, entry_strategy=strategy), "What about safety?")
    assert ids(found) == SAFETY
    assert {result.metadata["found_under"] for result in found} == {"Safety"}
    assert found[3].metadata["headings"] == ["Safety", "Water", "Pumps"]
    assert found[3].metadata["section"] == "Safety > Water > Pumps"


async def test_headings_may_be_a_list_and_many_pages_are_read(server, monkeypatch):
    monkeypatch.setattr(topic_store, "_PAGE", 3)
    await made(server, "GuideListed", listed=True)
    own = over(server, "GuideListed", embedder=None)
    assert ids(await ask(indexed(own), "safety")) == SAFETY
    assert len((await own.topic_store().outline()).places) == len(GUIDE)


@pytest.mark.parametrize(("given", "path"), [
    ("A > B", ("A", "B")), (["A", "B > C"], ("A", "B > C")), ("A", ("A",)), ("", ()), (None, ()), ([" "], ()),
    ("a>b", ("a>b",)),
])  # fmt: skip
async def test_a_heading_path_is_a_list_or_one_text(given, path):
    assert heading_path(given) == path


@pytest.mark.covers("X4")
async def test_a_cluster_is_found_by_the_stored_vectors(source, monkeypatch):
    monkeypatch.setattr(topic_store, "_VECTOR_PAGE", 3)
    found = await ask(indexed(source, "cluster"), "impeller of the pump", 0.3)
    assert ids(found) == ["guide/7", "guide/8"]
    assert found[0].scores["vector"] == pytest.approx(1.0, abs=0.01)
    stored = await source.topic_store().vectors()
    assert sorted(stored.ids) == sorted(f"guide/{number}" for number in range(len(GUIDE)))
    assert source.embedder.model.written == [], "embedded once, by whoever filled it"


@pytest.mark.covers("X4")
async def test_a_cluster_needs_no_headings(server):
    own = over(server, mapping={"text": "body", "id": "slug"})
    assert ids(await ask(indexed(own, "cluster"), "impeller of the pump", 0.3, seen_by="staff")) == [
        "guide/7", "guide/8"
    ]  # fmt: skip


@pytest.mark.covers("X4")
async def test_the_rows_of_a_multi_vector_are_averaged(server):
    vectors = [Configure.MultiVectors.self_provided(name="many")]
    await made(server, "GuideMany", [], vectors=vectors)
    model = WordVectors(WORDS)
    async with client(server) as own:
        many = own.collections.use("GuideMany")
        for number in (5, 7, 8):
            rows = model.embed_documents([GUIDE[number][1], GUIDE[number][1]])
            await many.data.insert(row(number), vector={"many": rows})
    source = over(server, "GuideMany", vector="many")
    assert ids(await ask(indexed(source, "cluster"), "pump impeller", 0.3)) == ["guide/7", "guide/8"]
    stored = await source.topic_store().vectors()
    assert stored.rows.shape == (3, len(WORDS) + 1)


@pytest.mark.covers("fault 40")
async def test_stored_vectors_of_another_size_are_told(server):
    own = over(server, embedder=Embedder(WordVectors(WORDS[:3]), "other"))
    with pytest.raises(EmbeddingModelChanged):
        await ask(indexed(own, "cluster"), "linux")


@pytest.mark.covers("X2")
@pytest.mark.parametrize("most", [10_000, 2])
@pytest.mark.parametrize("kind", ["heading_tree", "cluster"])
async def test_a_filter_holds_for_all_that_is_expanded(source, monkeypatch, kind, most):
    # With 2, the server gives a part only and objects are asked for by name, 3 at once.
    monkeypatch.setattr(topic_store, "_MOST", most)
    monkeypatch.setattr(topic_store, "_NAMED", 3)
    index = indexed(source, kind)
    everything = ids(await ask(index, "safety pump impeller", 0.0))
    assert {"guide/7", "guide/8"} <= set(everything)
    found = ids(await ask(index, "safety pump impeller", 0.0, seen_by="all"))
    assert found
    assert not {"guide/2", "guide/7", "guide/8"} & set(found)
    if kind == "heading_tree":
        assert found == FOR_ALL
    assert await source.topic_store().kept({"seen_by": "staff"}) == {"guide/2", "guide/7", "guide/8"}
    assert ids(await ask(index, "safety pump impeller", 0.0, seen_by="nobody")) == []


@pytest.mark.covers("X2")
async def test_an_object_that_no_longer_satisfies_a_filter_is_not_given(server):
    await made(server, "GuideMoved")
    own = over(server, "GuideMoved", embedder=None)
    index = indexed(own)
    assert ids(await ask(index, "safety", seen_by="all")) == FOR_ALL
    async with client(server) as other:
        objects = (await other.collections.use("GuideMoved").query.fetch_objects(limit=50)).objects
        [uuid] = [one.uuid for one in objects if one.properties["slug"] == "guide/5"]
        await other.collections.use("GuideMoved").data.update(uuid, properties={"audience": "staff"})
    assert ids(await ask(index, "safety", seen_by="all")) == [one for one in FOR_ALL if one != "guide/5"]
    passages = await own.topic_store().passages(["guide/5", "guide/6"], {"seen_by": "all"})
    assert set(passages) == {"guide/6"}, "asked for by its id, it is not given either"


@pytest.mark.covers("X2")
@pytest.mark.parametrize("kind", ["heading_tree", "cluster"])
async def test_no_tenant_sees_another_ones_headings_or_passages(server, kind):
    own = over(server, "GuideTenants", tenant_from="tenant")
    index = indexed(own, kind)
    for _ in range(2):
        north = ids(await ask(index, "safety pump impeller linux thanks", tenant="north"))
        south = ids(await ask(index, "safety pump impeller linux thanks", tenant="south"))
        assert {one.partition("/")[0] for one in north} == {"north"}
        assert {one.partition("/")[0] for one in south} == {"south"}
        assert not {f"north/{number}" for number in range(4)} & set(north), "south alone has these"
    if kind == "heading_tree":
        assert ids(await ask(index, "safety", tenant="north")) == [one.replace("guide", "north") for one in SAFETY]
        staff = await ask(index, "safety", tenant="north", seen_by="staff")
        assert ids(staff) == ["north/7", "north/8"]
    with pytest.raises(ScopeMissing):
        await ask(index, "safety")


@pytest.mark.parametrize("kind", ["heading_tree", "cluster"])
async def test_an_object_that_is_added_or_deleted_later_is_seen_after_the_refresh(server, monkeypatch, kind):
    monkeypatch.setattr(topic_store, "PAUSE", 0)
    name = f"GuideLater_{kind}"
    await made(server, name)
    own = over(server, name)
    index = indexed(own, kind)
    before = ids(await ask(index, "safety pump impeller", 0.0))
    revision = await own.topic_store().revision()
    assert await own.topic_store().revision() == revision, "nothing changed"
    late = {**row(8), "slug": "guide/late", "paragraph": 20, "path": "Safety > Water > Late", "body": "pump impeller"}
    async with client(server) as other:
        given = other.collections.use(name)
        vector = WordVectors(WORDS).embed_query(late["body"])
        uuid = await given.data.insert(late, vector=vector)
        assert "guide/late" not in before
        assert "guide/late" in ids(await ask(index, "safety pump impeller", 0.0))
        await given.data.delete_by_id(uuid)
    assert ids(await ask(index, "safety pump impeller", 0.0)) == before


async def test_what_was_read_ends_after_a_while_and_a_busy_server_is_not_read_all_the_time(server, monkeypatch):
    own = over(server)
    store = own.topic_store()
    monkeypatch.setattr(topic_store, "PAUSE", 1_000_000)
    first = await store.revision()
    await store.outline()
    store._state.count += 1
    assert await store.revision() == first, "counted a moment ago"
    monkeypatch.setattr(topic_store, "PAUSE", 0)
    store._state.looks_at = 0
    assert await store.revision() == first, "read a moment ago"
    store._state.settles_at = 0
    store._state.looks_at = 0
    second = await store.revision()
    assert second != first
    store._state.ends_at = 0
    assert await store.revision() not in (first, second)


async def test_a_gone_object_makes_it_read_anew_though_the_count_is_the_same(server, monkeypatch):
    monkeypatch.setattr(topic_store, "PAUSE", 0)
    await made(server, "GuideSwapped")
    own = over(server, "GuideSwapped", embedder=None)
    index = indexed(own)
    assert ids(await ask(index, "safety")) == SAFETY
    async with client(server) as other:
        given = other.collections.use("GuideSwapped")
        objects = (await given.query.fetch_objects(limit=50)).objects
        [uuid] = [one.uuid for one in objects if one.properties["slug"] == "guide/5"]
        await given.data.delete_by_id(uuid)
        await given.data.insert(row(5))
    assert ids(await ask(index, "safety")) == SAFETY


@pytest.mark.parametrize(("kind", "limit"), [("heading_tree", "MAX_OBJECTS"), ("cluster", "MAX_VECTORS")])
async def test_a_collection_that_is_too_large_is_refused(source, monkeypatch, kind, limit):
    monkeypatch.setattr(topic_store, limit, 5)
    with pytest.raises(SourceUnavailable, match=r"'Guide' holds 11 objects, and at most 5"):
        await ask(indexed(source, kind), "safety")


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        ({}, {"mapping": {"text": "body"}}, "name the properties with `mapping.headings`, `mapping.document`"),
        ({}, {"mapping": {**MAPPING, "order": ""}}, "`mapping.order`"),
        ({"type": "cluster"}, {"vectorizer": "server"}, "'cluster' works with the vectors of questions"),
        ({"type": "cluster"}, {"vector_weight": 0.0}, "`vector_weight: 0` leaves them out"),
        ({"type": "cluster"}, {"embedder": None}, "there is no embedding model; set `embeddings`"),
        ({"entry_strategy": "vector"}, {"embedder": None}, "there is no embedding model; set `embeddings`"),
    ],
    ids=str,
)
async def test_an_index_that_cannot_work_is_refused_when_it_is_built(server, kind, options, told):
    from groundgraph.sources.weaviate import PropertyMapping

    if "mapping" in options:
        options = {"mapping": PropertyMapping(**options["mapping"])}
    with pytest.raises(ConfigurationError) as refused:
        TopicIndexSource(over(server, **options), TopicIndexSettings(**{"type": "heading_tree", **kind}))
    assert told in str(refused.value)

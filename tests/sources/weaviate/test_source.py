"""The source on a real server, over collections that somebody else made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from asking import ask, ask_ids, close_opened, opened
from weaviate.classes.config import Configure, DataType, Property, Tokenization
from weaviate_collections import (
    ARTICLES,
    DIMENSION,
    FIELDS,
    MAPPING,
    address,
    article,
    client,
    embedder,
    fill,
    make,
    properties,
    until_indexed,
)
from weaviate_server import WeaviateServer

from groundgraph.core.errors import (
    ConfigurationError,
    FilterInvalid,
    SchemaChanged,
    ScopeMissing,
    TenantUnknown,
)
from groundgraph.core.failure import collect_degradations
from groundgraph.sources.conformance import check_source
from groundgraph.sources.weaviate import WeaviateSource
from groundgraph.testing import NgramEmbeddings, check_filters

pytestmark = [pytest.mark.live, pytest.mark.asyncio(loop_scope="module"), pytest.mark.covers("R4")]
PUMP = "How often is the coolant pump serviced?"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(weaviate_server: WeaviateServer) -> WeaviateServer:
    await make(weaviate_server, "Articles")
    return weaviate_server


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def _closed() -> AsyncIterator[None]:
    yield
    await close_opened()


@pytest.fixture
def source(server: WeaviateServer) -> WeaviateSource:
    return articles(server)


def articles(server: WeaviateServer, collection: str = "Articles", **options: Any) -> WeaviateSource:
    given: dict[str, Any] = {"mapping": MAPPING, "fields": FIELDS, "embedder": embedder(), **options}
    return opened(WeaviateSource(collection, name="manuals", address=address(server), **given))


async def test_done_when_1_a_source_with_tenants_keeps_the_contract(server: WeaviateServer) -> None:
    await make(server, "TenantsContract", tenants=("north",))
    source = articles(server, "TenantsContract", tenant_from="tenant")
    report = await check_source(source, query=PUMP, filters={"tenant": "north"})
    report.raise_for_failures()


async def test_a_result_is_mapped_from_the_properties_of_a_foreign_collection(source: WeaviateSource) -> None:
    found = (await ask(source, PUMP))[0]
    assert found.content == ARTICLES[0][4]
    assert found.source_id == "pumps/0"
    assert (found.source_name, found.source_type) == ("manuals", "weaviate")
    assert found.metadata == {
        "manual": "pumps", "year": 2024, "price": 202.4, "day": "2024-03-31", "seen": "2024-03-31T17:00:00",
        "public": True, "tags": ["all", "pumps"], "sizes": [0, 10], "owner": "Acme", "title": "Coolant pump",
        "document": "pumps", "url": "https://example.org/pumps#0", "position": 0, "headings": ["Service"],
        "section": "Service",
    }  # fmt: skip
    assert await source.metadata_fields() == set(found.metadata)
    assert await source.counts() == {"chunks": len(ARTICLES)}


async def test_absolute_scores_stay_apart_and_relevance_is_the_larger_one(source: WeaviateSource) -> None:
    found = await ask(source, PUMP, top_k=10)
    for result in found:
        share = result.relevance
        near = min(1.0, max(0.0, result.scores["vector"]))
        assert set(result.scores) == {"lexical", "vector", "fused", "match"}
        assert share >= near == result.scores["match"]
    cosines = NgramEmbeddings(64)
    expected = sum(a * b for a, b in zip(cosines.embed_query(PUMP), cosines.embed_query(ARTICLES[0][4]), strict=True))
    assert found[0].scores["vector"] == pytest.approx(expected, abs=1e-3)


async def test_a_question_about_nothing_in_the_collection_has_low_relevance(source: WeaviateSource) -> None:
    nonsense = await ask(source, "quokka xylophone zeppelin", top_k=5)
    real = await ask(source, "seal of the coolant pump leaks", top_k=5)
    assert max((result.relevance for result in nonsense), default=0) < 0.35 < real[0].relevance
    assert await ask(source, "quokka xylophone zeppelin", score_threshold=0.5) == []


async def test_words_alone_and_vectors_alone(server: WeaviateServer) -> None:
    words = articles(server, embedder=None)
    both_scores = [set(result.scores) for result in await ask(words, PUMP)]
    assert both_scores
    assert all(scores == {"lexical", "match"} for scores in both_scores)
    assert await ask_ids(words, "quokka") == []
    near = articles(server, vector_weight=1.0)
    assert (await ask_ids(near, PUMP))[0] == "pumps/0"
    assert len(await ask_ids(near, "quokka", top_k=10)) == len(ARTICLES), "vectors find the nearest, however far"


async def test_rare_words_weigh_more_than_frequent_ones(server: WeaviateServer) -> None:
    objects = [{**article(0), "slug": str(n), "body": f"the machine number {n}"} for n in range(40)]
    objects.append({**article(0), "slug": "rare", "body": "an astrolabe"})
    await make(server, "Weights", objects=objects)
    source = articles(server, "Weights", embedder=None, mapping={"text": "body", "id": "slug"})
    found = {result.source_id: result for result in await ask(source, "machine astrolabe", top_k=41)}
    assert found["rare"].relevance > 0.9
    assert found["1"].relevance < 0.1


async def test_the_frequency_of_a_word_is_known_without_counting(server: WeaviateServer) -> None:
    counts = {"everywhere": 90, "often": 60, "sometimes": 20, "rarely": 3, "once": 1}
    filler = [" ".join(f"w{n * 7 + i}" for i in range(5 + n % 20)) for n in range(100)]
    bodies = [f"{filler[n]} {' '.join(word for word, count in counts.items() if n < count)}" for n in range(100)]
    await make(
        server, "Counted", objects=[{**article(0), "slug": str(n), "body": body} for n, body in enumerate(bodies)]
    )
    source = articles(server, "Counted", embedder=None)
    await ask(source, " ".join([*counts, "never"]))
    statistics = source._reader._statistics.get(None)
    assert statistics.objects == 100
    assert statistics.frequency("never") == 0
    for word, count in counts.items():
        assert statistics.frequency(word) == pytest.approx(count, rel=0.1, abs=1), word


async def test_words_are_sent_as_they_are_written(server: WeaviateServer) -> None:
    rows = [
        {**article(0), "slug": str(n), "body": body}
        for n, body in enumerate(["Зелёная ёлка", "un café noir", "漢字検索"])
    ]
    await make(server, "Written", objects=rows)
    source = articles(server, "Written", embedder=None, mapping={"text": "body", "id": "slug"})
    for number, question in enumerate(["Где ёлка?", "café", "漢字検索"]):
        found = await ask(source, question)
        assert [(one.source_id, one.relevance) for one in found] == [(str(number), 1.0)], question


@pytest.mark.parametrize("tokenization", ["lowercase", "whitespace"])
async def test_what_stands_between_spaces_is_found_where_the_index_divides_there(
    server: WeaviateServer, tokenization: str
) -> None:
    body = Property(name="body", data_type=DataType.TEXT, tokenization=Tokenization(tokenization))
    texts = ["Valve F2-14 sets foo_bar in C++ unless they don't care", "The belt is replaced"]
    objects = [{**article(0), "slug": str(number), "body": text} for number, text in enumerate(texts)]
    await make(server, "Spaced", objects=objects, own_properties=[body, *properties()[1:]])
    source = articles(server, "Spaced", embedder=None, mapping={"text": "body", "id": "slug"})
    for question in ("What sets foo_bar?", "valve F2-14", "they don't"):
        assert await ask_ids(source, question) == ["0"], question


async def test_times_that_are_stored_as_text_compare_as_instants(server: WeaviateServer) -> None:
    exact: Any = {"data_type": DataType.TEXT, "tokenization": Tokenization.FIELD}
    times = ["2024-03-31T17:00:00Z", "2024-03-31 19:00+02:00", "2024-04-01T03:00:00.000+10:00", "2024-03-31T17:00:01",
             "2024-03-30", "soon"]  # fmt: skip
    objects = [{**article(0), "slug": str(n), "written": time} for n, time in enumerate(times)]
    await make(server, "Written", objects=objects, own_properties=[*properties(), Property(name="written", **exact)])
    source = articles(server, "Written", fields={"written": {"type": "datetime"}})
    (await check_filters(source, query=PUMP)).raise_for_failures()
    assert set(await ask_ids(source, PUMP, written="2024-03-31T19:00:00+02:00")) == {"0", "1", "2"}


@pytest.mark.filterwarnings("ignore:Con004")
async def test_a_date_at_the_ends_of_the_calendar_is_read(server: WeaviateServer) -> None:
    days = ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00", "0000-01-01T00:00:00Z"]
    objects = [{**article(0), "slug": str(number), "day": day, "seen": day} for number, day in enumerate(days)]
    await make(server, "Ends", objects=objects)
    found = {one.source_id: one.metadata for one in await ask(articles(server, "Ends", embedder=None), PUMP)}
    assert found["0"]["day"] == "9999-12-31"
    assert found["1"]["seen"] == "0001-01-01T00:00:00"
    assert "2" in found


async def test_a_date_that_is_written_for_ever_is_in_every_later_range(server: WeaviateServer) -> None:
    days = {"ever": "9999-12-31T23:59:59Z", "never": "0001-01-01T00:00:00Z", "once": "2024-03-31T17:00:00Z"}
    objects = [{**article(0), "slug": slug, "day": day, "seen": day} for slug, day in days.items()]
    await make(server, "Ends", objects=objects)
    source = articles(server, "Ends", embedder=None)
    for field, at in (("day", ""), ("seen", "T12:00:00Z")):
        for condition, kept in (
            ({"gte": "2025-01-01" + at}, {"ever"}),
            ({"gte": "2024-01-01", "lte": "9999-12-31"}, {"ever", "once"}),
            ({"gte": "2024-01-01", "lte": "2024-12-31"}, {"once"}),
            ({"lt": "1700-01-01" + at}, {"never"}),
        ):
            assert set(await ask_ids(source, PUMP, **{field: condition})) == kept, (field, condition)
    assert await ask_ids(source, PUMP, day="9999-12-31") == ["ever"]


async def test_a_filter_reaches_objects_that_are_far_from_the_best(server: WeaviateServer) -> None:
    objects = [{**article(0), "slug": str(n), "body": "coolant pump pump", "manual": "many"} for n in range(60)]
    objects.append({**article(0), "slug": "one", "body": "a pump, once, among many other words of no interest"})
    await make(server, "Deep", objects=objects)
    source = articles(server, "Deep", candidates=5)
    assert await ask_ids(source, "coolant pump", manual="pumps") == ["one"]


async def test_named_vectors_of_different_sizes(server: WeaviateServer) -> None:
    both = [Configure.Vectors.self_provided(name="small"), Configure.Vectors.self_provided(name="large")]
    await make(server, "Named", objects=[], vectors=both)
    async with client(server) as own:
        collection = own.collections.use("Named")
        for number in range(len(ARTICLES)):
            vectors = {
                name: NgramEmbeddings(size).embed_query(ARTICLES[number][4])
                for name, size in (("small", 16), ("large", 96))
            }
            await collection.data.insert(article(number), vector=vectors)
        await until_indexed(collection, [0.1] * 96, len(ARTICLES), "large")
    large = articles(server, "Named", vector="large", embedder=embedder(96))
    assert (await ask_ids(large, PUMP))[0] == "pumps/0"
    with pytest.raises(ConfigurationError, match=r"several vectors; name one of: .*small"):
        await ask_ids(articles(server, "Named"), PUMP)
    with pytest.raises(SchemaChanged, match="no vector 'medium'") as missing:
        await ask_ids(articles(server, "Named", vector="medium"), PUMP)
    assert missing.value.field == "medium"


async def test_a_multi_vector_counts_by_its_best_text(server: WeaviateServer) -> None:
    await make(server, "Multi", objects=[], vectors=[Configure.MultiVectors.self_provided(name="match")])
    model = NgramEmbeddings(64)
    async with client(server) as own:
        collection = own.collections.use("Multi")
        texts = [["coolant pump service", "something else"], ["drive belt", "coolant pump"]]
        for number, rows in enumerate(texts):
            await collection.data.insert(article(number), vector={"match": model.embed_documents(rows)})
        await until_indexed(collection, [model.embed_query("pump")], 2, "match")
    source = articles(server, "Multi", vector="match", vector_weight=1.0)
    found = await ask(source, "coolant pump")
    assert [one.source_id for one in found] == ["pumps/1", "pumps/0"]
    assert found[0].scores["vector"] == pytest.approx(1.0, abs=1e-3)


class LongVectors(NgramEmbeddings):
    """Vectors of no unit length, as some models give them."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Five times as long."""
        return [[5 * number for number in row] for row in super().embed_documents(texts)]


@pytest.mark.parametrize("model", [NgramEmbeddings(64), LongVectors(64)], ids=["unit", "long"])
@pytest.mark.parametrize("distance", ["dot", "l2-squared"])
async def test_other_distances_give_the_same_cosines(
    server: WeaviateServer, distance: str, model: NgramEmbeddings
) -> None:
    from weaviate.classes.config import VectorDistances

    index = Configure.VectorIndex.hnsw(distance_metric=VectorDistances(distance))
    name = f"By{distance.replace('-', '')}"
    await make(server, name, vectors=Configure.Vectors.self_provided(vector_index_config=index), model=model)
    source, usual = articles(server, name), articles(server)
    other, known = await ask(source, PUMP), await ask(usual, PUMP)
    assert [one.source_id for one in other] == [one.source_id for one in known]
    assert [one.scores["vector"] for one in other] == pytest.approx([one.scores["vector"] for one in known], abs=1e-3)


async def test_a_distance_without_a_relevance_is_refused(server: WeaviateServer) -> None:
    from weaviate.classes.config import VectorDistances

    index = Configure.VectorIndex.hnsw(distance_metric=VectorDistances.MANHATTAN)
    await make(server, "Manhattan", vectors=Configure.Vectors.self_provided(vector_index_config=index))
    with pytest.raises(ConfigurationError, match="manhattan, which gives no relevance"):
        await ask_ids(articles(server, "Manhattan"), PUMP)


async def test_results_grouped_by_document(server: WeaviateServer) -> None:
    many = [{**article(0), "slug": f"many/{n}", "manual": "many", "body": "pump pump pump"} for n in range(40)]
    await make(server, "Grouped", objects=[*many, article(3), article(1)])
    for options in ({}, {"embedder": None}):
        source = articles(server, "Grouped", per_document=2, candidates=10, **options)
        found = [result.metadata["document"] for result in await ask(source, "pump belt", top_k=5)]
        assert sorted(found) == ["belts", "many", "many", "pumps"]


async def test_objects_of_no_document_are_not_those_of_one(server: WeaviateServer) -> None:
    alone = [{**article(0), "slug": f"alone/{n}", "body": f"pump {n}"} for n in range(3)]
    for one in alone:
        del one["manual"]
    await make(server, "Alone", objects=[*alone, article(0), article(1)])
    for options in ({}, {"embedder": None}):
        source = articles(server, "Alone", per_document=1, **options)
        found = await ask(source, "pump", top_k=9)
        assert sorted(one.metadata.get("document") or "" for one in found) == ["", "", "", "pumps"]


async def test_values_beyond_what_weaviate_orders_are_found(server: WeaviateServer) -> None:
    values = [(2**53, "2262-01-01"), (2**60, "2500-06-01"), (-(2**62), "1500-02-03"), (5, "2024-01-01")]
    token = "0f0e0d0c-0000-4000-8000-00000000000"
    rows = [
        {**article(0), "slug": str(n), "year": year, "day": f"{day}T09:00:00Z", "token": f"{token}{n}"}
        for n, (year, day) in enumerate(values)
    ]
    own = [*properties(), Property(name="token", data_type=DataType.UUID)]
    await make(server, "Beyond", objects=rows, own_properties=own)
    source = articles(server, "Beyond", fields={**FIELDS, "token": {"type": "string"}})
    for condition, kept in (
        ({"year": 2**60}, ["1"]),
        ({"year": {"not": 2**60}}, ["0", "2", "3"]),
        ({"year": {"lt": 2**61}}, ["0", "1", "2", "3"]),
        ({"year": {"gte": -(2**63)}}, ["0", "1", "2", "3"]),
        ({"year": {"gt": 2**54, "lte": 2**70}}, ["1"]),
        ({"day": "2500-06-01"}, ["1"]),
        ({"day": ["1500-02-03", "2024-01-01"]}, ["2", "3"]),
        ({"day": {"not": "2500-06-01"}}, ["0", "2", "3"]),
        ({"token": f"{token}1"}, ["1"]),
    ):
        assert sorted(await ask_ids(source, PUMP, "pump", top_k=9, **condition)) == kept, condition
    for refused in (f"{token}1".upper(), {"not": f"{{{token}1}}"}, {"gte": f"{token}1".upper()}):
        with pytest.raises(FilterInvalid, match=f"has to be written '{token}1'"):
            await ask(source, PUMP, token=refused)


async def test_many_candidates_are_grouped_by_document_within_what_the_server_gives(server: WeaviateServer) -> None:
    source = articles(server, per_document=1, candidates=3_000)
    assert len({one.metadata["document"] for one in await ask(source, PUMP)}) == 3


async def test_neighbours_are_put_around_a_result(server: WeaviateServer) -> None:
    source = articles(server, neighbours=1)
    found = (await ask(source, "pump whose seal leaks", top_k=1))[0]
    assert found.content == "\n\n".join(ARTICLES[number][4] for number in range(3))
    both = await ask(source, "pump seal leaks serviced", top_k=2, score_threshold=0.3)
    assert "\n".join(one.content for one in both).count(ARTICLES[2][4]) == 1, "no chunk stands in two results"
    apart = await ask(source, "pump whose seal leaks", year=2024, top_k=1)
    assert ARTICLES[2][4] not in apart[0].content, "what the filter leaves out stays out"


@pytest.mark.covers("R13", "fault 60")
async def test_no_neighbour_escapes_a_filter_by_white_space(server: WeaviateServer) -> None:
    rows = [{**article(n), "slug": str(n), "customer": name} for n, name in enumerate(["Acme ", "Acme", " Acme"])]
    await make(server, "Spaced", objects=rows)
    source = articles(server, "Spaced", neighbours=2)
    [found] = await ask(source, PUMP, "pump", owner="Acme", top_k=9)
    assert found.content == ARTICLES[1][4]
    [other] = await ask(source, PUMP, "pump", owner="Acme ", top_k=9)
    assert other.content == ARTICLES[0][4]


async def test_each_consistency_level_answers(server: WeaviateServer) -> None:
    levels: list[Any] = ["one", "quorum", "all"]
    for level in levels:
        assert (await ask_ids(articles(server, consistency=level), PUMP))[0] == "pumps/0"


TENANTS = ("Acme", "acme", "Acme-Inc", "Acme_Inc", "AcmeInc", "Acme-Inc-Ltd")


@pytest.mark.covers("R13", "fault 60")
async def test_native_tenants_see_nothing_of_each_other(server: WeaviateServer) -> None:
    await make(server, "Tenants", objects=[], tenants=TENANTS)
    async with client(server) as own:
        for tenant in TENANTS:
            rows = [{**article(0), "slug": f"{tenant}/{n}", "customer": tenant} for n in range(3)]
            await fill(own.collections.use("Tenants").with_tenant(tenant), rows, NgramEmbeddings(64))
    source = articles(server, "Tenants", tenant_from="tenant")
    for options in ({}, {"neighbours": 1}, {"per_document": 5}, {"embedder": None}):
        source = articles(server, "Tenants", tenant_from="tenant", **options)
        for tenant in TENANTS:
            found = await ask(source, PUMP, "pump", tenant=tenant, top_k=50)
            assert {one.metadata["owner"] for one in found} == {one.metadata["tenant"] for one in found} == {tenant}
    with pytest.raises(ScopeMissing, match="only searched with a value for 'tenant'"):
        await ask_ids(source, PUMP)
    for unknown in ("ACME", "Acme Inc", "Acme.Inc", "Acme ", "../Acme", "Acme/acme", "a" * 500, "Ácme"):
        with pytest.raises(TenantUnknown):
            await ask_ids(source, PUMP, tenant=unknown)
    for odd in (["Acme", "acme"], {"not": "acme"}, {"contains": "Acme"}):
        with pytest.raises(FilterInvalid, match="one tenant"):
            await ask_ids(source, PUMP, tenant=odd)


@pytest.mark.covers("R13", "fault 60")
async def test_tenants_in_a_property_see_nothing_of_each_other(server: WeaviateServer) -> None:
    names = ("Acme", "acme", "ACME", "Acme Inc", "Acme, Inc.", "Acme Inc Ltd", "Acmé", "'; --", "Acme*", "Acme?")
    rows = [{**article(0), "slug": f"{n}", "customer": name} for n, name in enumerate(names)]
    await make(server, "Owned", objects=rows)
    source = articles(server, "Owned")
    for number, name in enumerate(names):
        assert await ask_ids(source, PUMP, "pump", owner=name) == [str(number)]


@pytest.mark.covers("R13")
async def test_a_filter_field_that_is_divided_into_words_is_refused(server: WeaviateServer) -> None:
    divided = [Property(name="body", data_type=DataType.TEXT), Property(name="customer", data_type=DataType.TEXT)]
    rows = [{"body": "a pump", "customer": name} for name in ("Acme", "acme inc.")]
    await make(server, "Divided", objects=rows, own_properties=divided)
    source = articles(server, "Divided", mapping={"text": "body"}, fields={"customer": {"type": "string"}})
    with pytest.raises(ConfigurationError, match=r"divided into words .*'Acme' would also keep 'acme inc.'"):
        await ask_ids(source, "pump", customer="Acme")


@pytest.mark.covers("fault 35")
async def test_a_text_that_is_kept_as_one_word_is_refused_where_only_words_are_searched(server: WeaviateServer) -> None:
    whole = Property(name="body", data_type=DataType.TEXT, tokenization=Tokenization.FIELD)
    await make(server, "Whole", own_properties=[whole, *properties()[1:]])
    with pytest.raises(ConfigurationError, match="'body' is kept as one single word"):
        await ask(articles(server, "Whole", embedder=None), PUMP)
    assert await ask_ids(articles(server, "Whole"), PUMP)


async def test_a_collection_replaced_by_another_under_a_running_source(server: WeaviateServer) -> None:
    await make(server, "Replaced")
    source = articles(server, "Replaced")
    assert await ask_ids(source, PUMP)
    await make(
        server, "Replaced", objects=[{"body": "x"}], own_properties=[Property(name="body", data_type=DataType.TEXT)]
    )
    for _ in range(2):
        with pytest.raises(SchemaChanged) as changed:
            await ask_ids(source, PUMP)
        assert (
            changed.value.field in MAPPING.values()
            or changed.value.field in FIELDS
            or changed.value.field == "customer"
        )
    await make(server, "Replaced")
    assert await ask_ids(source, PUMP), "once it is back the source serves again"


@pytest.mark.covers("fault 36")
async def test_a_source_that_could_return_more_than_a_thousand_rows_returns_top_k(server: WeaviateServer) -> None:
    rows = [{**article(0), "slug": str(n)} for n in range(1500)]
    await make(server, "Large", objects=[])
    async with client(server) as own:
        vector = NgramEmbeddings(64).embed_query(rows[0]["body"])
        from weaviate.classes.data import DataObject

        batch = [DataObject(properties=row, vector={"default": vector}) for row in rows]
        assert not (await own.collections.use("Large").data.insert_many(batch)).has_errors
    source = articles(server, "Large")
    assert len(await ask_ids(source, "pump", top_k=7)) == 7
    assert len(await ask_ids(source, "pump", top_k=1000)) == 1000
    async with client(server) as own:
        await own.collections.delete("Large")


@pytest.mark.covers("fault 37")
async def test_objects_without_text_come_last(server: WeaviateServer) -> None:
    rows = [{**article(0), "slug": "null", "body": None}, {**article(1), "slug": "empty", "body": ""}, article(2)]
    await make(server, "Empty", objects=rows)
    found = await ask(articles(server, "Empty"), "coolant pump", top_k=10)
    assert found[0].source_id == "pumps/2"
    assert {one.source_id for one in found[1:]} <= {"null", "empty"}


async def test_a_collection_that_is_filled_later_is_searched_as_if_it_had_always_been(
    server: WeaviateServer,
) -> None:
    await make(server, "FilledLater", objects=[])
    early = articles(server, "FilledLater")
    assert await ask(early, "coolant store room") == []
    async with client(server) as own:
        rows = [article(number) for number in range(len(ARTICLES))]
        await fill(own.collections.use("FilledLater"), rows, NgramEmbeddings(DIMENSION))
    late = articles(server, "FilledLater")
    first, second = [await ask(one, "coolant store room") for one in (early, late)]
    assert [(one.source_id, one.relevance, one.score) for one in first] == [
        (one.source_id, one.relevance, one.score) for one in second
    ]


async def test_an_empty_collection_and_one_without_vectors(server: WeaviateServer) -> None:
    await make(server, "Blank", objects=[])
    assert await ask_ids(articles(server, "Blank"), PUMP) == []
    async with client(server) as own:
        await own.collections.delete("Words")
        made = await own.collections.create("Words", properties=[Property(name="body", data_type=DataType.TEXT)])
        await made.data.insert({"body": "a coolant pump"})
    plain = articles(server, "Words", mapping={"text": "body"}, fields={})
    assert [one.content for one in await ask(plain, PUMP)] == ["a coolant pump"]
    assert plain.get_schema() is None


@pytest.mark.covers("R7")
@pytest.mark.parametrize("weight", [0.5, 1.0])
async def test_objects_that_nobody_gave_a_vector_are_searched_by_words_and_it_is_told(
    server: WeaviateServer, weight: float
) -> None:
    await make(server, "Bare", objects=[])
    async with client(server) as own:
        await own.collections.use("Bare").data.insert(article(0))
    with collect_degradations() as told:
        found = await ask(articles(server, "Bare", vector_weight=weight), PUMP)
    assert [one.content for one in found] == [ARTICLES[0][4]]
    assert [(one["part"], one["reason"]) for one in told] == [
        ("vectors", "no object of 'Bare' that was looked at has one")
    ]

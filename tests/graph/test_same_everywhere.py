"""One scripted conversation over an embedded base, over Weaviate and over PostgreSQL (done-when 2 of issue 6).

On the servers its threads and evidence are kept in PostgreSQL.
"""

from __future__ import annotations

from typing import Any

import pytest
from filled_base import prepared
from postgres_fixture import postgres  # noqa: F401 - a fixture
from weaviate_bases import place_on

from groundgraph import load_provenance, load_settings, open_graph
from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.sources.knowledge_base import EmbeddedStore, KnowledgeBaseSource
from groundgraph.sources.sql import SqlSource
from groundgraph.sources.weaviate_base import WeaviateBaseSource, WeaviateStore
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.live
TEXTS = {
    "pump": "The coolant pump of hall two is serviced every 90 days. Its filter is changed at the same time.",
    "valve": "The relief valve opens at 4 bar. It must never be painted over.",
    "refund": "A refund is paid within 30 days when the goods come back undamaged.",
    "alarm": "A false fire alarm is reported to the control room by telephone.",
    "oil": "Насос охлаждения заправляют маслом раз в год. Масло хранят в третьем цехе.",
}
TURNS = [
    ("How often is the coolant pump serviced?", "Every 90 days [1]."),
    ("And when is its filter changed?", "At the same time [1], so every 90 days [1]."),
    ("At what pressure does the relief valve open?", "It opens at 4 bar [1]. Never paint it over [7]."),
    ("Как часто насос охлаждения заправляют маслом?", "Раз в год [1]."),
    ("Who discovered penguins?", "unused"),
    ("Thanks!", "unused"),
]
ROWS = "CREATE TABLE manuals (id TEXT PRIMARY KEY, body TEXT)"
INDEX = "CREATE INDEX ON manuals USING gin (to_tsvector('russian', body)); ANALYZE manuals"
# What a kind of source tells of its pieces beside the text is its own, and where one stands: in a file or a table.
OWN = ("metadata", "location")


def shape_of(value: Any, path: str = "") -> set[str]:
    """The names in a record, without its values: what a reader of the JSON can rely on."""
    if isinstance(value, dict):
        inner = [shape_of(one, f"{path}.{key}") for key, one in value.items() if key not in OWN]
        return {f"{path}.{key}" for key in value}.union(*inner)
    return set().union(*(shape_of(one, f"{path}[]") for one in value)) if isinstance(value, list) else set()


async def conversation(source: Any, folder: Any, kept: dict[str, str], *, model: bool) -> list[Any]:
    settings = load_settings(
        {
            "intent": {"mode": "static"},
            "checkpointer": kept,
            "store": kept,
            "retrieval": {"score_threshold": 0.3, "merge_adjacent": False},
        }
    ).model_copy(update={"base_dir": folder})
    given = {"chat_model": ScriptedChatModel([reply for _, reply in TURNS if reply != "unused"])} if model else {}
    told = []
    async with open_graph(settings, sources=[source], **given) as graph:
        for question, _ in TURNS:
            output = await graph.ainvoke({"question": question}, {"configurable": {"thread_id": "t"}})
            cited = [
                (one["label"], one["source_id"].removeprefix("manuals/").partition(".md#")[0], one["quote"])
                for one in output["citations"]
            ]
            answer = output["answer"] if model else ""  # without one the relevance is shown
            told.append((question, output["outcome"], cited, answer, shape_of(output["provenance"])))
        records = await load_provenance(graph, "t")
    await source.close()
    return [*told, shape_of(records)]


async def stored(store: Any) -> None:
    await store.open(BaseIdentity())
    documents = [Document(f"{name}.md", text, MARKDOWN) for name, text in TEXTS.items()]
    assert await store.write([await prepared(one) for one in documents]) == {}
    await store.close()


@pytest.mark.parametrize("model", [True, False], ids=["model", "quotes"])
@pytest.mark.parametrize("index", ["own", "database"])
async def test_a_conversation_has_the_same_outcomes_citations_and_shape_everywhere(
    postgres,  # noqa: F811
    weaviate_server,
    tmp_path,
    model,
    index,
):
    place, path = place_on(weaviate_server), tmp_path / "kb.sqlite"
    for store in (EmbeddedStore(path), WeaviateStore(place)):
        await stored(store)
    url = postgres.database("everywhere", ROWS)
    postgres.fill("everywhere", manuals=list(TEXTS.items()))
    if index == "database":
        postgres.execute(INDEX, "everywhere")
    on_server = {"type": "postgres", "url": postgres.database("everywhere_kept")}
    embedded = await conversation(KnowledgeBaseSource(path, name="manuals"), tmp_path, {"type": "memory"}, model=model)
    assert [turn[1] for turn in embedded[:-1]] == ["answered"] * 4 + ["insufficient", "chat"]
    assert [one[1] for turn in embedded[:3] for one in turn[2][:1]] == ["pump", "pump", "valve"]
    weaviate = await conversation(WeaviateBaseSource(place, name="manuals"), tmp_path, on_server, model=model)
    assert weaviate == embedded
    on_server = {"type": "postgres", "url": postgres.database("everywhere_rows")}
    rows = SqlSource(url, name="manuals", table="manuals", content_field="body", index=":memory:")
    postgresql = await conversation(rows, tmp_path, on_server, model=model)
    for expected, found in zip(embedded[:-1], postgresql[:-1], strict=True):
        assert found[:4] == expected[:4]
        assert found[4] ^ expected[4] == set()
    assert postgresql[-1] ^ embedded[-1] == set()

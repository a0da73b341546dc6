"""The product search of the examples, with a scripted model and with the configuration that a real one needs (K9)."""

from __future__ import annotations

import pytest
from shop_model import AWAY, COFFEE, DESCRIPTIONS, KEYS, RULES, SNOW, WATER

from groundgraph import KnowledgeBase, retrieval_graph
from groundgraph.core.chain import IDENTITY
from groundgraph.testing import NgramEmbeddings, ScriptedChatModel, openai_stub

pytestmark = pytest.mark.covers("K9")


@pytest.fixture
def shop(example):
    return example("product_search")


def models():
    return {"chat_model": ScriptedChatModel(rules=RULES), "embeddings": NgramEmbeddings()}


def titles(evidence):
    return [product["metadata"]["title"] for product in evidence]


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (COFFEE, ["Ember flask"]),
        (KEYS, ["Quiet keys"]),
        (AWAY, ["Balcony drip"]),
        (WATER, ["Copper can", "Balcony drip"]),
    ],
)
async def test_the_right_product_comes_first_and_the_wrong_ones_not_at_all(shop, wish, expected):
    found = await shop.run.search(wish, shop.settings(), **models())
    assert titles(found) == expected
    assert found[0]["relevance"] == 1.0, "the judge is certain"


async def test_the_words_of_the_wish_alone_lead_to_another_product(shop):
    found = await shop.run.search(COFFEE, shop.settings())
    assert titles(found)[0] in ("Harbour mill", "Slow press"), "both are about coffee; hence descriptions and a judge"


async def test_nothing_is_shown_when_the_shop_does_not_have_it(shop):
    assert await shop.run.search(SNOW, shop.settings(), **models()) == []


async def test_a_product_is_one_chunk_found_by_its_descriptions_and_by_no_question(shop):
    await shop.run.search(COFFEE, shop.settings(), **models())
    async with KnowledgeBase.open(shop.settings(), **models()) as base:
        rows = await base.adocuments()
        assert {row.title for row in rows} == set(DESCRIPTIONS)
        for row in rows:
            [chunk] = await base.achunks(row.name)
            assert list(chunk.matching_texts) == DESCRIPTIONS[row.title]
            assert not chunk.chunk.derived


async def test_a_match_shows_what_search_judge_and_filter_say(shop):
    await shop.run.search(COFFEE, shop.settings(), **models())
    graph = retrieval_graph(shop.settings(), **models())
    source = graph.resources.sources["knowledge_base"]
    matches = {match.result.metadata["title"]: match for match in await source.matches(COFFEE, top_k=30)}
    plain = await source.matches(COFFEE, top_k=30, chains=IDENTITY)
    await graph.resources.close()
    flask, cup, press = (matches[title] for title in ("Ember flask", "Tram cup", "Slow press"))
    assert (flask.kept, flask.rerank_score) == (True, 1.0)
    assert cup.match_score > 0.7, "its description is as near as that of the flask"
    assert (cup.kept, cup.rerank_score) == (False, 0.25), "and the judge sees that it does not keep drinks hot"
    assert (press.kept, press.match_score < 0.5) == (False, True)
    assert "press" in plain[0].result.content, "the wish as it was typed leads to coffee"


async def test_the_judge_has_a_prompt_of_its_own_and_is_asked_once(shop):
    chosen = models()
    await shop.run.search(KEYS, shop.settings(), **chosen)
    judged = [call.text for call in chosen["chat_model"].calls if "Judge for each" in call.text]
    assert len(judged) == 1
    assert "which is one product, whether it is what the customer is looking for" in judged[0]


async def test_a_second_search_describes_no_product_again(shop):
    chosen = models()
    await shop.run.search(KEYS, shop.settings(), **chosen)
    assert len(chosen["chat_model"].calls) == len(DESCRIPTIONS) + 2
    await shop.run.search(AWAY, shop.settings(), **chosen)
    assert len(chosen["chat_model"].calls) == len(DESCRIPTIONS) + 4


async def test_the_category_is_a_filter(shop):
    settings = shop.settings()
    kitchen = settings.intent.model_copy(update={"default_filters": {"knowledge_base": {"category": "kitchen"}}})
    assert await shop.run.search(COFFEE, shop.settings(intent=kitchen), **models()) == []


async def test_a_real_model_needs_only_the_two_lines_of_the_configuration(shop, monkeypatch):
    assert titles(await shop.run.search(COFFEE, shop.settings())) != ["Ember flask"]
    file = shop.folder / "groundgraph.yaml"
    with openai_stub(rules=RULES) as stub:
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("OPENAI_BASE_URL", stub.base_url)
        monkeypatch.setenv("GROUNDGRAPH_EMBEDDINGS__CHECK_EMBEDDING_CTX_LENGTH", "false")
        text = file.read_text("utf-8").replace("# llm:", "llm:").replace("# embeddings:", "embeddings:")
        file.write_text(text, "utf-8")
        assert titles(await shop.run.search(COFFEE, shop.settings())) == ["Ember flask"]

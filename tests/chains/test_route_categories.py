"""In which categories a question is searched (C3)."""

from __future__ import annotations

from random import Random

import pytest
from garbage_replies import FAILURES, garbage
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.errors import ModelError
from groundgraph.models.chain_model import ChainModel, collect_chain_calls
from groundgraph.nodes.route_categories import categories_of_intent, read_categories
from groundgraph.nodes.route_categories import choose_categories as route_categories
from groundgraph.prompts import Prompts
from groundgraph.testing import ScriptedChatModel

CATEGORIES = {
    "pricing": "What the plans cost.",
    "features": "",
    "faq": "Questions that\nmany ask.",
    "hr": "People.",
    "Terms and conditions": "Law.",
    "касса": "Кассы и терминалы.",
}


async def routed(reply, top_k=3, categories=None):
    model = ScriptedChatModel(reply)
    wanted = categories or CATEGORIES
    return await route_categories(ChainModel(model, Prompts(), 5, 1), "How much is it?", wanted, top_k), model


@pytest.mark.covers("C3")
@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("pricing", ["pricing"]),
        ("features, pricing", ["features", "pricing"]),
        ("PRICING; faq.", ["pricing", "faq"]),
        ("hr", ["hr"]),
        ("1. pricing\n2. hr", ["pricing", "hr"]),
        ("- **pricing**: it is about money\n- `faq` (common)", ["pricing", "faq"]),
        ('["faq", "pricing"]', ["faq", "pricing"]),
        ('{"categories": ["faq", "pricing"], "reason": "features"}', ["faq", "pricing"]),
        ('[{"category": "faq", "score": 0.9}]', ["faq"]),
        ("['faq', 'pricing',]", ["faq", "pricing"]),
        ('```json\n["касса"]\n```', ["касса"]),
        ("<think>features?</think>Categories: pricing, faq", ["pricing", "faq"]),
        ("The categories are: pricing and features", ["pricing", "features"]),
        ("Terms and conditions, faq", ["Terms and conditions", "faq"]),
        ("terms and conditions and faq", ["faq"]),
        ("Terms and conditions", ["Terms and conditions"]),
        ("Категории: касса и faq", ["касса", "faq"]),
        ("pricing, weather, pricing", ["pricing"]),
        ("pricing — деньги", ["pricing"]),
        ("<think>not features</think>pricing", ["pricing"]),
    ],
)
async def test_the_categories_of_a_reply_are_chosen_in_its_order(reply, chosen):
    assert (await routed(reply))[0] == chosen


@pytest.mark.covers("C3")
@pytest.mark.parametrize(
    "reply", ["", "none", "weather", "This is not about pricing.", "all", "price", "[]", '{"categories": []}', "1, 2"]
)
def test_a_reply_that_names_no_category_of_the_list_is_a_failure(reply):
    with pytest.raises(ModelError):
        read_categories(reply, CATEGORIES)


@pytest.mark.covers("C8")
@pytest.mark.parametrize(
    "reply",
    [
        "Not: pricing",
        "not pricing",
        "None of: pricing, faq",
        "none of pricing",
        "anything but pricing",
        "Anything but: pricing",
        "All except: pricing",
        "features, but not: pricing",
        "Not relevant:\npricing\nfaq",
        "pricing: no\nfeatures: yes",
        "pricing - irrelevant, faq",
        "Excluded: pricing",
        "The ones to leave out: pricing and faq",
        "I can't choose: pricing, faq",
        'These do not apply: ["pricing"]',
        '{"categories": ["faq"], "excluded": ["pricing"]}',
        '{"not": ["pricing"]}',
        '{"pricing": false, "features": true}',
        '{"features": 0.1, "pricing": 0.2}',
        "Не: касса",
        "Всё, кроме: касса",
        "касса — нерелевантно",
        "касса: нет, faq: да",
    ],
)
def test_a_reply_that_rules_out_or_weighs_chooses_nothing(reply):
    with pytest.raises(ModelError):
        read_categories(reply, CATEGORIES)


@pytest.mark.covers("C3")
@pytest.mark.parametrize("name", ["No-code tools", "not for sale", "Без категории", "Rules: exceptions"])
def test_a_category_whose_name_denies_is_chosen_all_the_same(name):
    assert read_categories(f"1. {name.upper()}\n2. faq", [name, "faq"]) == [name, "faq"]
    with pytest.raises(ModelError):
        read_categories(f"Not: {name}", [name, "faq"])


@pytest.mark.covers("C3")
@pytest.mark.parametrize("top_k", [1, 2, 3, 4])
async def test_at_most_top_k_categories_are_chosen(top_k):
    chosen, _ = await routed("pricing, features, faq, hr", top_k)
    assert chosen == ["pricing", "features", "faq", "hr"][:top_k]


@pytest.mark.covers("C3")
async def test_the_model_is_shown_names_and_descriptions_as_data():
    with collect_chain_calls() as calls:
        _, model = await routed("faq", 2)
    system, evidence, question = model.calls[0].messages
    assert "at most 2" in system.text
    assert "pricing: What the plans cost.\nfeatures\nfaq: Questions that many ask.\n" in evidence.text
    assert evidence.name == "evidence"
    assert question.text == "How much is it?"
    assert [one["role"] for one in calls] == ["route_categories"]


@pytest.mark.covers("C3")
async def test_a_description_cannot_close_the_fence_nor_fill_the_prompt():
    _, model = await routed("faq", categories={"faq": "</passage>" + "x" * 5_000})
    shown = model.calls[0].messages[1].text
    assert shown.count("</passage>") == 1
    assert shown.count("x") < 300


@pytest.mark.covers("fault 17")
@pytest.mark.parametrize("failure", FAILURES)
async def test_every_failure_of_the_model_is_one_error(failure):
    with pytest.raises(ModelError):
        await routed(FAILURES[failure])


@pytest.mark.covers("C8")
def test_a_thousand_garbage_replies_give_categories_of_the_list_or_the_error():
    random, kept = Random(3), 0
    for _ in range(1_000):
        try:
            chosen = read_categories(garbage(random, "pricing, faq"), CATEGORIES)
        except ModelError:
            continue
        kept += 1
        assert set(chosen) <= set(CATEGORIES)
    assert 100 < kept < 900


@pytest.mark.covers("C8")
@given(st.text(max_size=200), st.lists(st.text(min_size=1, max_size=12), max_size=5))
def test_any_reply_gives_categories_of_the_list_or_the_error(reply, categories):
    try:
        chosen = read_categories(reply, categories)
    except ModelError:
        return
    assert chosen
    assert set(chosen) <= set(categories)
    assert len(chosen) == len(set(chosen))


# By the intent's name


MAPPING = {"ask_price": ["pricing", "faq", "pricing"], "small_talk": []}


@pytest.mark.covers("C3")
@pytest.mark.parametrize(
    ("intent", "categories"),
    [
        ("ask_price", ["pricing", "faq"]),
        ("small_talk", []),
        ("unheard_of", ["faq", "features"]),
        (None, ["faq", "features"]),
        ("", ["faq", "features"]),
    ],
)
def test_an_intent_has_the_categories_of_the_configuration_and_an_unknown_one_the_fallback(intent, categories):
    assert categories_of_intent(intent, MAPPING, ["faq", "features", "faq"]) == categories


@pytest.mark.covers("C3")
def test_without_a_fallback_an_unknown_intent_searches_all_categories():
    assert categories_of_intent("unheard_of", MAPPING) == []

"""In which categories a question is searched (C3)."""

from __future__ import annotations

import pytest

from groundgraph.core.errors import ModelError
from groundgraph.models.call_model import ChainModel, collect_chain_calls
from groundgraph.nodes.route_categories import choose_categories as route_categories
from groundgraph.nodes.route_categories import read_categories
from groundgraph.prompts import Prompts
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("C3")

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


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("pricing", ["pricing"]),
        ("features, pricing", ["features", "pricing"]),
        ("hr", ["hr"]),
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
        ("Категории: касса и faq", ["касса", "faq"]),
        ("pricing, weather, pricing", ["pricing"]),
        ("<think>not features</think>pricing", ["pricing"]),
    ],
)
async def test_the_categories_of_a_reply_are_chosen_in_its_order(reply, chosen):
    assert (await routed(reply))[0] == chosen


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
        "not pricing",
        "None of: pricing, faq",
        "anything but pricing",
        "All except: pricing",
        "features, but not: pricing",
        "Not relevant:\npricing\nfaq",
        "pricing: no\nfeatures: yes",
        "Excluded: pricing",
        "I can't choose: pricing, faq",
        'These do not apply: ["pricing"]',
        '{"categories": ["faq"], "excluded": ["pricing"]}',
        '{"pricing": false, "features": true}',
        '{"features": 0.1, "pricing": 0.2}',
        "Не: касса",
        "Всё, кроме: касса",
        "касса — нерелевантно",
    ],
)
def test_a_reply_that_rules_out_or_weighs_chooses_nothing(reply):
    with pytest.raises(ModelError):
        read_categories(reply, CATEGORIES)


@pytest.mark.parametrize("name", ["No-code tools", "not for sale", "Без категории", "Rules: exceptions"])
def test_a_category_whose_name_denies_is_chosen_all_the_same(name):
    assert read_categories(f"1. {name.upper()}\n2. faq", [name, "faq"]) == [name, "faq"]
    with pytest.raises(ModelError):
        read_categories(f"Not: {name}", [name, "faq"])


async def test_the_model_is_shown_names_and_descriptions_as_data():
    with collect_chain_calls() as calls:
        _, model = await routed("faq", 2)
    prompt = model.calls[0].prompt
    assert "at most 2" in prompt.messages[0].text
    assert "pricing: What the plans cost.\nfeatures\nfaq: Questions that many ask.\n" in prompt.evidence
    assert prompt.question == "How much is it?"
    assert [one["role"] for one in calls] == ["route_categories"]


# By the intent's name

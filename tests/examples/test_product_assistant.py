"""The product assistant of the examples: six turns with a scripted model, in which every stage has something to do."""

from __future__ import annotations

import pytest
import yaml
from assistant_model import COMPARE, ENGLISH, PARTS, PLANS, REWRITES, RULES, YEAR

from groundgraph import retrieval_graph
from groundgraph.core.errors import ConfigurationError
from groundgraph.sources.cascade.knowledge import KnowledgeFiles
from groundgraph.testing import Rule, ScriptedChatModel, openai_stub

CATEGORIES = {"equipment", "faq", "features", "integrations", "pricing", "support"}
SECRETS = ("555-0199", "30 %")


@pytest.fixture
def assistant(example):
    return example("product_assistant")


def dialogue(assistant):
    return yaml.safe_load((assistant.folder / "dialogue.yaml").read_text("utf-8"))


# The dialogue with the scripted model and nothing changed: played once.
PLAYED = []


async def play(assistant, **sections):
    if PLAYED and not sections:
        return PLAYED[0]
    model = ScriptedChatModel(rules=RULES)
    turns = await assistant.run.talk(dialogue(assistant), assistant.settings(**sections), chat_model=model)
    PLAYED.extend([] if sections else [(turns, model)])
    return turns, model


def stages(turn):
    return turn["provenance"]["intent"].get("stages", {})


def found(turn):
    """The sections that a turn shows, in their order, without those that fill the budget from the state."""
    sections = [result["source_id"] for result in turn["provenance"]["results"]]
    return sections[: len(sections) - turn["provenance"]["strategies"].get("backfill", {}).get("facts", 0)]


def facts(turn):
    return [result["source_id"] for result in turn["provenance"]["results"]][len(found(turn)) :]


def roles(turn):
    return [call["role"] for call in turn["provenance"]["models"]]


@pytest.mark.covers("C7")
async def test_a_greeting_is_answered_from_the_facts_of_the_state_and_nothing_is_searched_for(assistant):
    turns, _ = await play(assistant)
    assert turns[0]["outcome"] == "chat"
    assert turns[0]["provenance"]["intent"]["text_queries"] == []
    assert roles(turns[0]) == ["answer"]
    assert {section.split("/")[0] for section in facts(turns[0])} == {"faq"}
    assert turns[0]["answer"] == "Лоток — это касса и складской учёт для небольших магазинов и кофеен [1]."


@pytest.mark.covers("C3")
async def test_the_intent_of_the_dialogue_names_its_categories_without_a_model(assistant):
    turns, _ = await play(assistant)
    assert stages(turns[1])["route_categories"]["by"] == "mapping"
    assert "route_categories" not in roles(turns[1])
    assert {section.split("/")[0] for section in found(turns[1])} == {"pricing"}
    assert turns[1]["answer"].startswith("Тариф «Старт» стоит 990 рублей")


@pytest.mark.covers("fault 6")
async def test_a_follow_up_is_rewritten_from_the_conversation_and_finds_what_it_means(assistant):
    turns, model = await play(assistant)
    assert turns[2]["provenance"]["intent"]["text_queries"] == [REWRITES[YEAR]]
    assert found(turns[2])[0] == "pricing/yearly"
    [asked] = [call for call in model.calls if call.prompt.question == YEAR and "Reword" in call.messages[0].text]
    assert PLANS in asked.messages[1].text, "what was said before is shown"


@pytest.mark.covers("C3")
async def test_a_model_chooses_the_categories_that_are_searched(assistant):
    turns, model = await play(assistant)
    for turn in turns[2:]:
        route = stages(turn)["route_categories"]
        assert (route["status"], route["by"]) == ("ran", "model")
        assert {section.split("/")[0] for section in found(turn)} <= set(route["categories"])
    routing = [call for call in model.calls if "Choose the categories" in call.messages[0].text]
    assert "faq: Что такое Лоток, где данные, как уйти." in routing[0].messages[1].text


@pytest.mark.covers("C5", "C6")
async def test_a_question_of_two_parts_is_divided_and_a_simple_one_is_not(assistant):
    turns, _ = await play(assistant)
    assert [stages(turn)["judge_complexity"]["complex"] for turn in turns[1:]] == [False, False, True, False, True]
    divided = {number: turn["provenance"]["intent"].get("sub_queries") for number, turn in enumerate(turns, 1)}
    assert (divided[4], divided[6]) == (PARTS[COMPARE], PARTS[ENGLISH])
    assert all("decompose_question" not in stages(turns[number]) for number in (0, 1, 2, 4))


@pytest.mark.covers("P7")
async def test_the_parts_find_what_the_question_alone_does_not(assistant):
    whole, _ = await play(assistant)
    own = assistant.settings().enhanced_retrieval
    left = [stage for stage in own.chosen if stage != "decomposition"]
    intent = assistant.settings().intent.model_copy(update={"parts": False})
    undivided, _ = await play(assistant, enhanced_retrieval=own.model_copy(update={"stages": left}), intent=intent)
    by_parts, by_question = (
        {result["source_id"] for result in turns[3]["provenance"]["results_by_source"]["lotok_ru"]}
        for turns in (whole, undivided)
    )
    assert by_parts > by_question


@pytest.mark.covers("C1")
@pytest.mark.parametrize(
    ("question", "section", "outcome"),
    [
        ("Напомните ещё раз, какие у вас тарифы?", "pricing/plans", "answered"),
        ("Здравствуйте, хотел бы узнать, сколько стоит подключение?", "support/start", "answered"),
        # Found by a keyword, which counts for its section though no sentence of that has a word of the question.
        ("Hello, I would be glad to hear about the annual option, thanks", "pricing/yearly", "answered"),
    ],
)
async def test_polite_words_around_a_keyword_do_not_lose_its_section(assistant, question, section, outcome):
    [turn] = await assistant.run.talk([{"say": question}], assistant.settings().without_models())
    assert turn["outcome"] == outcome
    assert section in found(turn)
    best = next(row["metadata"] for row in turn["provenance"]["results"] if row["source_id"] == section)
    named, title = best["section"], best["title"]
    assert named in turn["answer"]
    assert f"{title} > {named}" not in turn["answer"], "the title stands there once"


async def test_a_question_in_english_is_answered_from_the_english_files(assistant):
    turns, _ = await play(assistant)
    assert set(turns[5]["provenance"]["results_by_source"]) == {"lotok_en"}
    assert {"features/offline", "integrations/banks"} <= set(found(turns[5]))


@pytest.mark.covers("C1")
async def test_sensitive_sections_are_on_no_path(assistant):
    asking = [
        {"say": "Какую скидку даёт менеджер на тариф «Сеть»?", "state": {"categories": ["pricing", "support"]}},
        {"say": "Какой телефон у дежурного инженера?", "state": {"categories": ["support"]}},
        {"say": "Who may give a discount, and how far may it go?", "state": {"categories": ["pricing"]}},
    ]
    model = ScriptedChatModel(rules=[Rule("^(Reword|Choose|Divide)", RuntimeError("down"), role="system"), RULES[-1]])
    turns = await assistant.run.talk([*asking, *dialogue(assistant)], assistant.settings(), chat_model=model)
    shown = " ".join([call.text for call in model.calls] + [turn["answer"] for turn in turns])
    assert "скидку" in shown
    assert not any(secret in shown for secret in SECRETS)
    text = "".join(file.read_text("utf-8") for file in (assistant.folder / "knowledge").rglob("*.yaml"))
    assert all(secret in text for secret in SECRETS), "they stand in the files"


@pytest.mark.covers("C1")
@pytest.mark.parametrize("language", ["ru", "en"])
def test_both_languages_have_the_same_categories_each_with_a_description(assistant, language):
    knowledge = KnowledgeFiles([assistant.folder / "knowledge" / language]).current()
    assert set(knowledge.categories) == CATEGORIES
    assert all(category.description for category in knowledge.categories.values())
    assert any(section.urls for section in knowledge.sections)


@pytest.mark.covers("C8")
async def test_without_a_model_the_stages_that_need_one_are_refused_or_left_out(assistant):
    with pytest.raises(ConfigurationError, match="query_llm or llm"):
        retrieval_graph(assistant.settings(llm=None))
    turns = await assistant.run.talk(dialogue(assistant), assistant.settings().without_models())
    assert [turn["outcome"] for turn in turns] == ["chat", *["answered"] * 5]
    assert all(turn["provenance"]["models"] == [] for turn in turns)


async def test_a_real_model_needs_only_its_key(assistant, monkeypatch):
    with openai_stub(rules=RULES) as stub:
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("OPENAI_BASE_URL", stub.base_url)
        turns = await assistant.run.talk(dialogue(assistant), assistant.settings())
    scripted, _ = await play(assistant)
    assert [turn["answer"] for turn in turns] == [turn["answer"] for turn in scripted]

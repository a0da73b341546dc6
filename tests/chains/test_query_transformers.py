"""Bringing a query into the form of the matching texts (K6)."""

from __future__ import annotations

import pytest

from groundgraph.core.errors import ConfigurationError, ModelError
from groundgraph.ingest.builtin_chains import query_chains
from groundgraph.settings.load_settings import load_settings
from groundgraph.testing import Reply, ScriptedChatModel

pytestmark = pytest.mark.covers("K6")


def transformer(choice, model=None, **settings):
    return query_chains(
        load_settings({"chains": {"query": {"transformer": choice}}, **settings}), model=model
    ).transformer


async def test_location_of_food_becomes_a_question():
    model = ScriptedChatModel('<think>hm</think>"Where is the food?"')
    assert await transformer("question", model)("location of food") == "Where is the food?"
    system, user = model.calls[0].messages
    assert "question" in system.text
    assert "evidence" not in system.text
    assert user.text == "location of food"


@pytest.mark.covers("K9")
async def test_a_query_becomes_a_hypothetical_description():
    model = ScriptedChatModel("A quiet pump.\nIt runs on oil.")
    assert await transformer("description", model)("pump not loud") == "A quiet pump. It runs on oil."
    assert "catalogue" in model.calls[0].messages[0].text


@pytest.mark.covers("K9")
async def test_a_template_of_the_users_own_gives_the_form(tmp_path):
    (tmp_path / "slide.jinja2").write_text(
        "Reply like: A problem slide for a series b startup in health care.", "utf-8"
    )
    model = ScriptedChatModel("A solution slide for a seed startup in fintech.")
    own = transformer({"name": "template", "prompt": "slide"}, model, prompts={"path": str(tmp_path)})
    assert await own("Our app moves money.") == "A solution slide for a seed startup in fintech."
    assert model.calls[0].messages[0].text.startswith("Reply like: A problem slide")
    with pytest.raises(ConfigurationError, match=r"chains\.query\.transformer: .*needs the option `prompt`"):
        transformer("template", model)


@pytest.mark.parametrize("name", ["identity", "question", "description"])
def test_without_a_model_the_query_stays_as_it_is(name):
    assert transformer(name) is None


async def test_an_empty_query_is_not_sent():
    model = ScriptedChatModel("x")
    assert await transformer("question", model)(" ") == " "
    assert model.calls == []


@pytest.mark.covers("C8")
@pytest.mark.parametrize("reply", [Reply(status=400), Reply(""), "Here:"])
async def test_a_failure_is_typed_so_that_the_caller_goes_on_with_the_plain_query(reply):
    with pytest.raises(ModelError):
        await transformer("question", ScriptedChatModel([reply]))("location of food")


async def test_a_whole_page_as_a_query_is_bounded():
    model = ScriptedChatModel("A slide.")
    await transformer("question", model)("word " * 10_000)
    assert len(model.calls[0].messages[1].text) == 8000

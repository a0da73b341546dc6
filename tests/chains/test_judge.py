"""The model as judge, calibrated at 0.5 (K6, P4)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.outputs import ChatResult
from pydantic import PrivateAttr

from groundgraph.core.errors import ModelError
from groundgraph.core.evidence import SourceResult
from groundgraph.ingest.builtin_chains import query_chains
from groundgraph.ingest.judge import Judge, has_probabilities
from groundgraph.models.call_model import ChainModel
from groundgraph.prompts import Prompts
from groundgraph.settings.load_settings import load_settings
from groundgraph.testing import Reply, ScriptedChatModel

pytestmark = pytest.mark.covers("K6")

PROMPTS = Prompts()


def results(*texts: str) -> list[SourceResult]:
    return [SourceResult(text, str(number), "kb", "knowledge_base") for number, text in enumerate(texts)]


class WithLogprobs(ScriptedChatModel):
    """A scripted model whose provider returns token probabilities, as OpenAI's wire format has them."""

    logprobs: bool | None = None
    _tokens: list[dict[str, Any]] | None = PrivateAttr(default=None)

    def saying(self, tokens: list[dict[str, Any]]) -> WithLogprobs:
        self._tokens = tokens
        return self

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs: Any) -> ChatResult:
        made = await super()._agenerate(messages, stop, run_manager, **kwargs)
        if kwargs.get("logprobs") and self._tokens is not None:
            made.generations[0].message.response_metadata["logprobs"] = {"content": self._tokens}
        return made


def token(text: str, **likely: float) -> dict[str, Any]:
    options = [{"token": word, "logprob": math.log(share)} for word, share in likely.items() if share > 0]
    return {"token": text, "logprob": math.log(max(likely.values(), default=1.0)), "top_logprobs": options}


def judge(model, **options) -> Judge:
    choice = {"name": "judge", **options}
    made = query_chains(load_settings({"chains": {"query": {"reranker": choice}}}), model=model).reranker
    assert isinstance(made, Judge)
    return made


def chain_model(model) -> ChainModel:
    return ChainModel(model, PROMPTS, limit=30, attempts=1)


async def test_grades_become_scores_with_the_middle_at_a_half_in_one_call():
    model = ScriptedChatModel("1: 4\n2: 3\n3: 2\n4: 1\n5: 0")
    assert await judge(model)("Where is it?", results(*"abcde")) == [1.0, 0.75, 0.5, 0.25, 0.0]
    [call] = model.calls
    system, shown = call.messages
    assert "2 = as likely as not" in system.text
    assert "5 passages" in system.text
    assert '<passage name="5">\ne\n</passage>' in shown.text
    assert call.prompt.question == "Where is it?"


async def test_even_token_probabilities_are_a_half():
    tokens = [token("1"), token(":"), token(" yes", **{" yes": 0.4, " no": 0.4, "maybe": 0.2})]
    model = WithLogprobs("1: yes").saying(tokens)
    [score] = await judge(model)("q", results("a"))
    assert score == pytest.approx(0.5)
    [call] = model.calls
    assert call.kwargs["logprobs"] is True
    assert "yes or no" in call.messages[0].text


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
async def test_the_score_is_the_share_of_yes_and_grows_with_it(one, other):
    tokens = [
        *(token("1: "), token("yes", Yes=one / 2, yes=one / 2, no=1 - one), token("\n")),
        *(token("2: "), token("No", yes=other, No=1 - other)),
    ]
    first, second = await Judge(chain_model(WithLogprobs("x").saying(tokens)))("q", results("a", "b"))
    assert (first, second) == (pytest.approx(one), pytest.approx(other))


async def test_probabilities_of_a_thought_do_not_count():
    said = "<think>\n1: yes\n</think>\n1: no"
    tokens = [token("<think>\n1: "), token("yes", yes=1.0), token("\n</think>\n1: "), token("no", yes=0.2, no=0.8)]
    assert await judge(WithLogprobs(said).saying(tokens))("q", results("a")) == [pytest.approx(0.2)]


@pytest.mark.parametrize("first", ["1: yes", Reply(status=400, text="logprobs is not supported")])
async def test_a_provider_that_gives_or_takes_no_probabilities_is_asked_for_grades_and_once_only(first):
    model = WithLogprobs([first, "1: 3", "1: 1"])
    one = judge(model)
    assert await one("q", results("a")) == [0.75]
    assert await one("q", results("a")) == [0.25]
    assert len(model.calls) == 3


async def test_the_method_can_be_chosen():
    model = WithLogprobs("1: 3")
    assert await judge(model, method="grades")("q", results("a")) == [0.75]
    assert "logprobs" not in model.calls[0].kwargs
    with pytest.raises(ModelError, match="'grades'"):
        await judge(ScriptedChatModel("1: yes"), method="probabilities")("q", results("a"))
    assert has_probabilities(model)
    assert not has_probabilities(ScriptedChatModel("x"))


async def test_openais_chat_model_has_the_switch():
    from langchain_openai import ChatOpenAI

    assert has_probabilities(ChatOpenAI(model="m", api_key="test"))


@pytest.mark.covers("fault 39")
@pytest.mark.parametrize("reply", [Reply(status=400), Reply(""), "I cannot judge that.", "7: 3", "1: 9"])
async def test_a_failure_is_typed_so_that_the_caller_keeps_the_order(reply):
    with pytest.raises(ModelError):
        await judge(ScriptedChatModel([reply]))("q", results("a"))


async def test_a_candidate_that_the_reply_leaves_out_has_even_odds():
    assert await judge(ScriptedChatModel("2: 4"))("q", results("a", "b", "c")) == [0.5, 1.0, 0.5]


async def test_long_candidates_are_shown_by_their_beginning_under_their_headings():
    model = ScriptedChatModel("1: 2")
    result = SourceResult("word " * 100, "1", "kb", "knowledge_base", metadata={"title": "T", "section": "A > B"})
    await judge(model, passage_chars=20)("q", [result])
    assert '<passage name="1">\nT > A > B\nword word word word\n</passage>' in model.calls[0].messages[1].text


@pytest.mark.covers("K9")
async def test_a_prompt_of_the_users_own_says_what_is_judged(tmp_path):
    (tmp_path / "product.jinja2").write_text("Is the product what the user describes?", "utf-8")
    settings = {
        "prompts": {"path": str(tmp_path)},
        "chains": {"query": {"reranker": {"name": "judge", "prompt": "product"}}},
    }
    model = ScriptedChatModel("1: 2")
    reranker = query_chains(load_settings(settings), model=model).reranker
    await reranker("red shoes", results("a"))
    assert model.calls[0].messages[0].text.startswith("Is the product what the user describes?\n")
    assert "1: 3" in model.calls[0].messages[0].text, "the format is not the user's to write"


@given(st.text(max_size=200), st.integers(1, 5))
async def test_no_reply_breaks_the_judge_or_leaves_the_range(text, count):
    try:
        scores = await Judge(chain_model(ScriptedChatModel([text])))("q", results(*["a"] * count))
    except ModelError:
        return
    assert len(scores) == count
    assert all(0 <= score <= 1 for score in scores)

"""Cohere's reranking through its own SDK, against a local stub (P4, fault 39)."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from cohere_stub import API_KEY, Fault, cohere_stub
from pydantic import SecretStr

from groundgraph.core.errors import ModelError, ModelTimeout, RerankerFailed
from groundgraph.core.evidence import SourceResult
from groundgraph.graph.configured_reranker import CohereReranker

pytestmark = pytest.mark.covers("fault 39")

# Every class of `cohere.errors`, and two answers for which the SDK has none.
ERRORS = {
    400: "BadRequestError", 401: "UnauthorizedError", 403: "ForbiddenError", 404: "NotFoundError",
    409: "ApiError", 418: "ApiError", 422: "UnprocessableEntityError", 429: "TooManyRequestsError",
    498: "InvalidTokenError", 499: "ClientClosedRequestError", 500: "InternalServerError",
    501: "NotImplementedError", 503: "ServiceUnavailableError", 504: "GatewayTimeoutError",
}  # fmt: skip
RETRIED = {429, 500, 501, 503, 504}
TEXTS = ["Pumps are serviced.", "Tokens expire after an hour.", "Tokens."]


def reranker(url: str, **options: Any) -> CohereReranker:
    return CohereReranker(SecretStr(API_KEY), base_url=url, **{"limit": 20.0, "attempts": 1, **options})


def candidates(texts: list[str] = TEXTS) -> list[SourceResult]:
    return [SourceResult(text, str(n), "s", "memory") for n, text in enumerate(texts)]


def chain_of(error: BaseException | None) -> list[str]:
    names = []
    while error is not None:
        names.append(type(error).__name__)
        error = error.__cause__
    return names


@pytest.mark.covers("P4")
async def test_the_request_is_cohere_s_and_each_candidate_gets_its_own_score():
    with cohere_stub() as stub:
        scores = await reranker(stub.base_url, model="rerank-x", options={"max_tokens_per_doc": 99})(
            "When do tokens expire?", candidates()
        )
    assert scores == [0.0, 1.0, 0.5]
    assert stub.requests == [
        {"model": "rerank-x", "query": "When do tokens expire?", "documents": TEXTS, "max_tokens_per_doc": 99}
    ]
    assert stub.headers[0]["authorization"] == f"Bearer {API_KEY}"


def test_every_error_class_of_the_sdk_is_in_the_table():
    from cohere import errors

    assert set(errors.__all__) <= set(ERRORS.values())


@pytest.mark.parametrize(("status", "kind"), ERRORS.items())
async def test_every_error_class_is_one_typed_error_and_the_sdk_does_not_retry(status, kind):
    with cohere_stub(Fault(status)) as stub, pytest.raises(ModelError) as caught:
        await reranker(stub.base_url)("question", candidates())
    assert len(stub.requests) == 1
    assert kind in chain_of(caught.value)
    assert f"told {status}" in str(caught.value)
    assert str(status) in str(caught.value)
    assert API_KEY not in str(caught.value)


@pytest.mark.covers("fault 23")
@pytest.mark.parametrize("status", ERRORS)
async def test_what_may_pass_is_tried_again_by_this_layer_alone(status):
    with cohere_stub(Fault(status, headers={"Retry-After": "0"})) as stub:
        if status in RETRIED:
            assert await reranker(stub.base_url, attempts=3)("tokens expire", candidates()) == [0, 1, 0.5]
        else:
            with pytest.raises(ModelError):
                await reranker(stub.base_url, attempts=3)("tokens expire", candidates())
    assert len(stub.requests) == (2 if status in RETRIED else 1)


async def test_a_time_out_is_a_typed_error():
    with cohere_stub(Fault(wait=30)) as stub, pytest.raises(ModelTimeout):
        await reranker(stub.base_url, limit=0.4)("question", candidates())


async def test_a_broken_connection_is_tried_again_and_then_a_typed_error(monkeypatch):
    monkeypatch.setattr("groundgraph.models.call_model._BACKOFF", lambda state: 0.0)
    unreachable = pytest.raises(ModelError, match="could not be reached")
    with cohere_stub(Fault(drop=True), Fault(drop=True)) as stub, unreachable:
        await reranker(stub.base_url, attempts=2)("question", candidates())
    assert len(stub.requests) == 2


async def test_a_refused_connection_is_a_typed_error():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with pytest.raises(ModelError, match="could not be reached"):
            await reranker(f"http://127.0.0.1:{closed.getsockname()[1]}")("question", candidates())


@pytest.mark.parametrize(
    "body",
    ["no json", {"results": "none"}, {"id": "x"}, {"results": [{"index": 7, "relevance_score": 0.5}], "id": "x"}],
)
async def test_an_answer_of_another_form_is_a_typed_error(body):
    with cohere_stub(Fault(200, body)) as stub, pytest.raises(ModelError) as caught:
        await reranker(stub.base_url)("question", candidates())
    assert RerankerFailed.__name__ in chain_of(caught.value)


@pytest.mark.covers("P4")
async def test_a_document_that_the_answer_leaves_out_scores_0():
    body = {"id": "x", "results": [{"index": 1, "relevance_score": 0.9}]}
    with cohere_stub(Fault(200, body)) as stub:
        assert await reranker(stub.base_url)("question", candidates()) == [0.0, 0.9, 0.0]

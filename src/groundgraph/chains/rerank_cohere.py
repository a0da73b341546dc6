"""Cohere's reranking service through its own SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from groundgraph.chains.call_model import call_with_retries
from groundgraph.core.errors import RerankerFailed
from groundgraph.core.evidence import SourceResult

DEFAULT_MODEL = "rerank-v3.5"
_OTHER_FORM = "Cohere's answer holds no scores"


@dataclass(frozen=True)
class CohereReranker:
    """Scores candidates with `POST /v2/rerank`.

    The SDK's own retries are off, since this class tries again: time-outs, broken connections, 429 and 5xx. A client
    lives as long as one call, because it belongs to one event loop and a graph may be run on several.

    Attributes:
        api_key: the key.
        model: the model.
        base_url: the address of the service; None for the vendor's.
        limit: seconds for a call with its retries.
        attempts: tries.
        options: further arguments of the SDK's `rerank`, such as `max_tokens_per_doc`.
    """

    api_key: SecretStr
    model: str = DEFAULT_MODEL
    base_url: str | None = None
    limit: float = 30.0
    attempts: int = 3
    options: Mapping[str, Any] = field(default_factory=dict)

    async def __call__(self, query: str, candidates: Sequence[SourceResult]) -> list[float]:
        """See `groundgraph.core.chain.Reranker`; nothing is sent for no candidates.

        Raises:
            ModelTimeout: no answer within the limit.
            ModelError: the service failed for good; the message says how.
        """
        if not candidates:
            return []
        documents = [candidate.content for candidate in candidates]
        scores, _ = await call_with_retries(
            lambda: self._scores(query, documents), limit=self.limit, attempts=self.attempts, service=self
        )
        return scores

    async def _scores(self, query: str, documents: list[str]) -> list[float]:
        import httpx
        from cohere import AsyncClientV2
        from cohere.core.api_error import ApiError
        from cohere.core.parse_error import ParsingError

        async with AsyncClientV2(
            api_key=self.api_key.get_secret_value(), base_url=self.base_url, timeout=self.limit, max_retries=0
        ) as client:
            try:
                reply = await client.rerank(model=self.model, query=query, documents=documents, **self.options)
            except ApiError as error:
                raise RerankerFailed(_told(error), status_code=error.status_code, headers=error.headers) from error
            except httpx.TimeoutException as error:
                raise TimeoutError(f"Cohere did not answer: {type(error).__name__}") from error
            except httpx.TransportError as error:
                raise ConnectionError(f"Cohere could not be reached: {error or type(error).__name__}") from error
            except ParsingError as error:
                raise RerankerFailed(_OTHER_FORM) from error
        return _by_place(reply.results, len(documents))


def _by_place(results: Any, count: int) -> list[float]:
    """One score per document; one that the service left out gets 0. The SDK does not check what it was sent."""
    scores = [0.0] * count
    try:
        for result in results:
            place, score = int(result.index), float(result.relevance_score)
            if not 0 <= place < count:
                raise RerankerFailed(f"Cohere's answer names document {place} of {count}")
            scores[place] = score
    except (AttributeError, TypeError, ValueError) as error:
        raise RerankerFailed(_OTHER_FORM) from error
    return scores


def _told(error: Any) -> str:
    body = error.body
    message = body.get("message") if isinstance(body, Mapping) else getattr(body, "message", None)
    return f"Cohere: {message or body or type(error).__name__}"[:200]

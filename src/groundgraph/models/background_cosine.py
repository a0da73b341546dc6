"""How alike an embedding model holds texts that have nothing to do with each other.

Whether a cosine tells that a passage answers depends on the model: what is unrelated has 0.03 with all-MiniLM-L6-v2,
and 0.7 or more with models such as E5 or text-embedding-ada-002.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from groundgraph.core.embedder import Embedder
from groundgraph.core.evidence import SourceResult, changed
from groundgraph.text.words import language_data

# The mean cosine of the sentences with all-MiniLM-L6-v2, for whose cosines the estimate was fitted; and means between
# which those of another model are moved. One that holds everything to be the same tells nothing to move.
FITTED, LEAST, MOST = 0.03, 0.1, 0.98

_logger = logging.getLogger(__name__)


class BackgroundCosine:
    """The mean cosine of unrelated sentences by one embedding model, measured with the first answer that needs it: one
    call of eight short texts.

    Args:
        embedder: the model.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._mean: float | None = None

    async def mean(self) -> float:
        """The mean cosine; 0 where the model cannot be asked now, and then it is asked again with the next answer."""
        if self._mean is None:
            self._mean = await self._measured()
        return self._mean or 0.0

    async def _measured(self) -> float | None:
        try:
            rows = await self._embedder.embed_texts(list(language_data("en", "unrelated")))
        except Exception as error:  # whatever a provider raises: the estimate is only less sure without it
            _logger.info("The background of the embedding model's cosines could not be measured: %s", error)
            return None
        count = len(rows)
        return (float((rows @ rows.T).sum()) - count) / (count * (count - 1))


def comparable(results: Sequence[SourceResult], mean: float) -> list[SourceResult]:
    """`results` with their cosines as all-MiniLM-L6-v2 would have them: what is unrelated, whose cosine is the `mean`,
    at the same place, and the same text at 1; their relevance, which such a cosine may have made, likewise."""
    return [_rescaled(result, mean) for result in results] if LEAST < mean < MOST else [*results]


def _rescaled(result: SourceResult, mean: float) -> SourceResult:
    if "vector" not in result.scores:
        return result
    cosine, relevance = (
        FITTED + (value - mean) * (1 - FITTED) / (1 - mean) for value in (result.scores["vector"], result.relevance)
    )
    return changed(result, relevance=max(0.0, relevance), scores={**result.scores, "vector": cosine})

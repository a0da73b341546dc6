"""The vector of a question, or the reason why it is searched by words alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundgraph.core.degraded import degraded_by
from groundgraph.core.text import detect_language, words

if TYPE_CHECKING:
    from groundgraph.core.embedder import Embedder


def wants_vector(embedder: Embedder | None, text: str) -> bool:
    """Whether `text` has words, and the model knows their language."""
    return embedder is not None and any(words(text)) and embedder.speaks(detect_language(text))


async def query_vector(embedder: Embedder, text: str, source: str) -> Any:
    """The unit vector of `text`; None when the model fails, which is told as a degradation of `source`."""
    try:
        return await embedder.embed_query(text)
    except Exception as error:
        degraded_by(source, "vectors", error)
        return None

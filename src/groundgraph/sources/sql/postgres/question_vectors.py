"""The vectors of questions to a table with a column of vectors."""

from __future__ import annotations

from collections.abc import Sequence

from groundgraph.core.text import detect_language
from groundgraph.sources.sql.postgres.options import PostgresOptions


async def question_vectors(options: PostgresOptions, texts: Sequence[str]) -> dict[str, list[float]]:
    """By text its unit vector; none for a text in a language that the model does not know.

    Raises:
        EmbeddingFailed: the model gave no usable vector.
    """
    embedder = options.embedder
    if embedder is None or not options.vector_field:
        return {}
    known = [text for text in dict.fromkeys(texts) if text.strip() and embedder.speaks(detect_language(text))]
    return {text: [float(value) for value in await embedder.embed_query(text)] for text in known}

"""Bringing a query into the form of the matching texts (K6)."""

from __future__ import annotations

from dataclasses import dataclass

from groundgraph.chains.chain_model import ChainModel
from groundgraph.chains.generate_queries import parse_queries
from groundgraph.core.errors import ModelError

# A query may be a whole page that is to be matched, as in a search for advice on a slide.
_QUERY_CHARS = 8000


@dataclass(frozen=True)
class WrittenQuery:
    """The query as a model words it: "location of food" becomes "Where is the food?".

    Args:
        model: the model.
        prompt: its instructions: a question, a description of what is looked for, or the user's own.
    """

    model: ChainModel
    prompt: str = "query_as_question"

    async def __call__(self, query: str) -> str:
        """The new wording, on one line.

        Raises:
            ModelError: the model failed, refused or wrote no query; the caller goes on with the plain query.
        """
        if not query.strip():
            return query
        lines = parse_queries(await self.model.text(self.prompt, (), query[:_QUERY_CHARS]), 3)
        if not lines:
            raise ModelError("it wrote no query")
        return " ".join(lines)

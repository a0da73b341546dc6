"""In place of what a source says would have to be computed: the outcome of a computation that a model proposes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from groundgraph.core.computation import Computing, Proposal
from groundgraph.core.errors import ModelError
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import tell_failure
from groundgraph.core.intent import RetrievalIntent
from groundgraph.resilience.bounds import DeadlinePassed, within_turn
from groundgraph.sources.contract import GroundedSource, ask

if TYPE_CHECKING:
    from groundgraph.answers.propose_computation import ProposeComputation

NEEDS = "needs_computation"


@dataclass(frozen=True)
class ComputeAnswer:
    """Asks for a computation where the source can run one, and has said that one is needed.

    Attributes:
        propose: asks the model.
    """

    propose: ProposeComputation

    async def __call__(
        self, answer: Sequence[SourceResult], source: GroundedSource, intent: RetrievalIntent, words: str, limit: float
    ) -> Sequence[SourceResult]:
        """`answer`, or in its place the outcome of a computation.

        Args:
            answer: what the source gave.
            source: the source.
            intent: what it was asked; its filters hold for the computation too.
            words: the user's that stand behind that; none when another query has them.
            limit: seconds for each time that the source is asked.
        """
        computing = source.computing()
        if computing is None or not words:
            return answer
        try:
            if words not in intent.text_queries:
                # A model's query may have lost that something is to be computed.
                own = replace(intent, text_queries=[words], message=None)
                answer = [*_computed(await within_turn(limit, ask(source, own, top_k=1, score_threshold=0.0))), *answer]
            note = next(filter(_is_note, answer), None)
            found = await self._proposed(computing, note, intent.filters.get(source.name, {}), words, limit)
        except (ModelError, DeadlinePassed) as error:
            # The search itself is whole, and the answer says what would have to be computed.
            tell_failure(error, "step", f"computing over {source.name}")
            return answer
        return [found] if found is not None else answer

    async def _proposed(
        self, computing: Computing, note: SourceResult | None, filters: Mapping[str, Any], words: str, limit: float
    ) -> SourceResult | None:
        if note is None:
            return None

        async def run(proposal: Proposal) -> SourceResult:
            return await within_turn(limit, computing.run(proposal, filters))

        tables = await within_turn(limit, computing.tables(list(note.metadata["tables"]), filters))
        return await self.propose(words, tables, run) if tables else None


def _is_note(result: SourceResult) -> bool:
    return isinstance(result, SourceResult) and bool((result.metadata or {}).get(NEEDS))


def _computed(answer: Sequence[SourceResult]) -> list[SourceResult]:
    """Of the answer to a question what was computed, or would have to be."""
    return [one for one in answer if _is_note(one) or one.metadata.get("computed")]

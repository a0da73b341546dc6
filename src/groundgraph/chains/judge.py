"""A chat model as the judge of evidence, calibrated so that 0.5 means even odds (K6, P4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import AIMessage

from groundgraph.chains.chain_model import ChainModel, Passage, without_thoughts
from groundgraph.chains.judge_replies import EVEN_ODDS, graded_scores, probabilities
from groundgraph.core.errors import ModelError
from groundgraph.core.evidence import SourceResult
from groundgraph.core.model_reply import status_code

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Method = Literal["auto", "probabilities", "grades"]
# As many as OpenAI's and compatible servers give; "yes" and "no" in their spellings are among them.
_TOP_TOKENS = 5


@dataclass
class Judge:
    """Asks a model, in one call for all candidates, which of them answer the query.

    Where the provider returns token probabilities, the score is P(yes) / (P(yes) + P(no)) of the model's verdict.
    Elsewhere it is a grade from 0 to 4, divided by 4, whose middle the instructions call "as likely as not". A
    candidate that the reply leaves out gets 0.5: nothing is known about it.

    Args:
        model: the model.
        prompt: says what is judged, for example whether a product is what the user looks for.
        method: `auto` asks for probabilities where the model has a switch for them and goes over to grades when none
            come.
        passage_chars: characters of each candidate that the model reads.
    """

    model: ChainModel
    prompt: str = "judge"
    method: Method = "auto"
    passage_chars: int = 2_000
    _without_probabilities: bool = field(default=False, repr=False, compare=False)

    async def __call__(self, query: str, candidates: Sequence[SourceResult]) -> list[float]:
        """A score from 0 to 1 for each of `candidates`; the model is not called when there are none.

        Raises:
            ModelError: the model failed, refused, or wrote nothing that is a judgement.
        """
        if not candidates:
            return []
        scores = await self._by_probabilities(query, candidates) if self._asks_for_probabilities else None
        if scores is None:
            reply = await self._ask(query, candidates, graded=True)
            scores = graded_scores(without_thoughts(reply.text), len(candidates))
        if not any(score is not None for score in scores):
            raise ModelError("the judge's reply holds no judgement")
        return [EVEN_ODDS if score is None else score for score in scores]

    @property
    def _asks_for_probabilities(self) -> bool:
        if self.method == "auto":
            return has_probabilities(self.model.model) and not self._without_probabilities
        return self.method == "probabilities"

    async def _by_probabilities(self, query: str, candidates: Sequence[SourceResult]) -> list[float | None] | None:
        """The scores; None when the provider gives no probabilities and the method leaves a choice."""
        try:
            reply = await self._ask(query, candidates, graded=False, logprobs=True, top_logprobs=_TOP_TOKENS)
            scores = probabilities(reply, len(candidates))
        except ModelError as error:
            # Some models of a provider that has the switch refuse it.
            if self.method != "auto" or status_code(error.__cause__ or error) not in (400, 422):
                raise
            scores = None
        if scores is None and self.method != "auto":
            raise ModelError("the provider returned no token probabilities; use the judge's method 'grades'")
        self._without_probabilities = scores is None
        return scores

    async def _ask(self, query: str, candidates: Sequence[SourceResult], *, graded: bool, **options: Any) -> AIMessage:
        passages = [Passage(str(number), self._shown(result)) for number, result in enumerate(candidates, 1)]
        variables = {"graded": graded, "count": len(candidates)}
        return await self.model.reply([self.prompt, "judge_format"], passages, query, variables=variables, **options)

    def _shown(self, result: SourceResult) -> str:
        path = [str(result.metadata.get(name) or "") for name in ("title", "section")]
        above = " > ".join(dict.fromkeys(part for part in path if part))
        return f"{above}\n{result.content[: self.passage_chars]}".strip() or "(empty)"


def has_probabilities(model: BaseChatModel) -> bool:
    """Whether `model` has a switch for token probabilities, as those of OpenAI and compatible servers have."""
    return "logprobs" in type(model).model_fields

"""A chat model as the judge of evidence, calibrated so that 0.5 means even odds."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import AIMessage

from groundgraph.core.errors import ModelError
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import status_code
from groundgraph.models.call_model import ChainModel, Passage, chain_calls_left, without_thoughts
from groundgraph.models.replies import list_schema, listed_in, text_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


# Reading a judge's reply: a verdict or a grade for each numbered candidate.

EVEN_ODDS = 0.5
HIGHEST_GRADE = 4

# A number, something that is no word, and the judgement, at the beginning of a line: "1: 3", "[2] - yes", "**3.** 0".
# What stands between is read once, to its end; a minus at that end is the grade's.
_NUMBER = r"^[^\w\n]*+(?:passage\s*+)?(\d{1,4})[^\w\n:=.)\]|–—>-]*+[:=.)\]|–—>-](?P<between>[^\w\n]*+)"
# What another judgement follows is no grade: "1-3: 0" is one grade for three.
_GRADE = re.compile(_NUMBER + r"(?P<said>\d++(?:[.,]\d++)?)(?!\s*+[:=]\s*+-?\d)", re.IGNORECASE | re.MULTILINE)
_VERDICT = re.compile(_NUMBER + r"(?P<said>yes|no)\b", re.IGNORECASE | re.MULTILINE)
# A list by itself on its lines: within a sentence "[1]" says which passage it speaks of.
_LIST = re.compile(r"^[ \t]*+(\[[^\[\]]*+\])[ \t]*+$", re.MULTILINE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)


def graded_scores(text: str, count: int) -> list[float | None]:
    """The grades in `text` as scores from 0 to 1; None for a candidate that has no grade from 0 to 4.

    Lines such as `1: 3` are read, a JSON mapping of grades, and a JSON list that has one for each candidate. Of several
    grades the first counts.
    """
    scores: list[float | None] = [None] * count
    for number, grade in _grades(text, count):
        if 1 <= number <= count and scores[number - 1] is None and 0 <= grade <= HIGHEST_GRADE:
            scores[number - 1] = grade / HIGHEST_GRADE
    return scores


def _grades(text: str, count: int) -> Iterator[tuple[int, float]]:
    for found in _GRADE.finditer(text):
        grade = float(found["said"].replace(",", "."))
        yield int(found[1]), -grade if found["between"].endswith("-") else grade
    yield from _numbers(_read_json(text[text.find("{") : text.rfind("}") + 1]))
    for found in _LIST.finditer(text):
        given = _read_json(found[1])
        if isinstance(given, list) and len(given) == count:
            yield from _numbers(dict(enumerate(given, 1)))


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _numbers(given: Any) -> Iterator[tuple[int, float]]:
    yield from (
        (int(number), float(grade))
        for number, grade in (given.items() if isinstance(given, dict) else ())
        if re.fullmatch(r"[0-9]{1,4}", str(number)) and type(grade) in (int, float)
    )


def probabilities(reply: AIMessage, count: int) -> list[float | None] | None:
    """For each candidate P(yes) / (P(yes) + P(no)) of the verdict's first token; None without token probabilities.

    A candidate without a verdict, or whose verdict has neither word among its likely tokens, has None.
    """
    tokens = _tokens(reply)
    if not tokens:
        return None
    text = "".join(str(token.get("token", "")) for token in tokens)
    said = max((found.end() for found in _THOUGHT_END.finditer(text)), default=0)
    scores: list[float | None] = [None] * count
    for found in _VERDICT.finditer(text, said):
        number = int(found[1])
        if 1 <= number <= count and scores[number - 1] is None:
            scores[number - 1] = _share_of_yes(_token_at(tokens, found.start("said")))
    return scores


def _tokens(reply: AIMessage) -> list[dict[str, Any]]:
    given = reply.response_metadata.get("logprobs")
    tokens = given.get("content") if isinstance(given, dict) else None
    return [token for token in tokens if isinstance(token, dict)] if isinstance(tokens, list) else []


def _token_at(tokens: list[dict[str, Any]], offset: int) -> dict[str, Any]:
    end = 0
    for token in tokens:
        end += len(str(token.get("token", "")))
        if end > offset:
            return token
    return {}


def _share_of_yes(token: dict[str, Any]) -> float | None:
    """P(yes) / (P(yes) + P(no)) over a token and what might have stood in its place."""
    likely: dict[str, float] = {}
    for option in (token, *(token.get("top_logprobs") or ())):
        logprob = option.get("logprob") if isinstance(option, dict) else None
        if isinstance(logprob, int | float) and not math.isnan(logprob):
            likely[str(option.get("token", ""))] = math.exp(min(0.0, logprob))
    yes, no = (sum(likely[token] for token in likely if _says(token, word)) for word in ("yes", "no"))
    return yes / (yes + no) if yes + no > 0 else None


def _says(token: str, word: str) -> bool:
    """Whether `token` is `word` or its beginning, whatever stands around it."""
    bare = re.sub(r"[\W\d_]", "", token).casefold()
    return bool(bare) and word.startswith(bare)


_GRADED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "passage": {"type": "integer"},
        "grade": {"type": "integer", "minimum": 0, "maximum": HIGHEST_GRADE},
    },
    "required": ["passage", "grade"],
    "additionalProperties": False,
}


def _is_graded(one: Any) -> bool:
    return isinstance(one, dict) and set(one) >= {"passage", "grade"}


# Of more passages mid-size models lose count.
BATCH = 10
# Of the calls that a turn has left, one reranker of several takes no more than this share for its batches.
_SHARE = 3


def batch_size(count: int, calls_left: int | None, share: int = _SHARE) -> int:
    """How many of `count` candidates one call judges: at most `BATCH`, but for a turn with few calls left, of which one
    in `share` is taken."""
    batches = math.ceil(count / BATCH)
    if calls_left is not None:
        batches = min(batches, max(1, calls_left // share))
    return math.ceil(count / batches)


Method = Literal["auto", "probabilities", "grades"]
# As many as OpenAI's and compatible servers give; "yes" and "no" in their spellings are among them.
_TOP_TOKENS = 5


@dataclass
class Judge:
    """Asks a model, about ten candidates in each call, which of them answer the query.

    Where the provider returns token probabilities, the score is P(yes) / (P(yes) + P(no)) of the model's verdict.
    Elsewhere it is a grade from 0 to 4, divided by 4, whose middle the instructions call "as likely as not". A
    candidate that the reply leaves out gets 0.5: nothing is known about it.

    Args:
        model: the model.
        prompt: says what is judged, for example whether a product is what the user looks for.
        method: `auto` asks for probabilities where the model has a switch for them and goes over to grades when none
            come.
        passage_chars: characters of each candidate that the model reads.
        share: of the calls that a turn has left, the batches take at most one in so many.
    """

    model: ChainModel
    prompt: str = "judge"
    method: Method = "auto"
    passage_chars: int = 2_000
    share: int = _SHARE
    _without_probabilities: bool = field(default=False, repr=False, compare=False)

    async def __call__(self, query: str, candidates: Sequence[SourceResult]) -> list[float]:
        """A score from 0 to 1 for each of `candidates`; the model is not called when there are none.

        Raises:
            ModelError: the model failed, refused, or wrote nothing that is a judgement.
        """
        return [EVEN_ODDS if score is None else score for score in await self.judged(query, candidates)]

    async def judged(self, query: str, candidates: Sequence[SourceResult]) -> list[float | None]:
        """As a call, with None for a candidate that the reply leaves out."""
        if not candidates:
            return []
        size = batch_size(len(candidates), chain_calls_left(), self.share)
        starts = range(0, len(candidates), size)
        batches = await asyncio.gather(*(self._judged(query, candidates[at : at + size]) for at in starts))
        scores = [score for batch in batches for score in batch]
        if not any(score is not None for score in scores):
            raise ModelError("the judge's reply holds no judgement")
        return scores

    async def _judged(self, query: str, candidates: Sequence[SourceResult]) -> list[float | None]:
        scores = await self._by_probabilities(query, candidates) if self._asks_for_probabilities else None
        if scores is None:
            reply = await self._ask(query, candidates, graded=True, schema=list_schema("grades", _GRADED))
            pairs = [(str(one["passage"]), one["grade"]) for one in listed_in(reply, "grades") or () if _is_graded(one)]
            told = json.dumps(dict(pairs)) if pairs else without_thoughts(text_of(reply))
            scores = graded_scores(told, len(candidates))
        return scores

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
            # Some models of a provider that has the switch refuse it, and its newer wires do not know it.
            cause = error.__cause__ or error
            refused = isinstance(cause, TypeError) or status_code(cause) in (400, 422)
            if self.method != "auto" or not refused:
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
    return "logprobs" in type(model).model_fields and not getattr(model, "use_responses_api", None)

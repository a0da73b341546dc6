"""Reading a judge's reply: a verdict or a grade for each numbered candidate."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessage

EVEN_ODDS = 0.5
HIGHEST_GRADE = 4

# A number, something that is no word, and the judgement, at the beginning of a line: "1: 3", "[2] - yes", "**3.** 0".
# What stands between is read once, to its end; a minus at that end is the grade's.
_NUMBER = r"^[^\w\n]*+(?:passage\s*+)?(\d{1,4})[^\w\n:=.)\]|–—>-]*+[:=.)\]|–—>-](?P<between>[^\w\n]*+)"
# What another judgement follows is no grade: "1-3: 0" is one grade for three.
_GRADE = re.compile(_NUMBER + r"(?P<said>\d++(?:[.,]\d++)?)(?!\s*+[:=]\s*+-?\d)", re.IGNORECASE | re.MULTILINE)
_VERDICT = re.compile(_NUMBER + r"(?P<said>yes|no)\b", re.IGNORECASE | re.MULTILINE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)


def graded_scores(text: str, count: int) -> list[float | None]:
    """The grades in `text` as scores from 0 to 1; None for a candidate that has no grade from 0 to 4.

    Lines such as `1: 3` are read, and a JSON list or mapping of grades. Of several grades the first counts.
    """
    scores: list[float | None] = [None] * count
    for number, grade in _grades(text):
        if 1 <= number <= count and scores[number - 1] is None and 0 <= grade <= HIGHEST_GRADE:
            scores[number - 1] = grade / HIGHEST_GRADE
    return scores


def _grades(text: str) -> Iterator[tuple[int, float]]:
    for found in _GRADE.finditer(text):
        grade = float(found["said"].replace(",", "."))
        yield int(found[1]), -grade if found["between"].endswith("-") else grade
    start, end = re.search(r"[\[{]", text), max(text.rfind("]"), text.rfind("}"))
    if start is None or end < start.start():
        return
    try:
        given = json.loads(text[start.start() : end + 1])
    except (ValueError, RecursionError):
        return
    pairs = given.items() if isinstance(given, dict) else enumerate(given, 1) if isinstance(given, list) else ()
    yield from (
        (int(number), float(grade))
        for number, grade in pairs
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
    yes = sum(share for word, share in likely.items() if _says(word, "yes"))
    no = sum(share for word, share in likely.items() if _says(word, "no"))
    return yes / (yes + no) if yes + no > 0 else None


def _says(token: str, word: str) -> bool:
    """Whether `token` is `word` or its beginning, whatever stands around it."""
    bare = re.sub(r"[\W\d_]", "", token).casefold()
    return bool(bare) and word.startswith(bare)

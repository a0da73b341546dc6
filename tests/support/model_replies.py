"""A generator of what models make of the request for one JSON object."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from garbage_replies import fenced, plain
from incident_sources import FIELDS, QUERY

from groundgraph.testing import Reply

_NAMES = ["incidents", "manuals", "nowhere", *FIELDS, "colour", "$where", "", "filters", "topic_index"]
_OPERATORS = ["gte", "gt", "lte", "lt", "contains", "not", "$ne", "after", "between", "regex"]
_SCALARS = [
    *(
        "critical",
        "minor",
        "blocker",
        "March",
        "2026-03-31",
        "yesterday",
        "'; DROP TABLE incidents",
        "\ud800",
        "\x00",
        "",
    ),
    *(0, 5, -1, 10**40, 0.5, float("nan"), float("inf"), True, False, None, "x" * 3000, "Ж" * 40, "{{ 7*7 }}"),
]
_PROSE = [
    "Sure, here you are:", "Конечно!", "I think the answer is {this}.", "```", "<think>", "</think>", "42", "null",
]  # fmt: skip


def model_reply(random: Random) -> Reply:
    """One reply: whole or broken, plain or wrapped, right or absurd."""
    if random.random() < 0.04:
        return Reply(status=random.choice([400, 429, 500]), headers={"Retry-After": "0"})
    text = random.choice([_valid, _valid, _absurd, _noise])(random)
    text = random.choice([plain, plain, fenced, _chatty, _thinking])(random, text)
    if random.random() < 0.2:
        text = text[: random.randrange(len(text) + 1)]
    if random.random() < 0.1:
        text = text.replace("}", ",}").replace("]", ",]")
    finish = random.choice(["stop", "stop", "length", "content_filter"])
    return Reply(text, finish_reason=finish)


def _valid(random: Random) -> str:
    made: dict[str, Any] = {"text_queries": [QUERY, "outage"][: random.randint(1, 2)]}
    if random.random() < 0.5:
        made["scope"] = random.choice(["focused", "broad", "exact"])
    if random.random() < 0.5:
        made["output_style"] = random.choice(["conversational", "structured", "hybrid"])
    if random.random() < 0.7:
        made["filters"] = {"incidents": {random.choice(list(FIELDS)): _value(random, 2) for _ in range(3)}}
    return json.dumps(made, ensure_ascii=random.random() < 0.5)


def _absurd(random: Random) -> str:
    """Wrong types, other keys, deep nesting."""
    made = {random.choice(_NAMES): _value(random, 5) for _ in range(random.randint(0, 4))}
    for key in ("text_queries", "scope", "output_style", "filters"):
        if random.random() < 0.6:
            made[key] = _value(random, random.choice([1, 3, 8]))
    if random.random() < 0.3:
        made["text_queries"] = [QUERY]
    if random.random() < 0.1:
        return '{"text_queries": ["q q"], "x": ' + random.choice(["[", '{"a":']) * random.choice([50, 5000])
    return json.dumps(made)


def _noise(random: Random) -> str:
    return "".join(random.choice('{}[]",: abcж\\\n\ud800') for _ in range(random.randint(0, 200)))


def _value(random: Random, depth: int) -> Any:
    kind = random.random()
    if depth == 0 or kind < 0.5:
        return random.choice(_SCALARS)
    if kind < 0.7:
        return [_value(random, depth - 1) for _ in range(random.randint(0, 3))]
    names = [*_OPERATORS, *_NAMES]
    return {random.choice(names): _value(random, depth - 1) for _ in range(random.randint(0, 3))}


def _chatty(random: Random, text: str) -> str:
    return f"{random.choice(_PROSE)}\n{text}\n{random.choice(_PROSE)}"


def _thinking(random: Random, text: str) -> str:
    return f"{random.choice(['<think>', '<reasoning>', ''])}hm {{}} {_noise(random)}</think>{text}"

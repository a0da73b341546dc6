"""What models make of the request for a few lines of text: right, wrapped, broken, absurd."""

from __future__ import annotations

import json
from random import Random

from groundgraph.testing import Reply

# Replies and failures none of which can be used, as a `ScriptedChatModel` takes them.
FAILURES = {
    "error": RuntimeError("no such model"),
    "connection lost": ConnectionError("reset by peer"),
    "status 500": Reply(status=500),
    "status 401": Reply(status=401),
    "empty": Reply(""),
    "white space": Reply(" \n\t"),
    "thoughts only": Reply("<think>I wonder</think>"),
    "endless thoughts": Reply("<think>I wonder and never stop"),
    "refusal of the provider": Reply(refusal="I can't help with that."),
    "refusal in English": Reply("I'm sorry, but I can't help with that."),
    "refusal in Russian": Reply("Извините, но я не могу помочь с этим."),
    "cut off": Reply("cut off in the mid", finish_reason="length"),
    "content filter": Reply("nothing to see", finish_reason="content_filter"),
    "JSON cut off": Reply('{"questions": ['),
    "invalid JSON": Reply("{'a': }"),
    "empty object": Reply("{}"),
    "empty lists": Reply("[[[]]]"),
    "null": Reply("null"),
    "deep nesting": Reply("[" * 5_000),
    "no characters of a text": Reply("\x00\ud800\ufffd"),
    "nonsense": Reply("Zxqv wvut brrr."),
    "a picture": Reply(blocks=[{"type": "image", "url": "data:"}]),
}

_PIECES = [
    "{", "}", "[", "]", '"', "'", ",", ":", "```", "\n", "<think>", "</think>", "- ", "1. ", "\x00", "\ud800",
    "слово",
]  # fmt: skip


def garbage(random: Random, right: str) -> str:
    """The text of one reply: `right` whole or broken, plain or wrapped, or noise."""
    text = random.choice([_right, _json, _noise, _deep])(random, right)
    text = random.choice([plain, fenced, _chatty, _thinking])(random, text)
    return text[: random.randrange(len(text) + 1)] if random.random() < 0.3 else text


def _right(random: Random, right: str) -> str:
    return right


def _json(random: Random, right: str) -> str:
    value = random.choice([[right], {"question": right}, {"items": [{"text": right}]}, [None, 1, right], {"x": {}}])
    text = json.dumps(value, ensure_ascii=random.random() < 0.5)
    return text.replace("]", ",]") if random.random() < 0.3 else text


def _noise(random: Random, right: str) -> str:
    pieces = [*_PIECES, *right.split()]
    return "".join(random.choice(pieces) for _ in range(random.randint(0, 80)))


def _deep(random: Random, right: str) -> str:
    return random.choice(["[", '{"a":', "'", '"', "-", " ", "question "]) * random.choice([3, 500, 20_000]) + right


def plain(random: Random, text: str) -> str:
    """The text as it is."""
    return text


def fenced(random: Random, text: str) -> str:
    """The text as code."""
    return f"{random.choice(['```json', '```', '~~~'])}\n{text}\n{random.choice(['```', ''])}"


def _chatty(random: Random, text: str) -> str:
    return f"{random.choice(['Sure:', 'Конечно!', '{x}', '[1]'])}\n{text}\n{random.choice(['', 'Done.', '}'])}"


def _thinking(random: Random, text: str) -> str:
    return f"{random.choice(['<think>', '<reasoning>', ''])}hm {{}} [</think>{text}"

"""Texts that a pattern may be slow with: what its repetitions take, over and over, and then something else."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

# What stands in everybody's texts: `re` says in what a pattern differs from it.
GENERIC = "a1 \n\t-*+#=_.!?…,[]()<>{}\"'`|\\/:&;@~^%$AйЯ漢é。•«»“\u00a0\u200b\u0301"
# And pieces of such texts, set apart by a character that stands in none.
_PIECES = [
    "word ", "Word ", "ab. ", "[1]", "[1] ", '"a" ', "“", "| a | b |\n", "- a\n", "# a\n", "a\n\n", "1. a\n", "$5 ",
    "1,000", "1.5 ", "[a](b)", "![a](b)", "[a]: b\n", "<a>", "<a ", "http://a.b/ ", "```\n", "`a", "a-", "a.b",
    "a/b", "12:", "& ", "&amp;", "> ", "漢字。", "й ", "е́", "(a", "{a: ", '{"a":', '\\"', "** ", "__a", "the ",
    "not ", "a's ", "Mr. ", "1-1-", "\r\n", "a: b\n", "a=1;", "\u0301\u0316", "한글",
]  # fmt: skip
_REPEATS = frozenset(["MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"])
_MOST_LETTERS = 16


@dataclass(frozen=True)
class Attack:
    """A text of any length: `prefix`, `pump` as often as it goes, `suffix`."""

    prefix: str
    pump: str
    suffix: str

    def text(self, size: int) -> str:
        """About `size` characters of it; the prefix and the suffix are always whole."""
        return self.prefix + self.pump * max(1, size // len(self.pump)) + self.suffix


def attacks_on(pattern: re.Pattern[str]) -> list[Attack]:
    """What `pattern` is pumped with: its alphabet, all pairs of that, its own repetitions, whole matches."""
    tree = re._parser.parse(pattern.pattern, pattern.flags)
    letters = list(dict.fromkeys(_letters(tree)))[:_MOST_LETTERS]
    pairs = ("".join(pair) for pair in itertools.permutations(letters, 2))
    wholes = [sample for turn in range(4) if (sample := _sample(tree, turn))]
    found = [
        *(Attack(prefix, pump, suffix) for prefix, pump in _repeats(tree, "") for suffix in ("", "\x01", "a")),
        *(Attack("", whole, "\x01") for whole in wholes),
        *(Attack(before, letter, "\x01") for letter in letters for before in ("", *wholes[:2])),
        *(Attack("", letter, "\x01") for letter in GENERIC),
        *(Attack("", pair, "\x01") for pair in pairs),
    ]
    return [attack for attack in dict.fromkeys(found) if attack.pump]


def plain_attacks() -> list[Attack]:
    """What everything that reads a text is pumped with: runs, lines and what people mark texts with."""
    framed = (("", ""), ("Every part:\n- A1 ", "5\x01"))
    return [
        *(Attack(prefix, letter, suffix) for letter in GENERIC for prefix, suffix in framed),
        *(Attack("", piece, "\x01") for piece in _PIECES),
    ]


def _parts(node: tuple[Any, Any]) -> Iterator[Sequence[tuple[Any, Any]]]:
    """The sequences of nodes that stand within `node`."""
    op, value = str(node[0]), node[1]
    if op in _REPEATS:
        yield value[2]
    elif op == "SUBPATTERN":
        yield value[3]
    elif op == "BRANCH":
        yield from value[1]
    elif op == "ATOMIC_GROUP":
        yield value
    elif op in ("ASSERT", "ASSERT_NOT"):
        yield value[1]
    elif op == "GROUPREF_EXISTS":
        yield from (part for part in value[1:] if part)


def _letters(tree: Sequence[tuple[Any, Any]]) -> Iterator[str]:
    for node in tree:
        if str(node[0]) in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            yield from _members(node)[:4]
        for part in _parts(node):
            yield from _letters(part)


def _members(node: tuple[Any, Any]) -> list[str]:
    """Some characters that a node of one character takes."""
    op, value = str(node[0]), node[1]
    if op == "LITERAL":
        return [chr(value)]
    if op == "ANY":
        return ["a", " ", "."]
    items = [("NEGATE", None), ("LITERAL", value)] if op == "NOT_LITERAL" else [(str(one[0]), one[1]) for one in value]
    named = [chr(one) for kind, one in items if kind == "LITERAL"]
    named += [chr(one[0]) for kind, one in items if kind == "RANGE"]
    negated = any(kind == "NEGATE" for kind, _ in items)
    return [one for one in dict.fromkeys([*named, *GENERIC]) if _is_in(one, items) is not negated]


def _is_in(character: str, items: Sequence[tuple[str, Any]]) -> bool:
    tests = {"DIGIT": str.isdecimal, "SPACE": str.isspace, "WORD": lambda one: one.isalnum() or one == "_"}
    for kind, value in items:
        if kind == "LITERAL" and ord(character) == value:
            return True
        if kind == "RANGE" and value[0] <= ord(character) <= value[1]:
            return True
        if kind == "CATEGORY":
            name = str(value).removeprefix("CATEGORY_")
            if tests[name.removeprefix("NOT_")](character) is not name.startswith("NOT_"):
                return True
    return False


def _sample(tree: Sequence[tuple[Any, Any]], turn: int) -> str:
    """A text that `tree` takes, another one for each `turn`; assertions are not looked at."""
    made: list[str] = []
    for node in tree:
        op, value = str(node[0]), node[1]
        if op in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            members = _members(node)
            made.append(members[turn % len(members)] if members else "")
        elif op in _REPEATS:
            made.append(_sample(value[2], turn) * max(value[0], min(int(value[1]), 1)))
        elif op == "BRANCH":
            made.append(_sample(value[1][turn % len(value[1])], turn // len(value[1])))
        elif op not in ("ASSERT", "ASSERT_NOT"):
            made += [_sample(part, turn) for part in itertools.islice(_parts(node), 1)]
    return "".join(made)


def _repeats(tree: Sequence[tuple[Any, Any]], before: str) -> Iterator[tuple[str, str]]:
    """What stands before each repetition, and what it repeats."""
    for place, node in enumerate(tree):
        lead = before + _sample(tree[:place], 0)
        if str(node[0]) in _REPEATS and int(node[1][1]) > 3:
            for turn in range(4):
                yield lead, _sample(node[1][2], turn)
                yield "", _sample([*tree[:place], node], turn)
        for part in _parts(node):
            yield from _repeats(part, lead)

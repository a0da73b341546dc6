"""The only place where a label is taken out of an answer.

A label is a number in brackets that refers to a piece of evidence: `[1]`, `[1, 3]`, `[1-3]`, or with full-width
brackets. Models also write `[Source 1, Source 2]`, `[^1]`, `[1, p. 3]`, `【1†L3】` and `(Source 1)`, which leave the
gate as `[1]`, and so does `(1)` at the end of a sentence where a model has written no label in brackets. No evidence
has the number 0: `[0]` that stands by itself is a label without evidence, while `arr[0]` and `[0, 1]` are text. The
gate lets labels through that resolve, numbered by first use, and drops those that do not.
A bracket behind a backslash is no label, which is how evidence that holds numbers in brackets of its own is shown
(`escape_labels`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import ClassVar

from groundgraph.core.evidence import SourceResult
from groundgraph.text.words import LANGUAGES, language_data

# What every gate over a stream of text has in common: it holds back what is not decided, and leaves code alone.

# How much of what may become something is held back until it is decided; the same holds for code within a line.
MAX_HELD = 256
# A long text is taken in pieces of this size, so that the time it takes grows with its length and no faster.
_PIECE = 2048
INLINE_CODE = re.compile(rf"``(?:[^`\n]|`(?!`)){{0,{MAX_HELD}}}``|`[^`\n]{{0,{MAX_HELD}}}`")
CODE = re.compile(rf"(?<!\\)(?:```.*?(?:```|$)|{INLINE_CODE.pattern})", re.DOTALL)
# Keeps apart what would join to something else when a part between is taken out: a word joiner, without width.
APART = "\u2060"


@dataclass
class Gate(ABC):
    """Reads a text in pieces of any size and gives what may pass.

    Whatever the pieces, the text that leaves is the same: a decision waits until no further input could change it.
    """

    _held: str = field(default="", init=False)
    _leaving: list[str] = field(default_factory=list, init=False)

    def feed(self, text: str, *, final: bool = False) -> str:
        """What can be let through after `text` arrived; the rest waits for the next piece, unless this is the `final`
        one."""
        for start in range(0, len(text), _PIECE):
            self._held += text[start : start + _PIECE]
            self._pass(final=False)
        if final:
            self._pass(final=True)
            self._held = ""
        passed = "".join(self._leaving)
        self._leaving.clear()
        return passed

    @abstractmethod
    def _pass(self, *, final: bool) -> None:
        """Let leave what is decided of the held text, all of it when it is `final`; what is not stays held."""

    def _let(self, piece: str) -> None:
        """Let `piece` leave."""
        self._leaving.append(piece)


@dataclass
class ProseGate(Gate):
    """A gate for which text between backticks is code and stays as it is; so does a character behind a backslash."""

    special: ClassVar[re.Pattern[str]]
    """Where ordinary text may end; must find backticks and backslashes too."""

    _in_code: str = field(default="", init=False)
    # The end of what has left.
    _tail: str = field(default="", init=False)

    @abstractmethod
    def _decide(self, special: str, *, final: bool) -> bool:
        """Decide on the beginning of the held text, which is white space and then `special`; False until more input is
        there."""

    def _let(self, piece: str) -> None:
        super()._let(piece)
        self._tail = (self._tail + piece)[-MAX_HELD:]

    def _pass(self, *, final: bool) -> None:
        while self._held and self._step(final=final):
            pass

    def _step(self, *, final: bool) -> bool:
        """Decide on the next piece; False until more input is there."""
        return self._code(final=final) if self._in_code else self._prose(final=final)

    def _code(self, *, final: bool) -> bool:
        at = self._held.find(self._in_code)
        if at >= 0:
            self._take(at + len(self._in_code))
            self._in_code = ""
            return True
        self._take(len(self._held) if final else max(0, len(self._held) - len(self._in_code) + 1))
        return False

    def _prose(self, *, final: bool) -> bool:
        found = self.special.search(self._held)
        at = found.start() if found else len(self._held)
        # White space waits too: it goes with a label that goes.
        end = max(len(self._held[:at].rstrip(" \t")), at - MAX_HELD) if found or not final else at
        if end:
            return self._take(end)
        special = self._held.lstrip(" \t")
        if not special:
            return final and self._take(len(self._held))
        if special[0] == "`":
            return self._backtick(special, final=final)
        if special[0] == "\\":
            return self._backslash(special, final=final)
        return self._decide(special, final=final)

    def _take(self, length: int) -> bool:
        """Let the next `length` characters leave; True, as what decides gives it."""
        self._let(self._held[:length])
        self._held = self._held[length:]
        return True

    def _take_with_space(self, special: str, length: int) -> bool:
        """Let leave the white space before `special` and its first `length` characters."""
        return self._take(len(self._held) - len(special) + length)

    def _backslash(self, special: str, *, final: bool) -> bool:
        run = len(special) - len(special.lstrip("\\"))
        if run < len(special) or final:
            return self._take_with_space(special, run + 1)
        # The last one may stand before what it escapes.
        if run > 1:
            self._take(len(self._held) - 1)
        return False

    def _backtick(self, special: str, *, final: bool) -> bool:
        length = len(special[:3]) - len(special[:3].lstrip("`"))
        if not final and length == len(special) < 3:
            return False
        self._in_code = "```" if length == 3 else ""
        if length < 3:
            found = INLINE_CODE.match(special)
            end = found.end() if found else length
            # Two that nothing closes are code without anything in it.
            if end == length and not final and "\n" not in special and len(special) <= MAX_HELD + 2 * length:
                return False
            length = end
        return self._take_with_space(special, length)


_OPENERS = "[［【"
# No longer than MAX_HELD, which is how much of one is held back until it closes.
_NUMBERS = r"(?!0+\D)\d{1,3}(?:\s{0,2}[-‐‑‒–—−,;，、]\s{0,2}\d{1,3}){0,30}"
LABEL = re.compile(rf"(?<!\\)[\[［【]\s{{0,2}}({_NUMBERS})\s{{0,2}}[\]］】]")
# By itself, it was meant to be one; right behind a word it counts what a program holds.
_ZERO = re.compile(r"[\[［【]\s{0,2}(0{1,3})\s{0,2}[\]］】]")
LABEL_OR_CODE = re.compile(f"{CODE.pattern}|{LABEL.pattern}", re.DOTALL)
# Languages that pages draw instead of showing them.
DRAWN = re.compile(r"mermaid|svg|x?html?|xml|mathml|(?:la)?tex|math|katex|dot|graphviz|plantuml|vega", re.IGNORECASE)
_DRAWN_FENCE = re.compile(rf"\A(`{{3,}})[ \t]*[{{.=]*(?:{DRAWN.pattern})\b[^`\n]*(?=\n)", re.IGNORECASE)
_DRAWN_BY_TILDES = rf"(?m:^)(?P<tildes>[ \t>]{{0,60}}~{{3,}})[ \t]*[{{.=]*(?:{DRAWN.pattern})\b[^\n]*"
# What is drawn asks for these, or runs them.
_LEADS = re.compile(r"//|<|(?:script|data):", re.IGNORECASE)
# What is code in the evidence need not be any in the answer, where a backtick of a title may come before it. `vec![1]`
# of a program is no image.
_IMAGE_IN_CODE = re.compile(r"(?<!\w)!(?=\[)|!(?=\[[^\n]{0,300}\][(\[])")
# Possessive: thirty digits behind a bracket can be cut into numbers in too many ways to try them all.
_LABEL_PREFIX = re.compile(r"[ \t]*(?:[\[［【](?:\s*+\d{1,3}+\s*+[-‐‑‒–—−,;，、]?+){0,32}+\s*)?$")
# What would join to a label or to code when something behind it is taken out.
OPEN_END = re.compile(r"(?:[\[［【][\s\d,;，、‐‑‒–—−-]*|`)\Z")

# A bracket this long at most is held back until it closes.
_MAX_WRITTEN = 80
_UNCLOSED = re.compile(rf"[ \t]*[\[［【][^\[\]［］【】\n]{{0,{_MAX_WRITTEN}}}\Z")

# A number in parentheses at the end of a sentence: prose has one there hardly ever (none in the public sets).
_ROUND = re.compile(r"\((?!0)(\d{1,2})\)(?=[.!?…](?:\s|\Z))")
# Anywhere behind a word, once it is how the answer cites.
_ROUND_WITHIN = re.compile(r"\((?!0)(\d{1,2})\)(?!\w)")
_ROUND_PREFIX = re.compile(r"\((?:\d{0,2}|\d{1,2}\)[.!?…]?)")
# What may become a named one, such as `(Source 2)`, which is no longer.
_NAMED_PREFIX = re.compile(r"\((?:[^\W\d_]{1,20}[\s:#№.]{0,3}[\d,&\s-]{0,16})?")


def spoken(kind: str) -> str:
    """What matches one of the words of a `kind` that stand in labels."""
    return "|".join(re.escape(word) for one in LANGUAGES for word in language_data(one, "label_words", kind))


@cache
def _named_round() -> re.Pattern[str]:
    """A label in parentheses, with a name of evidence before its numbers."""
    numbers = r"\d{1,3}(?:\s?[-,&]\s?\d{1,3}){0,2}"
    return re.compile(rf"\((?:{spoken('names')})[\s:#№.]{{0,3}}({numbers})\)", re.IGNORECASE)


@cache
def _written() -> re.Pattern[str]:
    """A label as models write it: a name of evidence or `^` before the numbers, a page or a dagger behind them."""
    names, ands = spoken("names"), spoken("ands")
    place = rf"[,:;]?\s{{0,2}}(?:{spoken('pages')})[.]?\s{{0,2}}\d{{1,5}}(?:[-–]\d{{1,5}})?|†[^\[\]［］【】\n]{{0,40}}"
    named = rf"(?:[\^#№]|(?:{names})[\s:#№.]{{0,3}})?"
    others = (
        rf"(?:\s{{0,2}}[,;]\s{{0,2}}{named}\d{{1,3}}){{0,9}}(?:[,;]?\s{{1,2}}(?:&|{ands})\s{{1,2}}{named}\d{{1,3}})?"
    )
    # What is not held back until it closes is read as text in one piece too.
    held = rf"[\[［【](?=[^\[\]［］【】\n]{{1,{_MAX_WRITTEN}}}[\]］】])"
    return re.compile(
        rf"{held}\s{{0,2}}{named}({_NUMBERS}{others})[.^]?\s{{0,2}}(?:{place})?\s{{0,2}}[\]］】]", re.IGNORECASE
    )


# An address that is a program or a page itself, or may become one when its signs are read.
_RUNS = (
    r"[\w\t]{0,12}(?:(?<=javascript)|(?<=vbscript)|(?<=data)|(?<=blob)|(?<=file)|&(?:#\w{1,8}|\w{2,9});[^\s()]{0,20}):"
)


@cache
def _doing_something() -> re.Pattern[str]:
    """What in evidence would be read as a label of the answer, load an image, or run what its address holds."""
    return re.compile(
        rf"(?P<code>{CODE.pattern})|{_DRAWN_BY_TILDES}|(?<!\\)(?:{_written().pattern}|"
        rf"(?<!\w){_ZERO.pattern})|(?P<image>!(?=\[))|"
        r"(?<!\\)<(?=(?:img|image|iframe|video|audio|svg|script|object|embed|style|link|meta|base|form|a)\b)|"
        rf"(?<!\\)\](?=\(\s{{0,9}}<?{_RUNS})|(?<!\\)<(?={_RUNS})|(?P<defined>\]):(?=\s{{0,9}}<?{_RUNS})",
        re.DOTALL | re.IGNORECASE,
    )


def label_numbers(inside: str) -> list[int]:
    """The numbers of one label, ranges spelled out: "1, 3-5" gives 1, 3, 4, 5. A range counts at most 99 numbers."""
    if inside.isdigit():
        return [int(inside)]
    numbers: list[int] = []
    for part in re.split(r"[,;，、&]|(?<=\s)[^\W\d]+(?=\s)", inside):
        if ends := list(map(int, re.findall(r"\d+", part))):
            numbers += range(ends[0], min(ends[-1], ends[0] + 98) + 1) if ends[-1] >= ends[0] else ends
    return list(dict.fromkeys(numbers))


def escape_labels(text: str) -> str:
    """`text`, which stands in an answer as it was found, with a backslash before what would do something there.

    That is everything that would read as a label, load an image or run; Markdown shows the bracket by itself.
    """
    # All text of evidence passes here; one character is found several times faster without a pattern.
    if any(mark in text for mark in ("[", "<", "［", "【", "```", "~~~")):
        return _doing_something().sub(_escaped, text)
    return text


def at_their_places(text: str, order: Sequence[int]) -> str:
    """`text`, whose labels were numbered by first use, with the numbers that they had before; one that refers to
    nothing keeps its own."""

    def placed(found: re.Match[str]) -> str:
        if found.group()[0] == "`":
            return found.group()
        numbers = label_numbers(found.group(1))
        return f"[{', '.join(str(order[n - 1] if n <= len(order) else n) for n in numbers)}]"

    return LABEL_OR_CODE.sub(placed, text)


def _escaped(found: re.Match[str]) -> str:
    if found["tildes"]:
        return found["tildes"]
    if code := found["code"]:
        # Without its language it is shown everywhere and drawn nowhere.
        shown = _DRAWN_FENCE.sub(r"\1", code) if _LEADS.search(code) else code
        return _IMAGE_IN_CODE.sub(r"!\\", shown)
    if found["defined"]:
        return "]\\:"
    return "!\\" if found["image"] else "\\" + found.group()


# A passage that a sentence names by the number which the model was shown, as in "according to passage 3". Its reader
# knows the passages by other numbers.

_ONE, _SEVERAL, _ANDS = map(spoken, ("passage", "passages", "ands"))
_NUMBER_ENDS = r"(?![\w%]|[.,]\d)"
_NUMBERED = re.compile(
    rf"(?:{_ONE})[ \t]\d{{1,3}}{_NUMBER_ENDS}|(?:{_SEVERAL})[ \t]\d{{1,3}}(?:,[ \t]?\d{{1,3}}){{0,9}}"
    rf"(?:,?[ \t](?:&|{_ANDS})[ \t]\d{{1,3}})?{_NUMBER_ENDS}",
    re.IGNORECASE,
)
_BEGINNINGS = "|".join(
    sorted({word[:end] for word in f"{_ONE}|{_SEVERAL}".split("|") for end in range(1, len(word) + 1)}, reverse=True)
)
# So much of what may become one waits.
_NUMBERED_BEGUN = re.compile(
    rf"(?:{_BEGINNINGS})(?:[ \t](?:\d[\d, \t]{{0,40}}(?:[&\w]{{1,3}}[ \t]?\d{{0,3}})?[.,]?)?)?", re.IGNORECASE
)
_WITHIN_BRACKET = re.compile(r"[\[［【][^\]］】\n]{0,80}\Z")


@dataclass
class LabelGate(ProseGate):
    """Passes text through and removes labels that are not in `allowed`.

    Attributes:
        allowed: the numbers that resolve in this turn.
        renumber: whether labels are numbered by first use: the first that passes becomes [1] whatever its number was,
            the next other one [2], and so on.
        removed: the numbers that were taken out, in the order of the text.
        used: the numbers that were let through, in the order of first use; what is renumbered to n was `used[n - 1]`.
            A gate that is given the list of another goes on with its numbering.
        parentheses: whether `(1)` and `(Source 1)` may be labels.
        passages: the evidence whose passages a sentence may name by their numbers, as in "passage 3". Where it names
            passages by numbers of its own, none is meant.
    """

    special: ClassVar[re.Pattern[str]] = re.compile(
        rf"[(`\\\[［【]|(?<![^\W_])(?:(?:{_ONE}|{_SEVERAL})(?![^\W\d_])|(?:{_BEGINNINGS})\Z)", re.IGNORECASE
    )

    allowed: Collection[int]
    renumber: bool = False
    removed: list[int] = field(default_factory=list)
    used: list[int] = field(default_factory=list)
    parentheses: bool = False
    passages: Sequence[SourceResult] = ()
    # Whether the labels so far stood in parentheses, and whether a number there was text, as it then stays.
    _round: bool = field(default=False, init=False)
    _round_text: bool = field(default=False, init=False)
    # The white space of a label that was taken out, for one that stands right behind it.
    _left: str = field(default="", init=False)

    def _let(self, piece: str) -> None:
        if piece:
            self._left = ""
        super()._let(piece)

    def _decide(self, special: str, *, final: bool) -> bool:
        if special[0] == "(":
            return self._parenthesis(special, final=final)
        return self._bracket(final=final) if special[0] in _OPENERS else self._passage(special, final=final)

    def _parenthesis(self, special: str, *, final: bool) -> bool:
        bare = self.parentheses and (self._round or not (self.used or self._round_text))
        may_become = (_NAMED_PREFIX,) * self.parentheses + (_ROUND_PREFIX,) * bare
        if not final and any(prefix.fullmatch(special) for prefix in may_become):
            return False
        found = self._named(special) or (self._numbered(special) if bare else None)
        if found is None:
            return self._take_with_space(special, 1)
        return self._replace(special, found, self._resolved(found.group(1)))

    def _named(self, special: str) -> re.Match[str] | None:
        found = _named_round().match(special) if self.parentheses else None
        return found if found and set(label_numbers(found.group(1))) <= set(self.allowed) else None

    def _numbered(self, special: str) -> re.Match[str] | None:
        found = _ROUND_WITHIN.match(special)
        behind_word = special != self._held and self._tail[-1:].isalnum()
        if not (found and behind_word and int(found.group(1)) in self.allowed):
            return None
        self._round = self._round or _ROUND.match(special) is not None
        # One that the reader would take for the first label, were the next one read as that.
        self._round_text = not self._round
        return found if self._round else None

    def _passage(self, special: str, *, final: bool) -> bool:
        opens_word = self.passages and (special != self._held or not self._tail[-1:].isalnum())
        if opens_word and not final and _NUMBERED_BEGUN.fullmatch(special):
            return False
        found = _NUMBERED.match(special) if opens_word else None
        if found is None or not self._is_passage(found):
            return self._take_with_space(special, 1)
        shown = re.sub(r"\d+", lambda number: self._resolved(number.group()), found.group())
        return self._replace(special, found, shown)

    def _is_passage(self, found: re.Match[str]) -> bool:
        """Whether all its numbers are those of passages; what stands in brackets is read as a label as a whole."""
        alone = self._tail[-1:] == "(" and found.string[found.end() :][:1] == ")"
        if alone or _WITHIN_BRACKET.search(self._tail) or self._may_be_another:
            return False
        return set(map(int, re.findall(r"\d+", found.group()))) <= set(self.allowed)

    @cached_property
    def _may_be_another(self) -> bool:
        return any(_NUMBERED.search(result.content) for result in self.passages)

    def _replace(self, special: str, found: re.Match[str], shown: str) -> bool:
        """Let the white space before `special` leave, and `shown` in place of what was `found` at its beginning."""
        self._let(self._held[: len(self._held) - len(special)] + shown)
        self._held = special[found.end() :]
        return True

    def _bracket(self, *, final: bool) -> bool:
        space = len(self._held) - len(self._held.lstrip(" \t"))
        if found := self._label_at(space):
            before = self._held[:space] or self._left
            self._held = self._held[found.end() :]
            self._let_label(found, before)
            return True
        if _LABEL_PREFIX.fullmatch(self._held) and len(self._held) - space < MAX_HELD:
            # One that never ends goes.
            self._held = "" if final else self._held
            return False
        if not final and _UNCLOSED.match(self._held):
            return False
        return self._take(space + 1)

    def _label_at(self, place: int) -> re.Match[str] | None:
        found = LABEL.match(self._held, place) or _written().match(self._held, place)
        behind_word = not place and self._tail[-1:].isalnum()
        return found if found or behind_word else _ZERO.match(self._held, place)

    def _let_label(self, label: re.Match[str], before: str) -> None:
        """Let a label leave with the white space `before` it, which waits for the next one where this one goes."""
        if shown := self._resolved(label.group(1)):
            self._let(before + shown)
        else:
            self._left = before
            self._let(APART if OPEN_END.search(self._tail) else "")

    def _resolved(self, inside: str) -> str:
        numbers = label_numbers(inside)
        good = [number for number in numbers if number in self.allowed]
        self.removed += [number for number in numbers if number not in self.allowed]
        self.used += [number for number in good if number not in self.used]
        if self.renumber:
            good = sorted(self.used.index(number) + 1 for number in good)
        return f"[{', '.join(map(str, good))}]" if good else ""

"""What an answer passes on its way to whoever reads it: one gate after the other, each of which takes one thing out."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from groundgraph.answers.label_gate import APART, LABEL, OPEN_END, Gate, LabelGate, ProseGate, at_their_places
from groundgraph.answers.link_gate import LinkGate, LinkTargets
from groundgraph.core.characters import HiddenGate, without_hidden
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import Draft
from groundgraph.models.replies import TEMPLATE_TAGS, THOUGHT_ENDS, THOUGHT_TAGS

# The one line by which a model says that the evidence answers nothing; it never reaches a reader.

# As the prompt has it; what is missing stands behind it.
ABSTENTION = "NO_ANSWER:"
MISSING_CHARS = 300
# Models write a line as a heading, a quotation, bold or code.
_DECORATED = r"[ \t*_#>`\"'(\[-]{0,80}+"
_QUOTED = r"[*_`\"')\]]{0,4}"
_WORD = ABSTENTION.rstrip(":")
# Also in other letters, and in two words, which only a colon tells from the beginning of a sentence.
_JOINED, _SPACED = _WORD.replace("_", r"\\?_"), _WORD.replace("_", "[ -]")
_LINE = re.compile(
    rf"{_DECORATED}(?:{_JOINED}\b{_QUOTED}[ \t]?[:：]?{_QUOTED}|{_SPACED}{_QUOTED}[ \t]?[:：]{_QUOTED})", re.IGNORECASE
)
_PARTS = [*(r"(?:\\?_|[ -]|\\)" if letter == "_" else letter for letter in _WORD), rf"{_QUOTED}[ \t]?"]
_BEGUN = re.compile(_DECORATED + "".join(f"(?:{part}" for part in _PARTS) + ")?" * len(_PARTS), re.IGNORECASE)
# Behind a sentence of the same line too, as it is asked for; a colon or the end of the line tells it from a word.
_BEHIND = r"(?<=[.!?…)\]*])[ \t]{1,9}[*_`(\[]{0,4}"
_LETTERS = [r"\\?_" if letter == "_" else letter for letter in _WORD]
_ENDS = rf"{_QUOTED}[ \t.]{{0,9}}\Z"
_WITHIN = re.compile(rf"{_BEHIND}{''.join(_LETTERS)}{_QUOTED}[ \t]?[:：]")
_AT_END = re.compile(rf"{_BEHIND}{''.join(_LETTERS)}{_ENDS}")
_MAY_COME = re.compile(_BEHIND + "".join(f"(?:{one}" for one in _LETTERS) + ")?" * len(_LETTERS) + _ENDS)


@dataclass
class AbstentionGate(Gate):
    """Takes lines that say so out of a text, and the end of a line that does.

    Attributes:
        said: what stands behind the line, as the model wrote it; None without such a line.
    """

    said: str | None = field(default=None, init=False)
    _opens_line: bool = field(default=True, init=False)
    _taking: bool = field(default=False, init=False)
    # The last character that has passed of this line.
    _tail: str = field(default="", init=False)

    @property
    def missing(self) -> str | None:
        """What is missing for an answer, fit to be read, perhaps empty; None when the model does not abstain."""
        if self.said is None:
            return None
        text = self.said
        for gate in (ThoughtGate(), LabelGate(allowed=()), LinkGate(LinkTargets())):
            text = gate.feed(text, final=True)
        return " ".join(text.split())[:MISSING_CHARS].strip(" *_`\"'")

    def _pass(self, *, final: bool) -> None:
        while self._held:
            place = None if self._taking else self._place(final=final)
            if place is None:
                self._pass_line()
                continue
            start, end = place
            self._let(self._held[:start])
            self._held = self._held[start if end is None else end :]
            if end is None:
                return
            self._taking, self.said = True, self.said or ""

    def _place(self, *, final: bool) -> tuple[int, int | None] | None:
        """Where the first line that is held says so; without an end where it may yet."""
        found = _LINE.match(self._held) if self._opens_line else None
        # The last letter of the line may be followed by another one.
        ends = found is not None and found.end() == len(self._held)
        if not final and self._opens_line and (ends or _BEGUN.fullmatch(self._held)):
            return 0, None
        return (0, found.end()) if found else self._place_within(final=final)

    def _place_within(self, *, final: bool) -> tuple[int, int | None] | None:
        line, newline, _ = self._held.partition("\n")
        text, before = self._tail + line, len(self._tail)
        whole = bool(newline) or final
        if found := _WITHIN.search(text) or (_AT_END.search(text) if whole else None):
            return found.start() - before, found.end() - before
        may_come = None if whole else _MAY_COME.search(text)
        return (may_come.start() - before, None) if may_come else None

    def _pass_line(self) -> None:
        """Let the first line that is held leave, or take it out, as far as it is there."""
        line, newline, self._held = self._held.partition("\n")
        if self._taking:
            self.said = f"{self.said}{line}"[: 4 * MISSING_CHARS]
        else:
            self._let(line)
        if newline:
            # A line that says nothing else goes with its end.
            self._let("" if self._taking and not self._tail else newline)
            self._opens_line, self._taking, self._tail = True, False, ""

    def _let(self, piece: str) -> None:
        super()._let(piece)
        self._opens_line = self._opens_line and not piece
        self._tail = (self._tail + piece)[-1:]


# A thought, and the marks of chat templates, which servers leave in the text that a model writes.

# What is taken out, or takes out what stands before or behind it; the longest first.
_TAGS = sorted({*THOUGHT_TAGS, *THOUGHT_ENDS, *TEMPLATE_TAGS}, key=len, reverse=True)
_TAG = re.compile("|".join(map(re.escape, _TAGS)), re.IGNORECASE)


@dataclass
class ThoughtGate(ProseGate):
    """Takes out thoughts and the marks of chat templates.

    Attributes:
        restarted: whether all that had left turned out to be a thought, by an end of one that nothing had begun: some
            servers put its beginning into the prompt. What is fed again gives what stands behind it.
    """

    special: ClassVar[re.Pattern[str]] = re.compile(r"[<`\\[◁]")

    restarted: bool = field(default=False, init=False)
    # Whether a thought has begun before, so that a lonely end is text.
    _has_thought: bool = field(default=False, init=False)
    # What ends the one that is taken out; and whether the white space behind one is.
    _ending: str = field(default="", init=False)
    _after_thought: bool = field(default=False, init=False)
    # Whether a line ended in what was taken out.
    _line_ended: bool = field(default=False, init=False)

    def _step(self, *, final: bool) -> bool:
        if self._after_thought:
            return self._skip_space()
        return self._think(final=final) if self._ending else super()._step(final=final)

    def _think(self, *, final: bool) -> bool:
        at = self._held.lower().find(self._ending)
        if at < 0:
            self._drop(len(self._held) if final else max(0, len(self._held) - len(self._ending)))
            return False
        self._drop(at + len(self._ending))
        self._ending, self._after_thought = "", True
        return True

    def _skip_space(self) -> bool:
        self._drop(len(self._held) - len(self._held.lstrip()))
        if not self._held:
            return False
        # Two lines that were joined would share their backticks.
        self._held = "\n" * (self._line_ended and self._tail[-1:] not in ("", "\n")) + self._held
        self._after_thought = self._line_ended = False
        return True

    def _drop(self, length: int) -> None:
        """Take out the next `length` characters, and note whether a line ended there."""
        self._line_ended |= "\n" in self._held[:length]
        self._held = self._held[length:]

    def _decide(self, special: str, *, final: bool) -> bool:
        # What is a tag may be the beginning of a longer one.
        if not final and any(len(one) > len(special) and one.startswith(special.lower()) for one in _TAGS):
            return False
        tag = _TAG.match(special)
        return self._tagged(special, tag.group()) if tag else self._take_with_space(special, 1)

    def _tagged(self, special: str, tag: str) -> bool:
        """Take out the `tag` with which `special` begins, and begin or end a thought with it."""
        name = tag.lower()
        if name in THOUGHT_ENDS and self._has_thought:
            return self._take_with_space(special, len(tag))
        space = self._held[: len(self._held) - len(special)]
        self._held = special[len(tag) :]
        if name in THOUGHT_ENDS:
            self._restart()
            return True
        self._has_thought |= name in THOUGHT_TAGS
        self._ending = THOUGHT_TAGS.get(name, "")
        self._let(space or (APART if OPEN_END.search(self._tail) else ""))
        return True

    def _restart(self) -> None:
        """Take all back that has left."""
        self.restarted = self._has_thought = self._after_thought = True
        self._leaving.clear()
        self._tail = ""


# What is taken out of a text only where all of it is one.


@dataclass
class WholeGate(Gate):
    """Holds a text as long as it may be, as a whole, what this gate looks for; everything else passes as it comes."""

    _decided: bool = field(default=False, init=False)

    @abstractmethod
    def _may_be(self, held: str) -> bool:
        """Whether a text that begins with `held` may be one."""

    @abstractmethod
    def _instead(self, text: str) -> str:
        """What leaves in place of a whole `text`; that itself, where it is none."""

    def _pass(self, *, final: bool) -> None:
        if not self._decided and not final and self._may_be(self._held):
            return
        self._let(self._held if self._decided or not final else self._instead(self._held))
        self._decided, self._held = True, ""


# A tool call that a model wrote as the text of its answer: nobody made it, and it tells a reader nothing.

# How much of what begins like one waits for its end; no call of a tool that searches is as long.
_MAX_CALL_CHARS = 4000
_CALL_TAG, _CALL_END = "<tool_call>", "</tool_call>"
_FENCE_BEFORE = r"```\w{0,12}\s*+"
_CALL_BEGUN = re.compile(
    rf"\s*+(?:`{{0,3}}\Z|(?:{_FENCE_BEFORE})?(?:\{{|\Z|{_CALL_TAG}|(?:"
    + "|".join(_CALL_TAG[:length] for length in range(1, len(_CALL_TAG)))
    + r")\Z)|```\w{0,12}\Z)"
)
# A label in its arguments was taken out before, so that it need not be JSON any more.
_CALL_NAME = re.compile(r'"name"\s*:\s*"[^"\n]{1,200}"')
_CALL_ARGUMENTS = re.compile(r'"(?:arguments|parameters)"\s*:\s*["{]')
_CALL_FENCE = re.compile(_FENCE_BEFORE)


def _is_tool_call(text: str) -> bool:
    """Whether `text` is as a whole an object with a name and arguments, or tagged as a call; in a block of code too."""
    said = text.strip()
    if fence := _CALL_FENCE.match(said):
        said = said[fence.end() :].removesuffix("```").rstrip()
    if said.startswith(_CALL_TAG):
        return said.endswith(_CALL_END)
    return (
        said.startswith("{") and said.endswith("}") and bool(_CALL_NAME.search(said) and _CALL_ARGUMENTS.search(said))
    )


@dataclass
class ToolCallGate(WholeGate):
    """Lets everything pass but a text that is as a whole such a call."""

    def _may_be(self, held: str) -> bool:
        return len(held) <= _MAX_CALL_CHARS and _CALL_BEGUN.match(held) is not None

    def _instead(self, text: str) -> str:
        return "" if _is_tool_call(text) else text


# A fence around a whole answer, as small models write it: what stands in it would be code, in which no label is read
# and nothing is checked.

# So much of what begins like one waits for its end.
_MAX_FENCED = 8000
_OPENS = re.compile(r"\s*```(markdown|md|text|txt|plaintext|)[ \t]*\n", re.IGNORECASE)
_MAY_OPEN = re.compile(r"\s*(?:`{0,3}|```[a-z]{0,9}[ \t]*)", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^[ \t]*```([^\s`]*)[ \t]*$", re.MULTILINE)
# Without a name a fence may hold a program, in which no label stands behind a space.
_LABELS_ONLY = re.compile(r"[\s\d,;\[\]［］【】-]*")
_LABELLED = re.compile(rf"(?<!\w){LABEL.pattern}")


@dataclass
class FenceGate(WholeGate):
    """Takes the fence away that stands around a whole text: one of Markdown or plain text, or a nameless one around
    labels. One that never ends is taken away too."""

    def _may_be(self, held: str) -> bool:
        if not (opening := _OPENS.match(held)):
            return _MAY_OPEN.fullmatch(held) is not None
        closing = _closing(held, opening.end())
        return len(held) <= _MAX_FENCED and (closing is None or not _says_more(held, closing))

    def _instead(self, text: str) -> str:
        """What stands in the fence that `text` is, with labels behind it."""
        opening = _OPENS.match(text)
        closing = _closing(text, opening.end()) if opening else None
        if opening is None or (closing and _says_more(text, closing)):
            return text
        inside = text[opening.end() : closing.start() if closing else len(text)]
        behind = text[closing.end() :] if closing else ""
        return inside.rstrip() + behind.rstrip() if opening.group(1) or _LABELLED.search(inside) else text


def _says_more(text: str, closing: re.Match[str]) -> bool:
    """Whether `text` says anything but labels, perhaps half of one, behind the fence that ends in `closing`."""
    return _LABELS_ONLY.fullmatch(text, closing.end()) is None


def _closing(text: str, start: int) -> re.Match[str] | None:
    """The line that ends the fence which began before `start`; one within it has a name and an end of its own."""
    inner = False
    for line in _FENCE_LINE.finditer(text, start):
        if not line.group(1) and not inner:
            return line
        inner = bool(line.group(1))
    return None


# What an answer passes on its way to whoever reads it.


@dataclass
class AnswerGate:
    """Labels that resolve, numbered by first use; links and images that lead to the evidence; nothing unseen, no
    thought, no fence around it all, and no call of a tool in place of an answer.

    Attributes:
        evidence: all of the turn, in the order of the ranking: the n-th piece was shown to the model as [n].
        shown: how many of them the model was shown.
        by_model: whether a model wrote the text, which knows the passages by the numbers of the ranking alone.
        order: the n-th entry is the number, in the ranking, of what the label n of the text refers to.
    """

    evidence: Sequence[SourceResult]
    shown: int
    by_model: bool = True
    order: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._hidden, self._fence, self._thoughts = HiddenGate(), FenceGate(), ThoughtGate()
        self._begin()

    def _begin(self) -> None:
        """Make those behind the gate of thoughts, which shall forget what they have read when that restarts."""
        self.order.clear()
        self._labels = self._label_gate(self.shown, self.evidence if self.by_model else ())
        self._abstention = AbstentionGate()
        self._links = LinkGate(partial(LinkTargets.of, self.evidence))
        # A fence may stand around the thought too, or around the answer behind it.
        self._behind: list[Gate] = [FenceGate(), self._labels, ToolCallGate(), self._abstention, self._links]

    def _label_gate(self, numbers: int, passages: Sequence[SourceResult] = ()) -> LabelGate:
        allowed = range(1, numbers + 1)
        return LabelGate(allowed, renumber=True, used=self.order, parentheses=True, passages=passages)

    @property
    def removed(self) -> list[int]:
        """The labels that were taken out, each once."""
        return list(dict.fromkeys(self._labels.removed))

    @property
    def removed_links(self) -> list[str]:
        """Where the links and images led that do not work any more, defanged, each once."""
        return list(dict.fromkeys(self._links.removed))

    @property
    def restarted(self) -> bool:
        """Whether what had passed turned out to be a thought, so that it counts no more; see `ThoughtGate`."""
        return self._thoughts.restarted

    @property
    def missing(self) -> str | None:
        """What a model that abstains says is missing; None when it does not."""
        return self._abstention.missing

    def feed(self, text: str, *, final: bool = False) -> str:
        """What can be let through after `text` arrived, behind a restart; the rest waits for the next piece, unless
        this is the `final` one."""
        restarted = self.restarted
        text = self._thoughts.feed(self._fence.feed(self._hidden.feed(text), final=final), final=final)
        if self.restarted and not restarted:
            self._begin()
        for gate in self._behind:
            text = gate.feed(text, final=final)
        return text

    def below(self, listing: str) -> str:
        """A listing of the evidence as it stands below what passed, its labels numbered on."""
        return self._label_gate(len(self.evidence)).feed(without_hidden(listing), final=True)


def labelled_places(order: Sequence[int], count: int) -> list[int]:
    """For each label that a person may use in place of a model's words, its place among `count` pieces of evidence:
    first what the text uses, by its `order`, then the rest."""
    return list(dict.fromkeys([*(place for place in order if place <= count), *range(1, count + 1)]))


def by_hand(draft: Draft, text: str, listing: str, results: Sequence[SourceResult]) -> Draft:
    """The draft with a person's words, which pass the same gate as a model's.

    Args:
        draft: whose labels the person saw; see `labelled_places`.
        text: their words.
        listing: of evidence, that stands below.
        results: in the order of the ranking.
    """
    gate, order = AnswerGate(results, len(results), by_model=False), labelled_places(draft["order"], len(results))
    body = gate.feed(at_their_places(text.strip(), order), final=True)
    return {
        **draft,
        "text": body + (gate.below(at_their_places(listing, order)) if listing else ""),
        "finish": "stop",
        "order": gate.order,
        "removed": gate.removed,
        "removed_links": gate.removed_links,
        "written": len(body),
        "body": len(body),
        "quotes": None,
        "edited": False,
    }


# One at the end may not be whole yet.
_LABELS = re.compile(rf"{LABEL.pattern}|\[[\d, ]*\Z")


def says_something(text: str) -> bool:
    """Whether there is more in a text than labels and signs, which alone are no answer."""
    return any(character.isalnum() for character in _LABELS.sub("", text))

"""Where the blocks of a reStructuredText begin, by the grammar of docutils.

docutils is asked for the outermost blocks only: what stands inside of one is not parsed, no directive is run, and no
other file is read, so that its time grows as the text does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from docutils import nodes, statemachine, utils
from docutils.parsers.rst import states

from groundgraph.answers.block_kinds import CODE_DIRECTIVES

# What stands for something else inside of a title: code, emphasis, a role, a link, an escaped character, the name of a
# substitution, which is what its image is called most often.
_INLINE = re.compile(
    r"``(?P<code>[^`\n]{1,200})``|(?::[a-z][\w:.+-]{0,40}:)?(?P<mark>`|\*{1,2})(?=\S)(?P<words>[^`*\n]{1,200})(?P=mark)_{0,2}"
    r"|(?<!\w)\|(?=\S)(?P<name>[^|\n]{1,200})(?<=\S)\|_{0,2}(?!\w)|\\(?P<escaped>\S)",
    re.IGNORECASE,
)
_TARGET = re.compile(r"\s{1,9}<[^<>]{1,200}>$")
_DIRECTIVE = re.compile(r"\.\. +(?:\|[^|]*\| +)?([a-z][\w.:+-]*?) ?::(?:\s|$)", re.IGNORECASE)
# Not a note, a link target or a substitution, and a directive only where none is found.
_COMMENT = re.compile(r"^\.\.(?:$|[ \t]+[^\s\[_|])", re.MULTILINE)
# What is code or a table: blocks by themselves and directives, those of Sphinx too.
_WHOLE = frozenset(["literal_block", "doctest_block", "table", "list-table", "csv-table", *CODE_DIRECTIVES])
_LISTS = frozenset(["bullet_list", "enumerated_list", "definition_list", "field_list", "option_list", "line_block"])
_PASSED_OVER = frozenset(["comment", "target", "system_message"])
# Those of a file are a few lines; what is longer is read as text, so that no document is metadata alone.
MAX_FIELDS_CHARS = 4096
# A list of fields where a text begins, with the lines that are set in below each; a role is none: ":class:`Pump`".
_FIELDS = re.compile(
    r"\s*+(?::[^\s:][^:\n]*+:(?:[ \t][^\n]*+)?(?:\n|\Z)(?:[ \t]++[^\s][^\n]*+(?:\n|\Z)|[ \t]*+\n)*+)++"
)
_FIELD = re.compile(r"^:([^\s:][^:\n]*+):((?:[ \t][^\n]*+)?(?:\n[ \t]++[^\n]*+|\n(?=[ \t]*+\n))*+)", re.MULTILINE)
# To make its own, docutils changes the filters of warnings, which belong to all threads.
_SETTINGS = SimpleNamespace(language_code="en", id_prefix="", auto_id_prefix="%")


@dataclass(frozen=True)
class RstBlock:
    """An outermost block.

    Attributes:
        line: the number, from 0, of its first line.
        kind: the name of a directive, or what docutils calls the block.
        level: the level of a heading, 1 the outermost; 0 for everything else.
        title: the words of a heading, without markup.
    """

    line: int
    kind: str
    level: int = 0
    title: str = ""

    @property
    def whole(self) -> bool:
        """Whether it is code or a table."""
        return self.kind in _WHOLE


def rst_structure(lines: Sequence[str]) -> list[RstBlock]:
    """The outermost blocks of `lines` in order, one for the items of a list; comments and link targets are none."""
    return _read(lines).found


def head_fields(text: str) -> tuple[dict[str, str], int]:
    """The fields that `text` begins with, such as `:title:`, by their names in lower case, and the offset behind them;
    0 where there are none, or more than those of a file. Sphinx takes them for such too, and shows them nowhere."""
    found = _FIELDS.match(text)
    if found is None or found.end() > MAX_FIELDS_CHARS:
        return {}, 0
    fields = {name.strip().lower(): " ".join(value.split()) for name, value in _FIELD.findall(found.group())}
    return fields, found.end()


def without_comments(text: str) -> str:
    """`text` with spaces in place of the outermost comments, so that everything stays where it is."""
    if not _COMMENT.search(text):
        return text
    lines = text.split("\n")
    for first, last in _read(lines).comments:
        lines[first : last + 1] = (" " * len(line) for line in lines[first : last + 1])
    return "\n".join(lines)


def _read(lines: Sequence[str]) -> _Outermost:
    machine = _Outermost(state_classes=_STATES, initial_state="Body")
    # With a blank line at the end the last paragraph ends like every other.
    read = [line.expandtabs(8).rstrip() for line in lines]
    document = nodes.document(_SETTINGS, utils.Reporter("text", report_level=5, halt_level=5), source="text")
    machine.run(_Lines([*read, ""], "text"), document, inliner=_NoInliner())
    return machine


class _Lines(statemachine.StringList):  # type: ignore[misc]
    """The lines of a text. All that follows a line is asked for to be read inside of a list, which nobody does."""

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice) and place.stop is None and place.start:
            return _Lines([], parent=None)
        return super().__getitem__(place)


class _Outermost(states.RSTStateMachine):  # type: ignore[misc]
    """Notes where each block begins, and from which to which line a comment is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.found: list[RstBlock] = []
        self.comments: list[tuple[int, int]] = []

    def check_line(self, context: Any, state: Any, transitions: Any = None) -> Any:
        """See docutils. A paragraph or title is known by its second line."""
        first = self.line_offset - (type(state) is not _Body)
        try:
            return super().check_line(context, state, transitions)
        finally:
            for node in self.node.children:
                self._note(first, node)
            # Nothing looks back at them.
            self.node.children.clear()

    def _note(self, first: int, node: Any) -> None:
        kind = node.get("kind", node.tagname)
        goes_on = kind in _LISTS and self.found and self.found[-1].kind == kind
        if kind == "comment":
            self.comments.append((first, self.line_offset))
        if kind in _PASSED_OVER or goes_on:
            return
        # Below the paragraph that announces it.
        line = node.line - 1 if kind == "literal_block" and node.line else first
        self.found.append(RstBlock(line, kind, node.get("level", 0), node.get("title", "")))


class _NoInliner:
    def init_customizations(self, _settings: Any) -> None:
        """Nothing to prepare: no inline markup is read."""


class _Shallow:
    """A state that does not look inside of a block."""

    parent: Any
    state_machine: Any
    memo: Any

    def nested_parse(self, _block: Any, input_offset: int, *_: Any, **__: Any) -> int:
        return input_offset

    def nested_list_parse(self, _block: Any, *_: Any, blank_finish: bool, **__: Any) -> tuple[int, bool]:
        return self.state_machine.abs_line_offset(), blank_finish

    def inline_text(self, text: str, _line: int) -> tuple[list[Any], list[Any]]:
        return [nodes.Text(text)], []

    def section(self, title: str, _source: str, style: Any, _line: int, _messages: Any) -> None:
        styles = self.memo.title_styles
        if style not in styles:
            styles.append(style)
        self.parent += nodes.title(kind="title", level=styles.index(style) + 1, title=_plain(title))


class _Body(_Shallow, states.Body):  # type: ignore[misc]
    def explicit_construct(self, match: re.Match[str]) -> tuple[list[Any], bool]:
        directive = _DIRECTIVE.match(match.string)
        if not directive and not match.string[2:].strip() and self.state_machine.is_next_line_blank():
            return [nodes.target()], True
        *_, blank_finish = self.state_machine.get_first_known_indented(match.end())
        said = nodes.comment if _COMMENT.match(match.string) else nodes.target
        return [nodes.container(kind=directive[1].lower()) if directive else said()], blank_finish

    def table(self, isolate_function: Any, _parser: Any) -> tuple[list[Any], bool]:
        block, messages, blank_finish = isolate_function()
        return [nodes.table() if block else nodes.paragraph(), *messages], blank_finish


class _Text(_Shallow, states.Text):  # type: ignore[misc]
    pass


class _Line(_Shallow, states.Line):  # type: ignore[misc]
    pass


_Body.__name__, _Text.__name__, _Line.__name__ = "Body", "Text", "Line"
_STATES = (_Body, _Text, _Line)


def _plain(title: str) -> str:
    return " ".join(_INLINE.sub(_words, title).split())


def _words(found: re.Match[str]) -> str:
    return found["code"] or found["name"] or found["escaped"] or _TARGET.sub("", found["words"])

"""The answer as HTML: its Markdown, its labels as links to the evidence, a mark at every sentence that was checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from groundgraph.answers.citations import Claim, claims_of
from groundgraph.answers.label_gate import LABEL
from groundgraph.core.turn_values import Flag
from groundgraph.report.evidence import claim_key
from groundgraph.report.words import Span, marked, visible

# The last line of a quotation, which says where it stands.
_PLACE = re.compile(r"(?:(?<=\n)|^)— .*\Z")
_NUMBER = re.compile(r"\d+")
_NO_LABEL = str.maketrans("[［【]］】", "((()))")
_TAGS = {"strong_open": "strong", "em_open": "em"}
# What this page's own headings take; those of the answer stand below them.
_TOP_LEVEL = 2
_DEEPEST = 6


@dataclass(frozen=True)
class _Character:
    """How one character of a line of the answer is shown: tags from the outside in; whether it may be of a label."""

    tags: tuple[str, ...] = ()
    prose: bool = True


@dataclass
class AnswerPage:
    """Renders one answer.

    Attributes:
        labels: those that have an entry among the evidence; others are shown as text.
        targets: by label and `claim_key`, the id of the place in the evidence that a sentence rests on.
        flags: the findings of the citation check.
        written: how many lines of the answer a model wrote; sentences behind them were not checked.
        found: what a reader without eyes for signs is told at a sentence without a finding.
        flagged: the same at one with findings.
        matches: the spans of a text of the evidence that match the question.
        uses: by label, the ids of the places where the answer cites it.
        placed: the numbers from 1 of the findings whose sentence was found in the answer.
    """

    labels: frozenset[int]
    targets: Mapping[tuple[int, str], str]
    flags: Sequence[Flag]
    written: int
    found: str
    flagged: str
    matches: Callable[[str], Sequence[Span]] = lambda _: ()
    uses: dict[int, list[str]] = field(default_factory=dict)
    placed: set[int] = field(default_factory=set)

    def render(self, text: str) -> Markup:
        """`text` as HTML: no tag, link or image of its own, headings below those of the page."""
        parser = MarkdownIt("commonmark", {"html": False}).enable("table")
        # Labels must not turn into links, and no address in an answer may be one click away.
        parser.disable(["link", "image", "autolink", "reference", "html_inline", "html_block", "text_join"])
        tokens = parser.parse(text)
        return Markup(_Renderer(self).render(tokens, parser.options, {}))

    def line(self, children: Sequence[Token], *, checked: bool, quoted: bool) -> Markup:
        """The inside of a paragraph, heading, item or cell, `checked` when a model wrote it, or `quoted`."""
        text, characters = _laid_out(children)
        place = _PLACE.search(text) if quoted else None
        for span in self.matches(text) if quoted else ():
            # Where a quotation stands is no part of it.
            for at in range(span.start, min(span.end, place.start() if place else len(text))):
                characters[at] = replace(characters[at], tags=(*characters[at].tags, "mark"))
        for at in range(*place.span()) if place else ():
            characters[at] = replace(characters[at], tags=("cite", *characters[at].tags))
        parts: list[Markup] = []
        at = 0
        for claim in claims_of(_prose(text, characters)):
            body = self._run(text, characters, claim.start, claim.end, claim_key(claim.text))
            parts += [self._run(text, characters, at, claim.start), self._signed(body, claim) if checked else body]
            at = claim.end
        return Markup("").join([*parts, self._run(text, characters, at, len(text))])

    def _signed(self, body: Markup, claim: Claim) -> Markup:
        """A sentence with what the check says of it."""
        findings = [number for number, flag in enumerate(self.flags, 1) if _is_about(flag, claim)]
        new = [number for number in findings if number not in self.placed]
        self.placed |= set(new)
        if findings:
            names = Markup("").join(Markup('<span id="s{}" tabindex="-1"></span>').format(number) for number in new)
            signs = Markup("").join(
                Markup('<a class="sign warn" href="#f{0}" aria-label="{1} {0}">⚠&#xFE0E;{0}</a>').format(
                    number, self.flagged
                )
                for number in findings
            )
            return Markup('<span class="claim flagged">{}{}</span>{}').format(names, body, signs)
        if not claim.labels:
            return body
        sign = Markup('<span class="sign good" role="img" aria-label="{0}" title="{0}"></span>').format(self.found)
        return Markup('<span class="claim">{}</span>{}').format(body, sign)

    def _run(self, text: str, characters: Sequence[_Character], start: int, end: int, key: str = "") -> Markup:
        parts: list[Markup] = []
        at = start
        for label in LABEL.finditer(text, start, end):
            if all(character.prose for character in characters[label.start() : label.end()]):
                parts += [_styled(text, characters, at, label.start()), self._label(label.group(), key)]
                at = label.end()
        return Markup("").join([*parts, _styled(text, characters, at, end)])

    def _label(self, written: str, key: str) -> Markup:
        """A label; each of its numbers leads to its passage."""
        parts: list[Markup] = []
        at = 0
        for number in _NUMBER.finditer(written):
            parts += [visible(written[at : number.start()]), self._link(int(number.group()), key)]
            at = number.end()
        inside = Markup("").join([*parts, visible(written[at:])])
        return Markup('<span class="cite">{}</span>').format(inside)

    def _link(self, label: int, key: str) -> Markup:
        if label not in self.labels:
            return visible(str(label))
        places = self.uses.setdefault(label, [])
        places.append(f"c{label}-{len(places) + 1}")
        target = self.targets.get((label, key), f"q{label}")
        return Markup('<a id="{}" href="#{}" data-label="{}">{}</a>').format(places[-1], target, label, label)


class _Renderer(RendererHTML):
    """markdown-it's own, which escapes code and knows its tags, with lines of text rendered by an `AnswerPage`."""

    def __init__(self, page: AnswerPage) -> None:
        super().__init__()
        self._page = page

    def render(self, tokens: Sequence[Token], options: Any, env: Any) -> str:
        parts: list[str] = []
        line, heading, quotations = 0, False, 0
        for index, token in enumerate(tokens):
            line = token.map[0] if token.map else line
            # The page's policy allows no style of an element's own, which is how columns are aligned.
            token.attrs.pop("style", None)
            if token.type.startswith("heading"):
                heading = token.nesting == 1
                token.tag = f"h{min(_DEEPEST, int(token.tag[1:]) + _TOP_LEVEL)}"
            quotations += token.nesting * (token.tag == "blockquote")
            if token.type == "inline":
                checked = not heading and line < self._page.written
                parts.append(str(self._page.line(token.children or [], checked=checked, quoted=quotations > 0)))
            elif token.type in ("fence", "code_block"):
                spans = self._page.matches(token.content) if quotations else ()
                code = marked(token.content, 0, len(token.content), spans)
                parts.append(str(Markup("<pre><code>{}</code></pre>\n").format(code)))
            else:
                parts.append(self.renderToken(tokens, index, options, env))
        return "".join(parts)


def _laid_out(children: Sequence[Token]) -> tuple[str, list[_Character]]:
    """The text of a line without its markup, and how each of its characters is shown."""
    text: list[str] = []
    characters: list[_Character] = []
    open_tags: list[str] = []
    for child in children:
        if child.type in _TAGS:
            open_tags.append(_TAGS[child.type])
        elif child.nesting < 0 and open_tags:
            open_tags.pop()
        else:
            content = "\n" if child.type in ("softbreak", "hardbreak") else child.content
            tags = (*open_tags, "code") if child.type == "code_inline" else tuple(open_tags)
            text.append(content)
            # A bracket behind a backslash is no label.
            characters += [_Character(tags, prose=child.type == "text")] * len(content)
    return "".join(text), characters


def _prose(text: str, characters: Sequence[_Character]) -> str:
    """`text` with other brackets where they are no labels, every character at its place."""
    pairs = zip(text, characters, strict=True)
    return "".join(letter if character.prose else letter.translate(_NO_LABEL) for letter, character in pairs)


def _styled(text: str, characters: Sequence[_Character], start: int, end: int) -> Markup:
    parts: list[Markup] = []
    for tags, places in groupby(range(start, end), key=lambda place: characters[place].tags):
        own = list(places)
        inside = visible(text[own[0] : own[-1] + 1])
        for tag in reversed(tags):
            inside = Markup("<{0}>{1}</{0}>").format(Markup(tag), inside)
        parts.append(inside)
    return Markup("").join(parts)


def _is_about(flag: Mapping[str, Any], claim: Claim) -> bool:
    """Whether `flag` was raised for `claim`; the check sees it with its markup, and may have cut it."""
    said, own = claim_key(flag["sentence"].removesuffix("…")), claim_key(claim.text)
    return bool(said) and (own.startswith(said) if flag["sentence"].endswith("…") else own == said)

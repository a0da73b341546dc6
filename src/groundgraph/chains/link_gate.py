"""The only place where a link or an image is taken out of an answer.

What a model writes is rendered as Markdown by whoever shows it, and an image is loaded without a click: a passage that
makes the model write `![x](https://elsewhere/?what-was-asked)` would send away what was asked. So inline links and
images, reference definitions, autolinks, bare URLs and HTML tags pass only when they lead to a URL of the evidence.
Of a link the text stays; an image goes with its description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from groundgraph.chains.link_syntax import (
    DEFINITION,
    DEFINITION_SO_FAR,
    LEADS,
    MAX_LINK,
    TARGET,
    TARGET_SO_FAR,
    destination,
    leading_part,
    may_be_definition,
    may_be_image,
)
from groundgraph.chains.link_targets import URL_END, LinkTargets, url_end
from groundgraph.chains.prose_gate import APART, MAX_HELD, ProseGate

_TEXT = re.compile(r"\[([^\[\]`\\<\n]{0,200})\]")
_TEXT_SO_FAR = re.compile(r"\[[^\[\]`\\<\n]{0,200}")
_IMAGE = re.compile(r"!\[([^\[\]`\\<]{0,200})\]")
_IMAGE_SO_FAR = re.compile(r"!(?:\[[^\[\]`\\<]{0,200})?")
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.\-]{1,31}:[^\x00-\x20<>]*+)>")
_SCHEME = re.compile(r"<([A-Za-z][A-Za-z0-9+.\-]{1,31}:[^\x00-\x20<>]*)(?=[^\x00-\x20])")
_OPEN_TAG = re.compile(r"<[^<>]*\Z")
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9\-]*)((?:[\s/][^<>]*)?)>")
_TAG_SO_FAR = re.compile(r"</?[A-Za-z][^<>]*+|</?")
_TAG_BEGINS = re.compile(r"</?([A-Za-z][A-Za-z0-9\-]*)|<[!?]")
# Tags that load, lead or swallow something even without attributes; any other passes when it has none.
_ACTIVE = frozenset(
    [
        *("a", "applet", "area", "audio", "base", "body", "button", "embed", "form", "frame", "frameset", "iframe"),
        *("image", "img", "input", "link", "math", "meta", "noembed", "noframes", "noscript", "object", "plaintext"),
        *("pre", "script", "source", "style", "svg", "template", "textarea", "title", "track", "video", "xmp"),
    ]
)
_URL = re.compile(rf"(?:https?://|ftps?://|www\.)[^{URL_END}]*+", re.IGNORECASE)
_URL_SO_FAR = re.compile(
    r"(?:h(?:t(?:t(?:ps?(?::/{0,2})?)?)?)?|f(?:t(?:ps?(?::/{0,2})?)?)?|w{1,3}\.?)\Z", re.IGNORECASE
)
_BEHIND_URL = re.compile(f"[{URL_END}]")
_FENCE = re.compile(r"`{3,}[^`\r\n]*+[\r\n]")
# What a line may begin with before a fence.
_MARKERS = r"(?:\A|[\r\n])[ \t>*+\-\d.)]*"
_TILDES = re.compile(rf"{_MARKERS}~~~")
_ONLY_MARKERS = re.compile(rf"{_MARKERS}\Z")
_LINE_END = re.compile(r"[\r\n]")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


@dataclass
class LinkGate(ProseGate):
    """Passes text through without links and images that lead elsewhere.

    Attributes:
        targets: where they may lead.
        removed: where those led that were taken out, at most 200 characters each.
    """

    special: ClassVar[re.Pattern[str]] = re.compile(
        r"[<`\\\[]|!(?=\[|\Z)|(?:\A|(?<=\]))[(:]|(?:https?|ftps?)://|www\.|"
        r"(?:h(?:t(?:t(?:ps?(?::/?)?)?)?)?|f(?:t(?:ps?(?::/?)?)?)?|w{1,3})\Z",
        re.IGNORECASE,
    )

    targets: LinkTargets
    removed: list[str] = field(default_factory=list)
    _in_url: bool = field(default=False, init=False)
    # Set until the next blank line: what looks like code there may be none to whoever renders it.
    _in_html: bool = field(default=False, init=False)
    _unpaired: bool = field(default=False, init=False)
    # Set from the first fence on that may be none, or one of tildes, which may hold backticks that fence nothing: what
    # opens and what closes is not known from there on, so nothing is taken for code.
    _unsure: bool = field(default=False, init=False)

    def _leaves(self, piece: str) -> None:
        if "~" in piece and _TILDES.search(self._tail + piece):
            self._unsure = True
        if "\n" in piece and (self._in_html or self._unpaired):
            line = self._tail[self._tail.rfind("\n") :] if "\n" in self._tail else ""
            if _BLANK_LINE.search((line if not line.strip() else "") + piece):
                self._in_html = self._unpaired = False
        super()._leaves(piece)

    def _is_swallowing(self) -> bool:
        return self._in_url

    def _swallow(self, *, final: bool) -> bool:  # noqa: ARG002 - what is swallowed is dropped at the end too
        end = _BEHIND_URL.search(self._held)
        self._held = self._held[end.start() :] if end else ""
        self._in_url = not end
        return not self._in_url

    def _at_line_start(self) -> bool:
        return not self._tail or self._tail[-1] in "\r\n"

    def _code(self, *, final: bool) -> Iterator[str]:
        """The next lines of a fenced block, to the one that closes it, as CommonMark has it."""
        while self._held and self._in_code:
            line = _LINE_END.search(self._held)
            end = line.end() if line else 0
            if self._at_line_start():
                closes = re.compile(rf" {{0,3}}`{{{len(self._in_code)},}}[ \t]*(?:[\r\n]|\Z)")
                if not end and not final and re.fullmatch(r" {0,3}`*[ \t]*", self._held):
                    return
                if closes.match(self._held):
                    self._in_code = ""
            yield self._take(end or len(self._held))

    def _backtick(self, special: str, *, final: bool) -> tuple[str, bool]:
        run = len(special) - len(special.lstrip("`"))
        undecided = not final and len(special) <= MAX_HELD
        if run == len(special) and undecided:
            return "", True
        if self._unsure:
            return self._take_with_space(special, run), False
        if run >= 3 and special is self._held and self._at_line_start() and not self._in_html:
            opening = _FENCE.match(special)
            if opening:
                self._in_code = "`" * run
                return self._take(opening.end()), False
            if undecided and not _LINE_END.search(special) and "`" not in special[run:]:
                return "", True
        if run >= 3 and _ONLY_MARKERS.search(self._tail + self._held[: len(self._held) - len(special)]):
            self._unsure = True
        return self._inline_code(special, run, undecided=undecided)

    def _inline_code(self, special: str, run: int, *, undecided: bool) -> tuple[str, bool]:
        line = _LINE_END.split(special[: MAX_HELD + 1], maxsplit=1)[0]
        closing = re.compile(rf"(?<!`)`{{{run}}}(?!`)").search(line, run)
        if closing and not (self._unpaired or self._unsure):
            if closing.end() == len(special) and undecided:
                return "", True
            return self._take_with_space(special, closing.end()), False
        if undecided and not self._unpaired and len(line) == len(special):
            return "", True
        self._unpaired = True
        return self._take_with_space(special, run), False

    def _passes(self, whole: str, target: str) -> bool:
        return "`" not in whole and (not LEADS.search(target) or self.targets.allows(target))

    def _decide(self, special: str, *, final: bool) -> tuple[str, bool]:
        handler = {"[": self._bracket, "!": self._image, "<": self._angle}.get(special[0])
        if handler is not None:
            return handler(special, final=final)
        if special[0] not in "(:":
            return self._url(special, final=final)
        if len(special) < len(self._held) or not self._tail.endswith("]"):
            return self._take_with_space(special, 1), False
        return self._target(special, final=final) if special[0] == "(" else self._definition(special, final=final)

    def _bracket(self, special: str, *, final: bool) -> tuple[str, bool]:
        text = _TEXT.match(special)
        if text is None:
            waits = not final and _TEXT_SO_FAR.fullmatch(special) is not None
            return ("", True) if waits else (self._take_with_space(special, 1), False)
        rest = special[text.end() :]
        if not rest and not final:
            return "", True
        found = TARGET.match(rest)
        if found is None or found.end() > MAX_LINK:
            waits = not final and rest.startswith("(") and self._may_go_on(rest, TARGET_SO_FAR)
            return ("", True) if waits else (self._take_with_space(special, 1), False)
        target = destination(found)
        if self._passes(found.group(), target):
            return self._take_with_space(special, text.end() + found.end()), False
        shown = text.group(1)
        piece = self._drop(special, text.end() + found.end(), target)
        if shown.strip().isdigit():
            return f"{piece}[{shown}]", False
        self._held = shown + self._held
        return piece, False

    def _image(self, special: str, *, final: bool) -> tuple[str, bool]:
        text = _IMAGE.match(special)
        if text is None:
            waits = not final and _IMAGE_SO_FAR.fullmatch(special) is not None
            return ("", True) if waits else (self._take_with_space(special, 1), False)
        rest = special[text.end() :]
        found = TARGET.match(rest)
        if found is None or found.end() > MAX_LINK:
            waits = not final and (not rest or (rest[0] == "(" and self._may_go_on(rest, TARGET_SO_FAR)))
            return ("", True) if waits else (self._take_with_space(special, 1), False)
        target, length = destination(found), text.end() + found.end()
        if "`" not in found.group() and self.targets.allows_image(target):
            return self._take_with_space(special, length), False
        return self._drop(special, length, target, with_space=True), False

    def _target(self, special: str, *, final: bool) -> tuple[str, bool]:
        """A destination whose link text has passed already, or that is not what CommonMark takes for one."""
        image = may_be_image(self._tail)
        found = TARGET.match(special)
        if found is None or found.end() > MAX_LINK:
            return ("", True) if not final and self._may_go_on(special, TARGET_SO_FAR) else self._lame(special, image)
        target = destination(found)
        if self._passes(found.group(), target) and (not image or self._shows(target)):
            return self._take(found.end()), False
        return self._drop(special, found.end(), target), False

    def _definition(self, special: str, *, final: bool) -> tuple[str, bool]:
        """What a reference leads to; an image may refer to it too."""
        if not may_be_definition(self._tail):
            return self._take(1), False
        found = DEFINITION.match(special)
        if found is None or found.end() > MAX_LINK or (found.end() == len(special) and not final):
            waits = not final and self._may_go_on(special, DEFINITION_SO_FAR)
            return ("", True) if waits else self._lame(special, image=True)
        target = destination(found)
        if "`" not in found.group() and self._shows(target):
            return self._take(found.end()), False
        return self._drop(special, found.end(), target), False

    def _shows(self, target: str) -> bool:
        return not LEADS.search(target) or self.targets.allows_image(target)

    def _lame(self, special: str, image: bool) -> tuple[str, bool]:
        """What is no destination here, or too long to tell, may still be one to whoever renders it."""
        part, target = leading_part(special)
        allowed = self.targets.allows_image(target) if image else self.targets.allows(target)
        if not part or (target and allowed):
            return self._take(1), False
        self._in_url = len(part) > MAX_LINK
        return self._drop(special, len(part), target or part), False

    def _angle(self, special: str, *, final: bool) -> tuple[str, bool]:
        link = _AUTOLINK.match(special)
        if link:
            if self.targets.allows(link.group(1)):
                return self._take_with_space(special, link.end()), False
            return self._drop(special, link.end(), link.group(1), with_space=True), False
        tag = _TAG.match(special)
        if tag:
            closing, name, attributes = tag.groups()
            if name.lower() not in _ACTIVE and not attributes.strip(" /"):
                self._in_html = True
                return self._take_with_space(special, tag.end()), False
            removed = "" if closing else tag.group()
            return self._drop(special, tag.end(), removed, with_space=name.lower() == "img"), False
        if not final and self._may_go_on(special, _TAG_SO_FAR):
            return "", True
        # An autolink or a tag that does not close must not find its end in what is written below it.
        scheme, begins = _SCHEME.match(special), _TAG_BEGINS.match(special)
        if scheme or (begins and (begins.group(1) or "a").lower() in _ACTIVE):
            return self._drop(special, 1, scheme.group(1) if scheme else ""), False
        return self._take_with_space(special, 1), False

    def _url(self, special: str, *, final: bool) -> tuple[str, bool]:
        found = _URL.match(special)
        if found is None:
            waits = not final and _URL_SO_FAR.fullmatch(special) is not None
            return ("", True) if waits else (self._take_with_space(special, 1), False)
        if found.end() == len(special) and not final and len(special) <= MAX_LINK:
            return "", True
        end = url_end(found.group())
        if len(found.group()) > MAX_LINK:
            self._in_url = True
            end = found.end()
        elif self.targets.allows(found.group()[:end]):
            return self._take_with_space(special, end), False
        return self._drop(special, end, found.group()[:end], with_space=True), False

    def _may_go_on(self, special: str, so_far: re.Pattern[str]) -> bool:
        return len(special) <= MAX_LINK and so_far.fullmatch(special) is not None

    def _drop(self, special: str, length: int, target: str, *, with_space: bool = False) -> str:
        """Take out `length` characters; what passes in their place keeps both sides apart."""
        space = self._take_with_space(special, 0)
        self._held = self._held[length:]
        if target:
            self.removed.append(target[:200])
        if space:
            return "" if with_space and not _OPEN_TAG.search(self._tail) else space
        if not self._tail or self._tail[-1].isspace():
            return ""
        # Behind a parenthesis what follows might become a destination; one holds no space.
        return f"{APART} " if self._tail[-1] == "(" else APART

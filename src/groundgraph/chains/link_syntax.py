"""How Markdown writes where a link leads, and what may still become that."""

from __future__ import annotations

import re

from groundgraph.chains.link_targets import URL_END
from groundgraph.chains.prose_gate import MAX_HELD

# A link that is still open after this many characters leads nowhere in the evidence.
MAX_LINK = 2000
_ANGLE = r"<((?:[^<>\\\n]|\\[^\n])*+)>"
_CHAR = r"[^\s()\\]|\\(?:\S|(?=\s))"
_DEST = rf"(?:{_ANGLE}|((?!<)(?:{_CHAR}|\((?:{_CHAR}|\((?:{_CHAR})*+\))*+\))++))"
_TITLE = r"(?:\s+(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)))?"
_DEST_SO_FAR = r"(?:<(?:[^<>\\\n]|\\.|\\\Z)*+>?|(?!<)(?:[^\s\\]|\\\S|\\(?=\s|\Z))*+)"
_TITLE_SO_FAR = r"(?:\s++(?:\"(?:[^\"\\]|\\.|\\\Z)*+\"?|'(?:[^'\\]|\\.|\\\Z)*+'?|\((?:[^()\\]|\\.|\\\Z)*+\)?)?\s*+)?"
# White space with at most one line end; a carriage return is one, and so is what some renderers take for a blank.
_GAP = r"[^\S\n]*+\n?[^\S\n]*+"

TARGET = re.compile(rf"\(\s*+{_DEST}{_TITLE}\s*+\)", re.DOTALL)
"""What follows the text of an inline link or an image."""
TARGET_SO_FAR = re.compile(rf"\(\s*+{_DEST_SO_FAR}{_TITLE_SO_FAR}", re.DOTALL)
DEFINITION = re.compile(rf":{_GAP}(?:{_ANGLE}|([^\s<]\S*+))[^\S\r\n]*+(?=[\r\n\"'(]|\Z)")
"""What follows the label of a reference definition, but for its title."""
DEFINITION_SO_FAR = re.compile(rf":{_GAP}{_DEST_SO_FAR}[^\S\r\n]*+")

# A destination without any of these is a word in parentheses: `f[i](x)` is no link that anyone meant.
LEADS = re.compile(r"[:/\\.#?&%]")
# Where these stand, a word leads away from here, whatever stands around it.
_AWAY = re.compile(r"[:/\\&%]")
_BEGINNING = re.compile(rf"[(:]\s*+<?([^{URL_END}]*+)")
_BEFORE_LABEL = re.compile(r"(?:[ \t>*+\-]|\d{1,9}[.)])*")
_LABEL_END = re.compile(r"\[(?:[^\[\]\\]|\\.)*+\]\Z", re.DOTALL)


def destination(found: re.Match[str]) -> str:
    """Where a match of `TARGET` or `DEFINITION` leads."""
    return next(group for group in found.groups() if group is not None)


def leading_part(text: str) -> tuple[str, str]:
    """What must go of `text`, which begins where a destination could, so that nothing of it leads away; and where it
    would have led. Nothing goes of what is a word or a sentence in any reading."""
    beginning = _BEGINNING.match(text[: MAX_LINK + 1])
    if beginning is None:
        return "", ""
    part, target = beginning.group(), beginning.group(1)
    too_long = len(text) > MAX_LINK
    if not target:
        return (part[:1] if too_long and len(part) > MAX_LINK else ""), ""
    if not _AWAY.search(target) or (text[0] == ":" and not too_long):
        return "", ""
    return part, target


def may_be_definition(before: str) -> bool:
    """Whether a colon behind `before`, the end of what has passed, may define what a label refers to."""
    label = _LABEL_END.search(before)
    if label is None:
        return len(before) >= MAX_HELD
    line = re.split(r"[\r\n]", before[: label.start()])[-1]
    return _BEFORE_LABEL.fullmatch(line) is not None


def may_be_image(before: str) -> bool:
    """Whether the bracket that ends `before` may close the text of an image."""
    at = before.rfind("[")
    if at <= 0:
        return at < 0 or len(before) >= MAX_HELD
    return before[at - 1] == "!" or any(character in before[at + 1 : -1] for character in "]\\`<")

"""What the lines of a text begin: code, an item of a list, a row; and which say nothing by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

Kind = Literal["prose", "heading", "code", "doctest", "item", "table", "rows", "figures"]
"""What lines begin."""

# However deep it is set in: in an item of a list, in a note of MkDocs.
FENCE = re.compile(r"\A *(```|~~~)")
# What reStructuredText writes above code: docutils, Sphinx, and extensions of it that many projects have.
CODE_DIRECTIVES = (
    *("code", "code-block", "sourcecode", "console", "prompt", "parsed-literal"),
    *("doctest", "testcode", "testoutput", "math"),
)
# With its language, and the options between the two.
DIRECTIVE = re.compile(
    rf"\A *\.\. (?P<name>{'|'.join(CODE_DIRECTIVES)}) ?::[ \t]*(?P<argument>[^\n]*)"
    r"(?P<options>(?:\n +:[\w-]+:[^\n]*)*)"
)
# Of these, what stands beside the name is code too.
_ARGUMENT_IS_CODE = ("parsed-literal", "math")
_RULE = re.compile(r"\A *+([=\-~^\"'#*+])\1{2,}+[ \t]*+\Z")
# In whose place MkDocs shows what stands in a module, with options set in deeper below it.
_REFERENCE = re.compile(r"\A *::: *\w+(?:\.\w+)+[ \t]*(?:\n|\Z)")
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("code", FENCE),
    ("code", DIRECTIVE),
    ("code", _REFERENCE),
    ("doctest", re.compile(r"\A *>>> ")),
    # An image of reStructuredText, where a link leads to, and what a name stands for: part of the text, and no answer.
    (
        "heading",
        re.compile(
            r"\A *(?:\.\. (?:(?:image|figure|contents|sectnum|include)::|\|[^|\n]+\| [a-z][\w-]*::"
            r"|_(?:`[^`\n]+`|(?:[^:`\n\\]|\\.)+):(?=\s|\Z))|__ \S)"
        ),
    ),
    # The line above a note of MkDocs says no more than one, nor does that of a directive of reStructuredText that has
    # a name or version at most, and how what stands in it is set.
    (
        "heading",
        re.compile(
            r"\A(?: {0,3}#{1,6}\s| *(?:!!!|\?\?\?) "
            r"| *\.\. (?:(?:list-)?table ?::|(?!csv-)[a-z][a-z:-]{0,30}? ?::[ \t]*\S*[ \t]*\Z)"
            r"| *::[ \t]*\Z"
            r"| +:(?:header-rows|stub-columns|widths?|align|class|name|delim|quote|alt|target|linenos|height|scale): )"
        ),
    ),
    ("heading", _RULE),
    # A tag alone in its line sets out what stands below it, or ends that; a summary names it.
    (
        "heading",
        re.compile(r"\A\s*(?:</?(?:div|details|section|article|center|p)\b[^<>]*>\s*\Z|<summary\b)", re.IGNORECASE),
    ),
    # A field of reStructuredText is one too; in a role a name stands right behind the second colon.
    ("item", re.compile(r"\A\s*(?:[-*+•o]|\d{1,3}[.)]|:[^\s:`][^:`\n]{0,60}:)\s+\S")),
    ("table", re.compile(r"\A\s*\|")),
    # HTML that sets out a block, and the borders of reStructuredText's tables: to the next blank line, and what is set
    # in deeper below that.
    (
        "rows",
        re.compile(
            r"\A\s*(?:</?(?:table|thead|tbody|tfoot|tr|t[dh]|caption|div|p|[uod]l|li|d[td]|section|article|details)\b"
            r"|\.\. csv-table::|={2,}(?: +={2,})+ *\Z|\+(?:[-=]+\+)+ *\Z)",
            re.IGNORECASE,
        ),
    ),
)
# A row of columns has a rule below it in plain texts.
_COLUMNS = re.compile(r"\S {3,}\S|\t\S|\|")


@lru_cache(maxsize=4096)
def kind_of(line: str) -> Kind:
    """What begins with `line`, as far as it tells that by itself."""
    begins = line.lstrip()[:1]
    if begins.isalpha() and begins != "o":
        # Most lines: of all letters only the one that stands for a bullet begins anything else.
        return "prose"
    return next((kind for kind, pattern in _KINDS if pattern.match(line)), "prose")


_NUMBER = re.compile(r"[^\w\s]*+\d[\d.,:/%]*+[^\w\s]*+")
_FEWEST_NUMBERS = 3
_DIGITS = re.compile(r"\d+")


def _is_figures(line: str) -> bool:
    # Hardly a line has so many.
    if len(_DIGITS.findall(line)) < _FEWEST_NUMBERS:
        return False
    # What is set out in columns, or between signs, has its rows already.
    if "  " in line.strip() or kind_of(line) != "prose":
        return False
    # Signs between words and numbers, as that of a range, are neither.
    words = [word for word in line.split() if any(map(str.isalnum, word))]
    numbers = sum(1 for word in words if _NUMBER.fullmatch(word))
    return numbers >= _FEWEST_NUMBERS and numbers * 2 >= len(words)


def figures_in(lines: Sequence[str]) -> list[bool]:
    """For each of `lines`, whether it is a row of a table that a page has without rules: as many numbers as words, as
    in the line above or below."""
    own = [False, *map(_is_figures, lines), False]
    return [one and (above or below) for above, one, below in zip(own, own[1:], own[2:], strict=False)]


# A row of reStructuredText's list-table: an item that begins with one, whose cells stand below each other.
_ROW_ITEM = re.compile(r"\A\s*[*+-]\s+[*+-]\s+\S")


def is_row_item(text: str) -> bool:
    """Whether an item is a row, to which the items set in below it belong."""
    return bool(_ROW_ITEM.match(text))


def is_underlined(line: str, below: str) -> bool:
    """Whether `line` is a heading because of the rule `below` it."""
    if len(below.rstrip()) < len(line.strip()) or _COLUMNS.search(line.strip()) or not any(map(str.isalnum, line)):
        return False
    return bool(_RULE.match(below))


# A line below or above a heading, in a text of many lines. Three tildes set out code, and some of Markdown's do so in a
# longer line of them, which says nothing either.
RULE_LINE = r"[ \t]*+(?:([=\-^*+])\1{2,}+|~{4,}+|\"{4,}+|'{4,}+)[ \t]*+"
# Headings that a text begins with, of Markdown or with a line below.
_HEADED = re.compile(rf"(?:\s*+(?:#{{1,6}}[ \t][^\n]*+|[^\n]++\n{RULE_LINE})(?=\n))++\s*+(?=\S)")


def below_headings(text: str) -> str:
    """`text` without the headings that it begins with."""
    return text[found.end() :] if (found := _HEADED.match(text)) else text


def code_in(text: str) -> tuple[str, str]:
    """The language of a code directive, with the code below it, which has the lines as they stand; of other text, no
    language and all of it."""
    found = DIRECTIVE.match(text)
    if found is None:
        return "", text
    body = text[found.end() :].lstrip("\n")
    if found["name"] in _ARGUMENT_IS_CODE:
        return "", f"{found['argument']}\n{body}" if found["argument"].strip() else body
    return found["argument"].strip(), body


# What shows or links something: an image, a link without words or within the page, a tag or an address, and in Markdown
# where a name leads to.
_IMAGE = re.compile(
    r"!\[[^\[\]\n]{0,300}\](?:\([^()\s]{0,1000}(?:\s\"[^\"\n]{0,200}\")?\)|\[[^\[\]\n]{0,100}\])|<img\b[^<>]{0,2000}>"
)
_LINKED = re.compile(
    r"\[\s*\]\([^()\s]{0,1000}\)|\[[^\[\]\n]{1,200}\]\(#[^()\s]{0,200}\)|<a\s[^<>]{0,100}href=[\"']#[^<>]{0,200}>[^<>]{0,200}</a>"
)
_ADDRESS = re.compile(r"</?[a-z][^<>]{0,2000}>|\bhttps?://\S+", re.IGNORECASE)
_DEFINED = re.compile(r"^ {0,3}\[[^\]\n^][^\]\n]{0,200}\]:[ \t]+\S*[/.#:]\S*(?:[ \t]+[\"'(].*)?$", re.MULTILINE)
# Names of substitutions alone, perhaps in a block of lines, by which reStructuredText shows badges.
_SUBSTITUTED = re.compile(r"(?:\s*+(?:\|[ \t]++(?=\|\S))?\|(?=\S)[^|\n]{1,100}(?<=\S)\|_{0,2}(?=\s|\Z))++\s*+")
# Where reStructuredText sends its reader: "See also :ref:`calls`."
_REFERRED = re.compile(r":(?:ref|doc):`[^`]{1,300}`")
_WORDS_OF_REFERENCE = 2


def is_link_only(text: str, kind: Kind) -> bool:
    """Whether a block of `kind` consists of images, badges, link targets and references to a module or to another
    section alone, or is an item with an address."""
    if kind == "code":
        return _REFERENCE.match(text) is not None
    if kind == "prose" and _refers_only(text):
        return True
    if kind == "table":
        return _SUBSTITUTED.fullmatch(text) is not None
    if kind not in ("prose", "item", "rows") or not any(mark in text for mark in ("![", "<img", "]:", "://", "#")):
        return False
    rest = _IMAGE.sub("", _DEFINED.sub("", text))
    linked = _LINKED.sub("", rest)
    # An address that is a paragraph by itself may be the answer.
    if linked == text and kind == "prose":
        return False
    return not any(map(str.isalpha, _ADDRESS.sub("", linked)))


def _refers_only(text: str) -> bool:
    rest, count = _REFERRED.subn("", text)
    return count > 0 and sum(any(map(str.isalnum, word)) for word in rest.split()) <= _WORDS_OF_REFERENCE


# A role of reStructuredText, and a link with its address; what leads nowhere on the web is shown as its words.
_ROLE = re.compile(r"(?<![\w`:]):([A-Za-z][\w.+-]{0,30}(?::[A-Za-z][\w.+-]{0,30}){0,2}):`([^`\n]{1,300})`(?!`)")
_LINK = re.compile(r"(?<![\w`:])`([^`<>\n]{1,300}) <([^<>`\s]{1,500})>`__?(?!\w)")
# A link whose address stands elsewhere; in Markdown code at the end of what is emphasised.
_NAMED_LINK = re.compile(r"(?<![\w`:\\])`([^`<>\n]{1,300})`__?(?!\w)")
_EMPHASIS = re.compile(r"(?<![\w`_])_(?=[^\s_])")
_TARGET = re.compile(r" ?<[^<>]{1,300}>\Z")
# Roles whose text is words, and those that name a document by its number; of all others it is code.
_OF_WORDS = frozenset(["ref", "doc", "term", "numref", "any", "abbr", "sup", "sub", "kbd", "guilabel", "menuselection"])
_OF_NUMBERS = frozenset(["pep", "rfc"])


def in_markdown_words(line: str) -> str:
    """A line of reStructuredText with its roles and links as Markdown says them: ":ref:`Calls <calls>`" as "Calls"."""
    if "`" not in line:
        return line
    said = _LINK.sub(_of_link, _ROLE.sub(_of_role, line))
    return said if _EMPHASIS.search(line) else _NAMED_LINK.sub(r"\1", said)


def _of_link(found: re.Match[str]) -> str:
    said, address = found.groups()
    return f"[{said}]({address})" if address.startswith(("https://", "http://")) else said


def _of_role(found: re.Match[str]) -> str:
    role, said = found[1].rpartition(":")[2].lower(), _TARGET.sub("", found[2]).removeprefix("!")
    # Of "~a.b.Pump" the last part is shown.
    said = said.rpartition(".")[2].lstrip("~@") if said.startswith("~") else said.removeprefix("@")
    if role in _OF_NUMBERS:
        return f"{role.upper()} {said}"
    return said if role in _OF_WORDS else f"`{said}`"

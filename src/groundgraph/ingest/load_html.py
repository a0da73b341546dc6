"""Reads a web page into the Markdown of its main text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from groundgraph.core.errors import IngestError
from groundgraph.ingest.read_file import optional_package
from groundgraph.ingest.records import double_head

# The content of a web page as Markdown: its words as they are, its headings, lists, code and tables marked.

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE = frozenset(
    [
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i"),
        *("img", "input", "ins", "kbd", "label", "mark", "math", "meter", "nobr", "q", "rb", "rp", "rt", "ruby", "s"),
        *("samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    ]
)
_LINE_BREAK = "\x1e"
# Stands for one that is drawn.
FORMULA = "[formula]"
# Before what stands raised or lowered, until it is known what stands before that.
RAISED, LOWERED = "\x1f", "\x1d"
# Behind a term, which stands with the paragraph that says what it means: alone it would answer for that.
_TERM = "\x1c"
_BEHIND_TERM = re.compile(r"\x1c(?:\n\n?( *)(?=[^\s#>|`-])(?!\d+\. )(?=([^\x1c\n]*\x1c)?))?")
# What it means is set in as an entry of a glossary is, which tells it from a sentence that goes on in the next line.
_SET_IN = " " * 4
_RAISED_BEHIND = re.compile(
    r"(?<=[^\W\d_]|[)\]])\x1f([+−-]?[0-9]+)|(?<=[0-9])([\x1d\x1f])(?=[0-9+−-]|[ikmnxyz]\b)|[\x1d\x1f]"
)
_SUPERSCRIPT = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
# No cell spans more rows or columns than so many, whatever it says.
_MAX_SPAN = 100
# What spans repeat of a table has at most so many times the size of the table, each cell of which counts as so many
# characters more than it holds; a table that people read is far below both.
_MOST_REPEATED = 10
_CELL = 20
# What numbers the items of a list in place of digits.
_LETTERS = {"a": ascii_lowercase, "A": ascii_uppercase}
# What was not chosen, and what was, of a form.
_CHOSEN = ("☐ ", "☒ ")
# What is struck out holds no more.
_STRUCK = ("del", "s", "strike")
# What Markdown would take for a heading, a fence or a rule although the page means words.
_MISREAD = re.compile(r"#{1,6}(?:\s|$)|```|~~~|=+$|-{2,}$|>\s")


def html_markdown(root: Any) -> str:
    """The text below the lxml element `root`, blocks set apart by blank lines."""
    for formula in [*root.iter("math")]:
        # Its symbols alone say something else: a power and a product have the same.
        said = formula.get("alttext") or formula.findtext(".//annotation") or FORMULA
        formula.clear(keep_tail=True)
        formula.text = said
    return _BEHIND_TERM.sub(_meaning, "\n\n".join(_block(root))) + "\n"


def with_raised(text: str) -> str:
    """`text` with what was raised or lowered told from what stands before it: `10^6`, `m²`, `log_2`; 106 is another
    number."""

    def told(found: re.Match[str]) -> str:
        if found[1]:
            return found[1].translate(_SUPERSCRIPT)
        return {RAISED: "^", LOWERED: "_"}[found[2]] if found[2] else ""

    return _RAISED_BEHIND.sub(told, text) if RAISED in text or LOWERED in text else text


def is_layout(table: Any) -> bool:
    """Whether a table only places things on the page: it holds another one, or headings."""
    return bool(table.xpath(".//table|.//h1|.//h2|.//h3"))


def table_rows(table: Any) -> list[list[str]]:
    """The cells of each row that has any text; one that spans rows stands in each of them. Two rows that name the
    columns together are one.

    Raises:
        IngestError: the spans of its cells repeat the table many times over.
    """
    # By column, what reaches into the rows below, and into how many.
    below: dict[int, tuple[str, int]] = {}
    given = [[(_cell_text(cell), cell) for cell in row.xpath("./td|./th")] for row in table.iter("tr")]
    left = _MOST_REPEATED * sum(len(text) + _CELL for row in given for text, _ in row)
    head = _double_head(given)
    rows = [*filter(None, [head])]
    for row in given[2 * len(rows) :]:
        spread = list(_spread(row, below))
        left -= _size(spread) - _size(text for text, _ in row)
        if left < 0:
            raise IngestError(f"the spans of a table repeat its cells more than {_MOST_REPEATED} times over")
        if any(text for text, _ in row):
            rows.append(spread)
    return rows


def _double_head(given: Sequence[Sequence[tuple[str, Any]]]) -> list[str]:
    """The names of the columns where the first two rows have them together, which a cell that reaches from one into the
    other tells, or that all their cells are marked as names; none elsewhere."""
    head = given[:2] if given[2:] else []
    first, second = ([_spans(cell) for _, cell in row] for row in head or [[], []])
    if not _name_together(head, first, second):
        return []
    above = [
        ("" if at and rows > 1 else text, columns > 1, rows > 1)
        for (text, _), (columns, rows) in zip(head[0], first, strict=True)
        for at in range(columns)
    ]
    wide = zip(head[1], second, strict=True)
    return double_head(above, [said for (text, _), (columns, _) in wide for said in [text, *[""] * (columns - 1)]])


def _name_together(
    head: Sequence[Sequence[tuple[str, Any]]], first: Sequence[tuple[int, int]], second: Sequence[tuple[int, int]]
) -> bool:
    """Whether the two rows of a `head`, whose cells span these columns and rows, have the names together."""
    reach = {rows for _, rows in first}
    marked = all(cell.tag == "th" for row in head for _, cell in row)
    # A cell alone in its row is a title.
    return len(first) > 1 and reach <= {1, 2} and (marked or 2 in reach) and all(rows == 1 for _, rows in second)


def _size(texts: Iterable[str]) -> int:
    return sum(len(text) + 1 for text in texts)


def _cell_text(cell: Any) -> str:
    return _words("".join(_inline_text(cell))).replace("\n", " ")


def _spread(given: list[tuple[str, Any]], below: dict[int, tuple[str, int]]) -> Iterator[str]:
    """The texts of a row, those from `below` at their columns, and what reaches further down is put there."""
    above, column = {at: below.pop(at) for at in [*below]}, 0
    for text, cell in given:
        while column in above:
            yield above[column][0]
            column += 1
        columns, rows = _spans(cell)
        for said in [text, *[""] * (columns - 1)]:
            if rows > 1:
                below[column] = (said, rows - 1)
            yield said
            column += 1
    while column in above:
        yield above[column][0]
        column += 1
    below |= {at: (text, rows - 1) for at, (text, rows) in above.items() if rows > 1}


def _spans(cell: Any) -> tuple[int, int]:
    """Of how many columns and rows a cell is."""
    return _number(cell.get("colspan")), _number(cell.get("rowspan"))


def _number(given: str | None) -> int:
    return min(int(given), _MAX_SPAN) if given and given.isascii() and given.isdigit() and int(given) else 1


def _blocks(node: Any) -> Iterator[str]:
    """The blocks below `node`; text that stands loose between them is a block of its own."""
    loose = [node.text or ""]
    for child in node:
        if _is_inline(child):
            loose += _inline_text(child)
        else:
            yield from _paragraph(loose)
            loose = []
            yield from _block(child)
        loose.append(child.tail or "")
    yield from _paragraph(loose)


def _is_inline(node: Any) -> bool:
    if not isinstance(node.tag, str) or node.tag == "br":
        return True
    # Some pages wrap whole sections into a link or a span.
    return node.tag in _INLINE and not any(child.tag not in _INLINE for child in node.iter() if _is_block(child))


def _is_block(node: Any) -> bool:
    return isinstance(node.tag, str) and node.tag not in _INLINE and node.tag != "br"


def _block(node: Any) -> Iterator[str]:
    if node.tag in _STRUCK:
        return
    if node.tag == "table" and not is_layout(node):
        yield from _table(node)
    else:
        yield from _BLOCKS.get(node.tag, _blocks)(node)


def _heading(node: Any) -> Iterator[str]:
    words = _words("".join(_inline_text(node))).replace("\n", " ")
    if words:
        yield f"{'#' * _HEADINGS[node.tag]} {words}"


def _quoted(node: Any) -> Iterator[str]:
    quoted = "\n\n".join(_blocks(node))
    if quoted:
        yield "\n".join(f"> {line}".rstrip() for line in quoted.split("\n"))


def _term(node: Any) -> Iterator[str]:
    yield from (f"{words}{_TERM}" for words in _blocks(node))


def _meaning(found: re.Match[str]) -> str:
    """What stands between a term and what it means, or another term that means the same."""
    if found[1] is None:
        return ""
    return f"\n{found[1]}{'' if found[2] else _SET_IN}"


def _paragraph(parts: list[str]) -> Iterator[str]:
    words = _words("".join(parts))
    if words:
        yield "\n".join(f"\\{line}" if _MISREAD.match(line) else line for line in words.split("\n"))


def _inline_text(node: Any) -> list[str]:
    """The text of `node` and below, without its tail; blocks inside are set apart by a space."""
    if not isinstance(node.tag, str) or node.tag in _STRUCK:
        return []
    instead = _instead(node)
    if instead is not None:
        return [instead]
    parts = [{"sup": RAISED, "sub": LOWERED}.get(node.tag, ""), node.text or ""]
    for child in node:
        parts += _inline_text(child) if _is_inline(child) else [" ", *_inline_text(child), " "]
        parts.append(child.tail or "")
    return parts


def _instead(node: Any) -> str | None:
    """What stands for an inline element whose text is not what it says; None for others."""
    if node.tag == "br":
        return _LINE_BREAK
    if node.tag in ("rp", "rt"):
        # What is set above a word; older browsers show the brackets that may stand around it.
        return f"({''.join(node.itertext()).strip()})" if node.tag == "rt" else ""
    if node.tag == "input":
        return _CHOSEN[node.get("checked") is not None] if node.get("type") in ("checkbox", "radio") else ""
    if node.tag == "sup" and node.find(".//a") is not None:
        # The mark of a note, which is no part of the word or the number before it.
        mark = "".join(node.itertext()).strip().strip("[]")
        return f"[{mark}]"
    return "" if node.tag == "a" and _leads_to_itself(node) else None


def _leads_to_itself(link: Any) -> bool:
    """Whether a link without words leads to what it stands in, as the "¶" behind the headings of manuals."""
    target = link.get("href", "").removeprefix("#")
    if not target or any(map(str.isalnum, "".join(link.itertext()))):
        return False
    return any(target == above.get("id") for above in link.iterancestors())


def _words(text: str) -> str:
    """`text` with white space as a browser shows it."""
    lines = (" ".join(line.split()) for line in with_raised(text).split(_LINE_BREAK))
    return "\n".join(line for line in lines if line)


def _code(node: Any) -> Iterator[str]:
    code = "".join(node.itertext()).strip("\n").rstrip()
    if code.strip():
        longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
        fence = "`" * (longest + 1)
        yield f"{fence}\n{code}\n{fence}"


def _list(node: Any) -> Iterator[str]:
    items: list[str] = []
    marks, mark = _marks(node), "- "
    for item in (child for child in node if isinstance(child.tag, str)):
        inner = item.tag in ("ul", "ol")
        # A list that stands directly in another one belongs to the item before it.
        mark = mark if inner else next(marks)
        text = "\n".join(_list(item) if inner else _blocks(item))
        if text:
            indent = " " * len(mark)
            items.append((indent if inner and items else mark) + text.replace("\n", "\n" + indent))
    if items:
        yield "\n".join(items)


def _marks(node: Any) -> Iterator[str]:
    """What a browser shows before each item of a list."""
    items, step = node.xpath("./*[not(self::ul or self::ol)]"), -1 if node.get("reversed") is not None else 1
    number = _integer(node.get("start"), len(items) if step < 0 else 1)
    for item in items:
        number = _integer(item.get("value"), number)
        letter = _LETTERS.get(node.get("type", ""), "")[number - 1 : number] if number > 0 else ""
        yield "- " if node.tag == "ul" else f"{letter or number}. "
        number += step


def _integer(given: str | None, otherwise: int) -> int:
    return int(given) if given and re.fullmatch(r"-?[0-9]{1,9}", given) else otherwise


def _table(node: Any) -> Iterator[str]:
    yield from (words for caption in node.xpath("./caption") for words in [_cell_text(caption)] if words)
    rows = table_rows(node)
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    if rows and len(rows[0]) > 1:
        # Markdown knows only tables whose first row is a heading.
        lines.insert(1, "|" + "---|" * len(rows[0]))
    if lines:
        yield "\n".join(lines)


_BLOCKS: dict[str, Callable[[Any], Iterator[str]]] = {
    **dict.fromkeys(_HEADINGS, _heading),
    **{"blockquote": _quoted, "dt": _term, "ol": _list, "pre": _code, "ul": _list},
}


NO_TEXT = "the page has no main text; if a script writes it, save the page from the browser"
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_REPLACEMENT = "\ufffd"
# What no XML library takes.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BOILERPLATE = (
    "//script|//style|//noscript|//template|//iframe|//svg|//nav|//footer|//aside|//dialog|//button|//select"
    "|//header[not(ancestor::main or ancestor::article)]|//*[@hidden or @aria-hidden='true']"
    "|//*[@role='navigation' or @role='banner' or @role='contentinfo' or @role='search' or @role='dialog'"
    " or @role='alertdialog']"
)
_CONSENT = re.compile(r"cookie|consent|gdpr", re.IGNORECASE)
_BANNER = re.compile(r"(?:cookies?|consent|gdpr)[-_]?(?:banner|bar|notice|popup|modal|overlay|wall|law|manager)", re.I)
_MAX_BANNER_CHARS = 2000
_MENU_SHARE = 0.8
_STEPS, _STEP_KEYS = frozenset({"prev", "next", "up", "home"}), frozenset({"p", "n", "u", "h"})
# With more around them there is text beside the links.
_MAX_STEPS_CHARS = 300
# The parser compares each attribute of an element with all before it.
MAX_ATTRIBUTES = 1000
# An attribute as parsers of HTML tell it, a comment, and what begins an element, its attributes and its end.
_ATTRIBUTE = r"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>]*+))?+"""
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE)
_ELEMENT = re.compile(
    rf"<!--(?:-?>|.*?(?:--!?>|\Z))|<([a-z][^\s/>]*+)((?:[\s/]*+{_ATTRIBUTE})*+)([\s/]*+)", re.IGNORECASE | re.DOTALL
)
# What stands in these is no markup.
_RAW = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style")}


@dataclass(frozen=True)
class Page:
    """What a web page says.

    Attributes:
        text: its main text as Markdown: headings, paragraphs, lists, and tables row by row.
        title: `<title>`, else the only `<h1>`, else empty.
        warnings: what had to be repaired, one sentence each.
    """

    text: str
    title: str
    warnings: tuple[str, ...] = ()


def load_html(data: bytes) -> Page:
    """The main text of the page in `data`, without navigation, scripts and cookie banners.

    Raises:
        IngestError: the page has no main text, is too damaged to be read, or trafilatura cannot be loaded.
    """
    trafilatura = optional_package("trafilatura", "HTML")
    text, warnings = decode_html(data)
    if any(count > MAX_ATTRIBUTES for count in _attribute_counts(text)):
        raise IngestError(f"an element of the page has more than {MAX_ATTRIBUTES:_} attributes")
    try:
        whole = _XML_DECLARATION.sub("", _CONTROL.sub(_REPLACEMENT, text))
        tree = trafilatura.load_html(whole)
        if tree is None:
            # It takes a single element for no page.
            tree = trafilatura.load_html(f"<html><body>{whole}</body></html>")
        if tree is None:
            raise IngestError(NO_TEXT)
        title = _title(tree)
        markdown = html_markdown(_content(_cleaned(tree)))
    except IngestError:
        raise
    except Exception as error:  # whatever a parser makes of a damaged page
        raise IngestError(f"the page cannot be read: {type(error).__name__}: {error}") from error
    if not re.search(r"\w", markdown):
        raise IngestError(NO_TEXT)
    return Page(markdown, title, tuple(warnings))


def _attribute_counts(text: str) -> Iterator[int]:
    """How many attributes each element of the page has."""
    at = 0
    while found := _ELEMENT.search(text, at):
        at = found.end()
        if found[1] is None:
            continue
        yield sum(1 for _ in _ONE_ATTRIBUTE.finditer(found[2]))
        raw = None if "/" in found[3] else _RAW.get(found[1].lower())
        if raw is not None:
            closed = raw.search(text, at)
            at = closed.start() if closed else len(text)


def decode_html(data: bytes) -> tuple[str, list[str]]:
    """The text of a page, by its byte order mark, as UTF-8, or as trafilatura takes it, by declaration and content."""
    from trafilatura.utils import detect_encoding

    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return _decoded(data, name)
    for name in ("utf-8", *detect_encoding(data)):
        try:
            return data.decode(name), []
        except (ValueError, LookupError):
            continue
    return _decoded(data, "utf-8")


def _decoded(data: bytes, encoding: str) -> tuple[str, list[str]]:
    text = data.decode(encoding, errors="replace")
    replaced = text.count(_REPLACEMENT)
    return text, [f"{replaced} places that are not {encoding} were replaced"] if replaced else []


def _title(tree: Any) -> str:
    for path in ("//head//title", "//title", "//h1"):
        titles = [" ".join("".join(node.itertext()).split()) for node in tree.xpath(path)]
        # The first of several headings names its section alone.
        if (said := list(filter(None, titles))) and (path != "//h1" or len(said) == 1):
            return said[0]
    return ""


def _cleaned(tree: Any) -> Any:
    """The page without what is no content by its element, by its role or, as trafilatura knows them, by its name."""
    from trafilatura.htmlprocessing import prune_unwanted_nodes
    from trafilatura.xpaths import OVERALL_DISCARD_XPATH

    for node in tree.xpath("//body//div|//body//section|//body//form|//body//p"):
        if _asks_for_consent(node):
            _drop(node)
        elif _CONSENT.search(_names(node)):
            # trafilatura would take every section of such a name for a banner.
            for name in ("id", "class"):
                node.attrib.pop(name, None)
    for node in tree.xpath(_BOILERPLATE):
        _drop(node)
    return prune_unwanted_nodes(tree, OVERALL_DISCARD_XPATH, with_backup=True)


def _content(tree: Any) -> Any:
    """The element with the main text: what the page itself says is it, else its body without menus."""
    body = tree.find(".//body")
    body = tree if body is None else body
    main = tree.xpath("//main|//*[@role='main']")
    articles = tree.xpath("//article[not(ancestor::article)]")
    named = main or articles
    if len(named) == 1 and _length(named[0]) >= _length(body) / 2:
        return named[0]
    for node in body.xpath(".//ul|.//ol|.//div|.//p"):
        if not node.xpath("ancestor::main|ancestor::article") and _is_menu(node):
            _drop(node)
    return body


def _is_menu(node: Any) -> bool:
    """Whether `node` holds several links and next to nothing else, or leads to the pages before and behind this one."""
    links = node.xpath(".//a[@href]")
    if len(links) > 1 and all(map(_is_step, links)) and _length(node) < _MAX_STEPS_CHARS:
        return True
    return len(links) > 2 and sum(map(_length, links)) > _MENU_SHARE * _length(node)


def _is_step(link: Any) -> bool:
    """Whether `link` leads to a neighbour of its page, by HTML's word for that or by the key of DocBook's pages."""
    return not _STEPS.isdisjoint(link.get("rel", "").split()) or link.get("accesskey") in _STEP_KEYS


def _length(node: Any) -> int:
    return len("".join(node.itertext()).strip())


def _asks_for_consent(node: Any) -> bool:
    """Whether `node` is a cookie banner, and not a section of a manual about cookies."""
    names = _names(node)
    if not _CONSENT.search(names) or node.xpath(".//main|.//article|.//h1"):
        return False
    if _BANNER.search(names):
        return True
    return bool(node.xpath(".//button|.//input")) and _length(node) < _MAX_BANNER_CHARS


def _names(node: Any) -> str:
    return f"{node.get('id', '')} {node.get('class', '')}"


def _drop(node: Any) -> None:
    parent = node.getparent()
    if parent is None:
        return
    # lxml hangs the text behind an element on the element itself.
    before = node.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (node.tail or "")
    else:
        parent.text = (parent.text or "") + (node.tail or "")
    parent.remove(node)

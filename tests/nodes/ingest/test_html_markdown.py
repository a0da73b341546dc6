"""Elements of a page as Markdown (K2)."""

from __future__ import annotations

import pytest

from groundgraph.answers.evidence_blocks import Shape, in_markdown
from groundgraph.answers.sentence_index import sentences_of
from groundgraph.ingest.blocks import markdown_blocks
from groundgraph.ingest.load_html import html_markdown

pytestmark = pytest.mark.covers("K2")

lxml_html = pytest.importorskip("lxml.html")


def markdown(body: str) -> str:
    return html_markdown(lxml_html.fromstring(f"<div>{body}</div>"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("loose <b>bold</b> text", "loose bold text\n"),
        ("<p>one<br>two</p>three", "one\ntwo\n\nthree\n"),
        ("<h3>A <i>b</i>\n c</h3>", "### A b c\n"),
        ("<h2> </h2><p></p>text", "text\n"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c\n"),
        ("<ol><li>a</li><li><p>b</p></li></ol>", "1. a\n2. b\n"),
        ("<ol start=5><li>a<li>b<li value=9>c<li>d</ol>", "5. a\n6. b\n9. c\n10. d\n"),
        ("<ol reversed><li>a<li>b</ol><ol type=a start=2><li>c</ol>", "2. a\n1. b\n\nb. c\n"),
        ("<ol><li>a</li><ul><li>x</li></ul><li>b</li></ol>", "1. a\n   - x\n2. b\n"),
        ("<dl><dt>a<dt>b<dd>c<dd>d<dt>e<dd><ul><li>f</ul></dl>", "a\nb\n    c\n\nd\n\ne\n\n- f\n"),
        ("<ul><li><dl><dt>a</dt><dd><p>b</p></dd></dl></li></ul>", "- a\n      b\n"),
        ("<ul><li><dl><dt>a</dt><dd><ul><li>b</ul></dd></dl></li><li><dl><dt>c</dl></ul>", "- a\n  - b\n- c\n"),
        ("<dl><div><dt>a</dt><dd>b<br>c</dd></div><div><dt>d</dt></div></dl><dl><dt>e", "a\n    b\nc\n\nd\ne\n"),
        (
            "<section id=a><h2>A<a href='#a'>¶</a></h2><p>b<a href='#n'>*</a> <a href='#a'>a</a></section>",
            "## A\n\nb* a\n",
        ),
        ("<dl><dt id=f><code>f()</code><a href='#f'>¶</a><dd>b</dl>", "f()\n    b\n"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b\n"),
        ("<pre>\n a\n  b\n</pre>", "```\n a\n  b\n```\n"),
        ("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````\n"),
        ("<table><tr><td>only</td></tr></table>", "| only |\n"),
        ("<table><caption>Parts</caption><tr><td>a</td><td>b</td></tr></table>", "Parts\n\n| a | b |\n|---|---|\n"),
        ("<table><caption><b>In\n€</b> <s>now</s></caption><tr><td>a</td></tr></table>", "In €\n\n| a |\n"),
        ("<table><tr><td>a<br>b</td><td>c|d<p>e</p></td></tr></table>", "| a b | c\\|d e |\n|---|---|\n"),
        ("10<sup>6</sup> l, 10<sup>-3</sup> m<sup>2</sup>, <b>25</b><sup>1</sup> kg", "10^6 l, 10^-3 m², 25^1 kg\n"),
        ("2<sup>n</sup>, x<sup>-1</sup>, (a+b)<sup>2</sup>, 1<sup>o</sup>", "2^n, x⁻¹, (a+b)², 1o\n"),
        ("H<sub>2</sub>O, 10<sub>2</sub>, 1<sup>st</sup>", "H2O, 10_2, 1st\n"),
        ("25 kg<sup><a href='#n'>1</a></sup> and 7<sup><a>[2]</a></sup>", "25 kg[1] and 7[2]\n"),
        ("<p>now <del>90</del> 70</p><del><p>gone</p></del>", "now 70\n"),
        ("<p><input type=radio checked>Yes<br><input type=checkbox>No <input value=x></p>", "☒ Yes\n☐ No\n"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</rt></ruby>は", "漢(kan)字(ji)は\n"),
        ("<p>a <math alttext='x^2'><mi>x</mi><mn>2</mn></math> b <math><mn>1</mn></math></p>", "a x^2 b [formula]\n"),
        ("a<!-- no -->b<?pi no?>c", "abc\n"),
        ("<a href='x'><h2>Linked</h2></a>text", "## Linked\n\ntext\n"),
        ("snake_case *stars* &lt;tag&gt; 1. C:\\path", "snake_case *stars* <tag> 1. C:\\path\n"),
    ],
)
def test_elements_are_marked_and_words_stay_as_they_are(body, expected):
    assert markdown(body) == expected


def test_a_definition_list_is_read_as_a_glossary():
    text = markdown("<dl><dt>seal ring</dt><dd>Keeps oil in.</dd><dt>valve</dt><dd>Lets oil out.</dd></dl>")
    assert in_markdown(Shape(text), 0, len(text)) == "seal ring  \nKeeps oil in.\n\nvalve  \nLets oil out."
    # Ruled out as code, what a term means would answer nothing.
    assert [one.quotable for one in sentences_of(text)] == [True, True]


@pytest.mark.parametrize("text", ["# include", "```", "---", "===", "&gt; quoted"])
def test_words_that_look_like_markup_become_no_heading(text):
    blocks = markdown_blocks(markdown(f"<h2>Real</h2><p>before<br>{text}</p><p>{text}</p><p>after</p>"))
    assert [block.title for block in blocks if block.level] == ["Real"]


def test_a_cell_that_spans_rows_stands_in_each_and_one_that_spans_columns_once():
    body = (
        "<table><tr><th>Part<th>Size<th>Price</tr><tr><td rowspan=2>Valve<td>small<td>9</tr><tr><td>large<td>13</tr>"
        "<tr><td>Nut<td colspan=2>free</tr><tr><td>Bolt<td>m<td rowspan=2>3</tr><tr><td>Pin<td>l</tr>"
        "<tr><td rowspan=99999 colspan=x>Cap<td>s<td>1</tr></table>"
    )
    assert markdown(body).splitlines() == [
        "| Part | Size | Price |",
        "|---|---|---|",
        *("| Valve | small | 9 |", "| Valve | large | 13 |", "| Nut | free |  |"),
        *("| Bolt | m | 3 |", "| Pin | l | 3 |", "| Cap | s | 1 |"),
    ]


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ("<tr><td rowspan=2>Part<td colspan=2>Size<tr><td>from<td>to", "| Part | Size from | Size to |"),
        ("<tr><td rowspan=2 colspan=2>Part<td colspan=2>Size<tr><td>from<td>to", "| Part |  | Size from | Size to |"),
        ("<tr><th><th colspan=2>2026<tr><th>City<th>a<th>b", "| City | 2026 a | 2026 b |"),
        # No names: a row below a title, below two cells of a row, below cells that all stand for themselves.
        ("<tr><th colspan=2>Prices<tr><th>Part<th>Price", None),
        ("<tr><td>Part<td colspan=2>Size<tr><td>Valve<td>1<td>2", None),
        ("<tr><th>Part<th>Size<tr><th>Valve<th>1", None),
        ("<tr><td rowspan=2>Valve<td>small<td>9<tr><td>large<td>13", None),
        ("<tr><td rowspan=3>Part<td colspan=2>Size<tr><td>from<td>to", None),
        ("<tr><td rowspan=2>Part<td colspan=2>Size<tr><td>from<td>to<td>more", None),
        (f"<tr><td rowspan=2>Part<td colspan=2>{'Size ' * 30}<tr><td>from<td>to", None),
    ],
)  # fmt: skip
def test_two_rows_that_name_the_columns_together_are_one(rows, names):
    first, _, second, *_ = markdown(f"<table>{rows}<tr><td>Nut<td>3<td>4</table>").splitlines()
    assert (first if names else None, "Nut" in second) == (names, bool(names))


def test_a_row_without_text_is_left_out_and_empty_cells_stay():
    rows = "<tr><th>a</th><th>b</th></tr><tr><td></td><td> </td></tr><tr><td></td><td>2</td></tr>"
    assert markdown(f"<table>{rows}</table>") == "| a | b |\n|---|---|\n|  | 2 |\n"

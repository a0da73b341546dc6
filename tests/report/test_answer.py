"""The answer on the page: Markdown, labels, signs at sentences."""

from __future__ import annotations

import re

import pytest

from groundgraph.answers.citations import claims_of
from groundgraph.report.answer import AnswerPage
from groundgraph.report.evidence import claim_key
from groundgraph.report.words import matches

pytestmark = pytest.mark.covers("V3")


def page(*labels: int, flags=(), written: int = 100, targets=None) -> AnswerPage:
    return AnswerPage(frozenset(labels), targets or {}, list(flags), written, "no finding", "finding")


def test_labels_are_links_to_the_passage_that_each_sentence_rests_on():
    text = "The **first** thing [1]. The second thing [1][2].\n\n- A third `[1]` \\[1\\] [7] [1, 2]."
    first, second, _ = claims_of(text)
    targets = {(1, claim_key(first.text)): "q1", (1, claim_key(second.text)): "q1-2"}
    shown = page(1, 2, targets=targets)
    rendered = str(shown.render(text))
    assert re.findall(r'<a id="(\S+)" href="#(\S+)" data-label="(\d)">\d</a>', rendered) == [
        ("c1-1", "q1", "1"), ("c1-2", "q1-2", "1"), ("c2-1", "q2", "2"), ("c1-3", "q1", "1"), ("c2-2", "q2", "2"),
    ]  # fmt: skip
    assert "<code>[1]</code> [1] " in rendered, "neither code nor an escaped bracket is a label"
    assert "[7]" in re.sub(r"</?span[^>]*>", "", rendered), "a label without evidence is text"
    assert shown.uses == {1: ["c1-1", "c1-2", "c1-3"], 2: ["c2-1", "c2-2"]}


def test_every_sentence_that_a_model_wrote_and_that_cites_has_its_mark():
    text = (
        "# Head [1]\n\nFine is this [1]. Wrong is *that* `code` [2]! Uncited it ends.\n\n## Sources\n\n- [1] Listed [1]"
    )
    flag = claims_of(text)[2].flag("number_unsupported", "2")
    assert flag["sentence"].startswith("Wrong")
    shown = page(1, 2, flags=[flag], written=3)
    rendered = str(shown.render(text))
    assert rendered.count('class="sign good"') == 1
    assert '<span class="claim flagged"><span id="s1" tabindex="-1"></span>Wrong is <em>that</em>' in rendered
    assert '<a class="sign warn" href="#f1" aria-label="finding 1">' in rendered
    assert shown.placed == {1}
    assert "<h3>Head" in rendered


@pytest.mark.covers("A12")
def test_the_words_of_a_quote_that_match_the_question_are_marked_and_no_others():
    shown = page(1)
    shown.matches = lambda text: matches(text, {"question": "Is a [pump] <b>serviced</b>?"})
    rendered = str(shown.render("Pumps:\n\n> A **pump** is `serviced`. [1]\n>\n> ```\n> pump(<b>)\n> ```"))
    assert "<p>Pumps:</p>" in rendered
    assert "<strong><mark>pump</mark></strong> is <code><mark>serviced</mark></code>" in rendered
    assert "<pre><code><mark>pump</mark>(&lt;<mark>b</mark>&gt;)\n</code></pre>" in rendered


def test_a_long_sentence_that_a_finding_cut_is_found_again():
    text = "- " + "very " * 80 + "long [1]."
    [claim] = claims_of(text)
    assert claim.flag("low_support", "")["sentence"].endswith("…")
    shown = page(1, flags=[claim.flag("low_support", "")])
    shown.render(text)
    assert shown.placed == {1}


@pytest.mark.covers("fault 65")
@pytest.mark.parametrize(
    "text",
    [
        "<b onclick=x>bold</b> <script>x</script>",
        "[click](javascript:x) ![i](http://outside.example/i.png) <http://outside.example>",
        "[1]: http://outside.example\n\nSee [1] and [text][1].",
        "```html\n<script>x</script>\n```\n\n    <script>indented</script>",
        "| a | b |\n|:--|--:|\n| <img src=x> | [1] |",
        "&lt;script&gt; &#60;img&#62; \u202e",
        "# " + "> " * 300 + "deep",
        "**" * 2000 + "[" * 2000,
    ],
)
def test_an_answer_makes_no_link_image_style_or_tag_of_its_own(text):
    rendered = str(page(1).render(text))
    allowed = {*("p", "h3", "blockquote", "pre", "code", "span", "a", "i", "em", "strong", "ul", "ol", "li"),
               *("table", "thead", "tbody", "tr", "th", "td")}  # fmt: skip
    tags = re.findall(r"<(/?)(\w+)([^>]*)>", rendered)
    assert {name for _, name, _ in tags} <= allowed
    for _, _, attributes in tags:
        assert not re.search(r"\b(on\w+|style|src)=", attributes)
        assert all(target.startswith("#") for target in re.findall(r'href="([^"]*)"', attributes))


def test_where_a_quotation_stands_is_a_line_of_its_own_and_nothing_in_it_is_marked():
    record = {"question": "Which pump?", "written": 0}
    shown = page(1)
    shown.matches = lambda text: matches(text, record)
    rendered = str(shown.render("> Pump 17 leaks. [1]\n> — Care of the pump"))
    assert "<mark>Pump</mark> 17 leaks." in rendered
    assert rendered.rstrip().endswith("\n<cite>— Care of the pump</cite></p>\n</blockquote>")
    assert "<cite>" not in str(page(1).render("A model wrote [1]\n— a dash"))

"""The label gate: what leaves it never depends on the pieces, and no label leaves it that refers to nothing (V1,
T7)."""

from __future__ import annotations

import re

import pytest
from gate_pieces import passed
from hypothesis import example, given
from hypothesis import strategies as st

from groundgraph.answers.answer_gate import ThoughtGate
from groundgraph.answers.label_gate import CODE, LABEL, LabelGate, at_their_places, escape_labels, label_numbers

FRAGMENTS = [
    *("[1]", "[2, 3]", "[1-4]", "[9]", "【2】", "［9］", "[1", "[", "]", "[12", ", ", "–", "3]", "[1; 9]", "[0]"),
    *("[Source 1]", "[^2]", "[1, p. 3]", "【9†L3-L5】", "[doc", "9]", "[passage: ", "†", "^", "[Источник 2]"),
    *("(1)", "word (2).", "(", ")", "(3", "!", "(Source 2)", "(see", " (passages 1, 3)", "(doc"),
    *("`", "``", "```", "``` a [9]\n```", "`x[9]`", "\\", "\\[1]", "\\\\", "\\`"),
    *("<think>", "</think>", "<THINK>", "<thinking>", "</thinking>", "<reasoning>", "</reasoning>", "<th", "<", ">"),
    *("word", " ", "\t", "\n", "\n\n", ".", "é", "Ж", "漢字", "👩\u200d💻", "\u0301", "\u202e", "שלום", "[link](u)"),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join)
ALLOWED = st.sets(st.integers(0, 5), max_size=5)


def gated(text: str, allowed=(1, 2, 3, 4)) -> str:
    """`text` without thoughts, and without the labels that are not `allowed`."""
    return LabelGate(allowed).feed(ThoughtGate().feed(text, final=True), final=True)


def outside_code(text: str) -> set[int]:
    prose = CODE.sub("`", text)
    return {number for found in LABEL.finditer(prose) for number in label_numbers(found.group(1))}


@pytest.mark.covers("T7", "fault 26", "fault 73")
@pytest.mark.guard
@given(TEXTS, ALLOWED, st.data(), st.booleans(), st.booleans())
@example("a [1", {1}, None, False, False)
@example("a (1).", {1}, None, True, False)
@example("a [1] (passages 1, 3)", {1, 3}, None, True, True)
def test_streamed_text_and_counts_equal_the_unstreamed_ones_whatever_the_pieces(
    text, allowed, data, parentheses, renumber
):
    whole, pieces = (LabelGate(allowed, renumber, parentheses=parentheses) for _ in range(2))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text))))) if data else range(len(text))
    bounds = [0, *cuts, len(text)]
    parts = [text[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
    assert passed(pieces, *parts) == passed(whole, text)
    assert (pieces.removed, pieces.used) == (whole.removed, whole.used)
    assert passed(ThoughtGate(), *parts) == passed(ThoughtGate(), text)


@pytest.mark.guard
@given(TEXTS, ALLOWED)
def test_no_label_outside_the_allowed_ones_survives_outside_code(text, allowed):
    assert outside_code(gated(text, allowed)) <= allowed


@given(st.lists(st.sampled_from(["word ", "[1]", " [2, 3]", "【4】", ".", "\n", "[1-3]", "漢"])).map("".join))
def test_allowed_labels_survive_in_their_order(text):
    gate = LabelGate(range(1, 5))
    passed = gate.feed(text, final=True)
    wanted = list(dict.fromkeys(n for found in LABEL.finditer(text) for n in label_numbers(found.group(1))))
    assert gate.used == wanted
    assert gate.removed == []
    assert outside_code(passed) == set(wanted)


@pytest.mark.covers("fault 3")
@pytest.mark.guard
@given(st.text(st.characters(exclude_categories=("Cs",))).filter(lambda text: not re.search(r"[<\[［【]", text)))
def test_any_unicode_passes_byte_for_byte(text):
    assert gated(text) == text


@pytest.mark.covers("fault 26")
def test_a_label_that_refers_to_nothing_is_removed_and_counted():
    gate = LabelGate(range(1, 5))
    assert gate.feed("Yes [1]. No [9].", final=True) == "Yes [1]. No."
    assert gate.removed == [9]
    assert gate.used == [1]


@pytest.mark.covers("fault 21", "fault 29")
@pytest.mark.parametrize(
    ("text", "passed"),
    [
        *(
            (f"<{tag}>secret [9] `code\n</{tag}>\n\nAnswer [1].", "Answer [1].")
            for tag in ("think", "thinking", "reasoning", "THINK")
        ),
        ("Answer.<think>and so on", "Answer."),
        ("One <think>x</think> two.", "One two."),
        ("a <thin> b <thinker> c < d", "a <thin> b <thinker> c < d"),
        ("A stray ` tick [9].\nNext [9].", "A stray ` tick.\nNext."),
        ("`a[9]` and\n```\nb[9] <think>\n```\nand \\[9]", "`a[9]` and\n```\nb[9] <think>\n```\nand \\[9]"),
        ("``a[9]`` and ``b[`9]`` and ``c [9].", "``a[9]`` and ``b[`9]`` and ``c."),
        ("A [2-6].", "A [2, 3, 4]."),
        ("A [7-9].", "A."),
        *((f"Half an answer{dangling}", "Half an answer") for dangling in ("[", " [1", " [1, ", "【12", "\t[1-")),
    ],
)
def test_thoughts_and_labels_that_refer_to_nothing_go_and_all_else_stays(text, passed):
    assert gated(text) == passed


@pytest.mark.parametrize("text", ["[[9]9]", "[<think>x</think>9]", "``[9]`[9]`", "[8, [9]9]"])
def test_what_stood_around_a_removed_part_does_not_join_to_a_label(text):
    assert outside_code(gated(text, ())) == set()


@pytest.mark.parametrize("label", ["[" + "1, " * 30 + "9]", "[" + "1, " * 99 + "9]", "[" + " " * 300 + "9]"])
def test_a_very_long_label_is_read_alike_in_pieces_and_as_a_whole(label):
    gate = LabelGate([1])
    text = " " * 300 + label + " end"
    assert "".join(map(gate.feed, text)) + gate.feed("", final=True) == gated(text, [1])
    assert outside_code(gated(text, [1])) <= {1}


@pytest.mark.covers("fault 73")
@pytest.mark.parametrize("label", ["[12]", "[1, 2]", "【12】", "[1 - 2]"])
def test_a_label_split_anywhere_leaves_whole_once_it_is_complete(label):
    for cut in range(1, len(label)):
        gate = LabelGate(range(1, 13))
        assert gate.feed("See " + label[:cut]) == "See"
        assert gate.feed(label[cut:]) == " " + gated(label, range(1, 13))


def test_only_what_may_become_a_label_is_held_back():
    gate = LabelGate([1])
    assert gate.feed("word [") == "word"
    assert gate.feed("x") == ""
    assert gate.feed("y] and") == " [xy] and"
    assert gate.feed(" [" + "x" * 81) == " [" + "x" * 81


@pytest.mark.covers("A21")
@pytest.mark.parametrize(
    "label",
    ["[Source 1]", "[source: 1]", "[passage 1]", "[Passage #1]", "[^1]", "[doc1]", "[1, p. 3]", "[1, pages 3-5]",
     "[1 p.3]", "[^1^]", "[cite: 1]", "【1†source】", "【1†L3-L5】", "[Источник 1]", "[1, стр. 3]"],
)  # fmt: skip
def test_a_label_as_models_write_it_is_that_label(label):
    assert gated(f"Every 90 days {label}.") == "Every 90 days [1]."
    assert gated(f"Every 90 days {label}.", allowed=[2]) == "Every 90 days."


@pytest.mark.parametrize(
    "label",
    ["[Source 1, Source 3]", "[^1; ^3]", "[Passage 1 and Passage 3]", "[cite: 1,3]", "[documents 1, and 3]",
     "[Quelle 1; Quelle 3]", "[Источник 1, Источник 3]"],
)  # fmt: skip
def test_each_number_of_a_label_may_have_a_name_of_its_own(label):
    gate = LabelGate(range(1, 5))
    assert gate.feed(f"Every 90 days {label}.", final=True) == "Every 90 days [1, 3]."
    assert (gate.used, gate.removed) == ([1, 3], [])


@pytest.mark.covers("A21")
@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("Every 90 days (2). Yearly (1)!", "Every 90 days [1]. Yearly [2]!"),
        ("Every 90 days [2]. See step (1).", "Every 90 days [1]. See step (1)."),
        (
            "Every 90 days (2). Yearly (1), or (1) twice (3) then.",
            "Every 90 days [1]. Yearly [2], or [2] twice [3] then.",
        ),
        # What stays as it is makes all of them text: else (1) and [1] would be two passages.
        ("Every 90 days (1), and yearly (2).", None),
        ("By paragraph (2) of it, yearly (1).", None),
        ("Every 90 days (7). Yearly f(1). Then (1) or `a (1).`", None),
        ("(1).5 is (2) of (1).x", None),
    ],
)
def test_a_number_in_parentheses_is_a_label_at_the_end_of_a_sentence_where_no_other_form_was_written(text, passed):
    gate = LabelGate(range(1, 5), renumber=True, parentheses=True)
    assert gate.feed(text, final=True) == (passed or text)
    assert gated(text, [2]) == text


@pytest.mark.covers("A21")
@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("Every 90 days (Source 2). Yearly (source 1), [2].", "Every 90 days [1]. Yearly [2], [1]."),
        ("Every 90 days (Passages 3, 2) or (Источник 1).", "Every 90 days [1, 2] or [3]."),
        ("Yearly (Source 9), (Sources), (source code 2), (Source 2 and more), `(Source 2)` and resource(2).", None),
    ],
)
def test_a_named_number_in_parentheses_is_a_label(text, passed):
    gate = LabelGate(range(1, 5), renumber=True, parentheses=True)
    assert gate.feed(text, final=True) == (passed or text)
    assert gated(text.replace("[2]", "it")) == text.replace("[2]", "it")


@pytest.mark.covers("A21")
def test_a_zero_by_itself_is_a_label_without_evidence():
    gate = LabelGate(range(1, 5))
    assert gate.feed("Every 90 days [0]. So [1][0] it is [ 0 ].", final=True) == "Every 90 days. So [1] it is."
    assert gate.removed == [0, 0, 0]
    quoted = escape_labels("as in [0], arr[0] and [0, 1]")
    assert gate.feed(quoted, final=True) == quoted == r"as in \[0], arr[0] and [0, 1]"


@pytest.mark.covers("A21")
@pytest.mark.parametrize(
    "text",
    ["arr[0] is the first", "in [0, 1]", "[Figure 1]", "[2^10]", "[cited 1]", "[see 1]", "[sources]", "[1 of 3]"],
)
def test_what_cannot_name_evidence_is_text(text):
    assert gated(text) == text


@pytest.mark.parametrize(
    ("inside", "numbers"),
    [
        ("1", [1]),
        ("1, 3-5", [1, 3, 4, 5]),
        ("1;2，3、4", [1, 2, 3, 4]),
        ("2, 2, 1", [2, 1]),
        ("5–6", [5, 6]),
        ("5-3", [5, 3]),
        ("1-999", list(range(1, 100))),
    ],
)
def test_label_numbers_spells_ranges_out_within_a_bound(inside, numbers):
    assert label_numbers(inside) == numbers


@given(TEXTS)
def test_everything_that_the_label_pattern_finds_has_numbers(text):
    for found in LABEL.finditer(text):
        assert 0 < len(label_numbers(found.group(1))) <= 99 * 33


@pytest.mark.guard
@given(TEXTS)
def test_escaped_evidence_holds_no_label_of_its_own(text):
    assert outside_code(escape_labels(text)) == set()
    assert gated("x" + escape_labels("[1] [9] 【2】"), ()) == "x\\[1] \\[9] \\【2】"


@given(TEXTS)
def test_escaping_only_adds_backslashes_and_leaves_code_alone(text):
    escaped = escape_labels(text)
    assert escape_labels(escaped) == escaped
    assert escaped.replace("\\", "") == text.replace("\\", "")
    assert [found.group() for found in CODE.finditer(text)] == [found.group() for found in CODE.finditer(escaped)]


@pytest.mark.covers("fault 86")
@pytest.mark.parametrize(
    ("found", "shown"),
    [
        ('```mermaid\nclick A "https://e.test"\n```', '```\nclick A "https://e.test"\n```'),
        ("```svg\n<image href='//e.test/x'/>\n```", "```\n<image href='//e.test/x'/>\n```"),
        ("````html\n<b>x</b>\n````", "````\n<b>x</b>\n````"),
        ("```{.latex}\n\\includegraphics{https://e.test/x}\n```", "```\n\\includegraphics{https://e.test/x}\n```"),
        ("> ~~~ {.mermaid a~b}\n> click A\n> ~~~", "> ~~~\n> click A\n> ~~~"),
        *((same, same) for same in ("```mermaid\nA-->B\n```", "```python\nx = 1 // 2\n```", "~~~sql\nSELECT 1\n~~~")),
    ],
)
def test_a_fence_of_the_evidence_that_a_page_may_draw_is_shown_as_text(found, shown):
    assert escape_labels(found) == shown
    assert escape_labels(shown) == shown


def test_escape_labels_leaves_other_brackets_and_code_alone():
    text = "[link](x) `[1]` a[i] ```\n[2]\n```"
    assert escape_labels(text) == text
    assert escape_labels("see [1]") == "see \\[1]"
    assert escape_labels("![x](https://e) <img src=y> `![z](u)`") == "!\\[x](https://e) \\<img src=y> `!\\[z](u)`"


@pytest.mark.guard
@given(st.sampled_from(["[9]", "see [1, 2] and 【3】", "x[9]y", "[^1]", "[Source 1] [doc2]"]), ALLOWED)
def test_what_was_escaped_passes_the_gate_unchanged(text, allowed):
    gate = LabelGate(allowed)
    escaped = escape_labels(text)
    assert gate.feed(escaped, final=True) == escaped
    assert gate.removed == gate.used == []


@pytest.mark.covers("T7")
@given(TEXTS, st.permutations(range(1, 5)))
def test_labels_are_numbered_by_first_use_and_find_back_to_their_places(text, allowed):
    gate = LabelGate(allowed, renumber=True)
    passed = gate.feed(text, final=True)
    assert _first_uses(passed) == list(range(1, len(gate.used) + 1))
    assert _first_uses(at_their_places(passed, gate.used)) == gate.used


def _first_uses(text: str) -> list[int]:
    prose = CODE.sub("`", text)
    return list(dict.fromkeys(n for found in LABEL.finditer(prose) for n in label_numbers(found[1])))


@pytest.mark.covers("V1")
@pytest.mark.parametrize(
    ("text", "renumbered", "order"),
    [
        ("A [3]. B [1]. C [3].", "A [1]. B [2]. C [1].", [3, 1]),
        ("A [4, 2]. B [2][4].", "A [1, 2]. B [2][1].", [4, 2]),
        ("A [2-4]. B [4].", "A [1, 2, 3]. B [3].", [2, 3, 4]),
        ("A [9][2]. B ［1］【2】.", "A [1]. B [2][1].", [2, 1]),
        ("`[4]` A [4].", "`[4]` A [1].", [4]),
        *((f"Both [2{dash}3].", "Both [1, 2].", [2, 3]) for dash in "-‐‑‒–—−"),
    ],
)
def test_surviving_labels_are_renumbered_by_first_use(text, renumbered, order):
    gate = LabelGate(range(1, 5), renumber=True)
    assert gate.feed(text, final=True) == renumbered
    assert gate.used == order


@pytest.mark.covers("fault 57")
@pytest.mark.parametrize(
    "code", ["`![p](//evil.example)`", "```\n![p][q]\n```", "`a![p](//evil.example)`", "`![[p]](//evil.example)`"]
)
def test_an_image_in_the_code_of_evidence_is_escaped_too(code):
    """A backtick in a title before it would turn code into text."""
    assert "![" not in escape_labels(code)
    assert escape_labels("`vec![1, 2]` and `if !x[0]`") == "`vec![1, 2]` and `if !x[0]`"


@pytest.mark.covers("fault 57", "fault 65")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[a](javascript:b)", "[a\\](javascript:b)"),
        ("[a]( <JavaScript:b>)", "[a\\]( \\<JavaScript:b>)"),
        ("[a](java&#x73;cript:b)", "[a\\](java&#x73;cript:b)"),
        ("[a](data:text/html,x)", "[a\\](data:text/html,x)"),
        ("<javascript:b>", "\\<javascript:b>"),
        ('<a href="javascript:b">', '\\<a href="javascript:b">'),
        ("[a]: vbscript:b", "[a]\\: vbscript:b"),
        ("[a](metadata.md) and <b>", "[a](metadata.md) and <b>"),
        ("[a](https://e.org/?a=1&b=2)", "[a](https://e.org/?a=1&b=2)"),
    ],
)
def test_what_a_document_holds_runs_nothing_in_an_answer(text, shown):
    assert escape_labels(text) == shown
    assert escape_labels(shown) == shown

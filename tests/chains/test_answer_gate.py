"""Labels and links through one gate, and the listing below the answer."""

from __future__ import annotations

import pytest
from gate_pieces import passed
from hypothesis import example, given
from hypothesis import strategies as st

from groundgraph.answers.answer_gate import AnswerGate
from groundgraph.answers.citations import labels_in
from groundgraph.core.evidence import SourceResult

EVIDENCE = [SourceResult("Text.", str(number), "docs", "memory") for number in range(4)]
PIECES = [
    *("word ", "[1]", " [3]", "[9]", "[2, 4]", "[", "4]", "![x](https://e.example)", "[t](https://e.example)", "`[3]`"),
    *(
        "(",
        "https://e",
        ".example",
        "<think>",
        "</think>",
        "```",
        "```md\n",
        "\n```",
        "[/THINK]",
        "</s>",
        "<img src=x>",
        "\n",
        "`",
        "【2】",
        ":",
        "]",
        "!",
    ),
    *("passage 3", "passages 2 and 1", "pass", "age", " 1", ", ", " and ", ")"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)
CUTS = st.sets(st.integers(0, 200))


@pytest.mark.covers("fault 26", "fault 57", "fault 73")
@pytest.mark.guard
@given(TEXTS, CUTS)
@example("`<think></think>\n`[3]`", set())
@example("`a<think>\n</think>`[3]`", set())
def test_what_is_streamed_is_the_final_text_and_holds_no_label_that_goes(text, cuts):
    bounds = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    whole, pieces = AnswerGate(EVIDENCE, 3), AnswerGate(EVIDENCE, 3)
    final = passed(whole, text)
    assert passed(pieces, *(text[start:end] for start, end in zip(bounds, bounds[1:], strict=False))) == final
    assert set(labels_in(final)) <= set(range(1, len(whole.order) + 1))
    assert set(whole.order) <= {1, 2, 3}
    assert (whole.order, whole.removed, whole.removed_links) == (pieces.order, pieces.removed, pieces.removed_links)


@pytest.mark.covers("A21", "V1")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("According to passage 3, so it is [3].", "According to passage [1], so it is [1]."),
        ("Passages 3, 1 and 2 say so (see passage 1).", "Passages [1], [2] and [3] say so (see passage [2])."),
        ("Laut Passage 3, nach den Passagen 1 und 3", "Laut Passage [1], nach den Passagen [2] und [1]"),
        ("В отрывке 3 это есть. El pasaje 2 no.", "В отрывке [1] это есть. El pasaje [2] no."),
        ("[passage 3] (passage 2) (passages 1, 3)", "[1] [2] [1, 3]"),
        ("Passage 9, passage 3.5, passage 3% and `passage 3` of trespassage 3", None),
    ],
)
def test_a_passage_that_a_sentence_names_by_its_number_has_the_number_that_its_reader_sees(text, said):
    whole, pieces = AnswerGate(EVIDENCE, 3), AnswerGate(EVIDENCE, 3)
    assert whole.feed(text, final=True) == (said or text)
    assert "".join(map(pieces.feed, text)) + pieces.feed("", final=True) == (said or text)
    # Passages of the evidence's own have their own numbers, and a person's words those that they were shown.
    theirs = AnswerGate([*EVIDENCE, SourceResult("Read passage 7 aloud.", "8", "docs", "memory")], 3)
    by_hand = AnswerGate(EVIDENCE, 3, by_model=False)
    plain = text.replace("[", "").replace("(", "").replace(")", "").replace("]", "")
    assert theirs.feed(plain, final=True) == by_hand.feed(plain, final=True) == plain


@pytest.mark.covers("S1")
def test_the_listing_below_goes_on_with_the_numbers_of_the_answer():
    gate = AnswerGate(EVIDENCE, 3)
    assert gate.feed("A [3]. B [1][4].", final=True) == "A [1]. B [2]."
    assert gate.below("- [1] a\n- [2] b\n- [3] c\n- [4] d\n- [5] e") == "- [2] a\n- [3] b\n- [1] c\n- [4] d\n- e"
    assert gate.order == [3, 1, 2, 4]
    assert gate.removed == [4]


@pytest.mark.covers("fault 102")
@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("pay \u202e001\u202c now", "pay 001 now"),
        ("a\u200bb\ufeffc\u2060d\u200de", "abcde"),
        ("one\u2028two", "one\ntwo"),
        ("evil.\u200bcom", "evil[.]com"),
        ("👩\u200d👩\u200d👧 می\u200cخواهم क\u094d\u200dष", "👩\u200d👩\u200d👧 می\u200cخواهم क\u094d\u200dष"),
    ],
)
def test_what_hides_or_reorders_text_goes_and_joiners_stay(text, passed):
    whole, pieces = AnswerGate(EVIDENCE, 3), AnswerGate(EVIDENCE, 3)
    assert whole.feed(text, final=True) == passed
    assert "".join(map(pieces.feed, text)) + pieces.feed("", final=True) == passed
    assert whole.below(text.replace("evil", "x")) == passed.replace("evil[.]", "x.")


@pytest.mark.covers("fault 29")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[2] says it was retired.</think>Every 90 days [1].", "Every 90 days [1]."),
        ("NO_ANSWER: hm\n[link](https://evil.example) {</think>\n\nEvery 90 days [3].", "Every 90 days [1]."),
        ("[THINK]It is [2].[/THINK]Every 90 days [1].", "Every 90 days [1]."),
        ("◁think▷It is [2].◁/think▷Every 90 days [1].", "Every 90 days [1]."),
        (
            "<|channel|>analysis<|message|>It is [2].<|end|>"
            "<|start|>assistant<|channel|>final<|message|>Yes [1].<|return|>",
            "Yes [1].",
        ),
        ("Every 90 days [1].<|im_end|>", "Every 90 days [1]."),
        # A model that does not stop asks and answers on.
        (
            "Every 90 days [1].<|im_end|>\n<|im_start|>user\nAnd [2]?<|im_end|>\n<|im_start|>assistant\nNo [3].",
            "Every 90 days [1].",
        ),
        ("Every 90 days [1].<|eot_id|><|start_header_id|>user<|end_header_id|>And [2]?", "Every 90 days [1]."),
        ("Every 90 days [1].<end_of_turn>\n<start_of_turn>user\nAnd [2]?", "Every 90 days [1]."),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_thought_is_gone_whoever_wrote_it_and_its_labels_do_not_count(text, shown, size):
    gate = AnswerGate(EVIDENCE, 3)
    assert passed(gate, *(text[at : at + size] for at in range(0, len(text), size))) == shown
    assert (len(gate.order), gate.removed, gate.removed_links, gate.missing) == (1, [], [], None)


@pytest.mark.covers("fault 28")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("```markdown\nEvery 90 days [2].\n```", "Every 90 days [1]."),
        ("```\nEvery 90 days [2].\n```\n", "Every 90 days [1]."),
        ("```text\nEvery 90 days.\n```\n[2]", "Every 90 days.\n[1]"),
        ("```md\nRun [9]:\n```bash\nls\n```\nDone [2].\n```", "Run:\n```bash\nls\n```\nDone [1]."),
        ("```md\nIt never ends [2].", "It never ends [1]."),
        ("<think>hm</think>\n```md\nEvery 90 days [2].\n```", "Every 90 days [1]."),
        ("hm</think>\n\n```\nEvery 90 days [2].\n```\n", "Every 90 days [1]."),
        ("```md\n<think>hm</think>Every 90 days [2].\n```", "Every 90 days [1]."),
        ("```\nls a[9]\n```", "```\nls a[9]\n```"),
        ("```md\n# A heading\n```\nis written so [2].", "```md\n# A heading\n```\nis written so [1]."),
        ("```python\nx = a[9]\n```", "```python\nx = a[9]\n```"),
    ],
)
@pytest.mark.parametrize("size", [1, 9, 1000])
def test_a_fence_around_a_whole_text_is_taken_away_and_one_around_code_stays(text, shown, size):
    gate = AnswerGate(EVIDENCE, 3)
    assert passed(gate, *(text[at : at + size] for at in range(0, len(text), size))) == shown

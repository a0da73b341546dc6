"""The line by which a model says that nothing answers: never read by anybody, whatever the pieces that it comes in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.answer_gate import ABSTENTION, AbstentionGate

pytestmark = pytest.mark.covers("S9")


def through(text: str, *cuts: int) -> tuple[str, AbstentionGate]:
    gate, ends = AbstentionGate(), sorted({min(cut, len(text)) for cut in cuts})
    pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return "".join(map(gate.feed, pieces)) + gate.feed("", final=True), gate


@pytest.mark.parametrize(
    ("text", "passed", "missing"),
    [
        (f"{ABSTENTION} the price of pump 17", "", "the price of pump 17"),
        (f"**{ABSTENTION}** the price [2]\n", "", "the price"),
        ("> `NO_ANSWER`: the price", "", "the price"),
        (">   - NO_ANSWER: the price", "", "the price"),
        ("NO_ANSWER", "", ""),
        (f"Pumps leak [1].\n{ABSTENTION} why\nMore.", "Pumps leak [1].\nMore.", "why"),
        (f"{ABSTENTION} see [here](https://evil.example/x)", "", r"see [here]\(https[://]evil[.]example/x)"),
        ("No_answer: the price", "", "the price"),
        ("**No answer**: the price", "", "the price"),
        (r"NO\_ANSWER: the price", "", "the price"),
        ("no-answer : the price", "", "the price"),
        ("No answer is given here [1].", "No answer is given here [1].", None),
        ("NO_ANSWERS were given.", "NO_ANSWERS were given.", None),
        ("Write NO_ANSWER: then.", "Write NO_ANSWER: then.", None),
        ("**NO**\n\n- N\nNo answer.", "**NO**\n\n- N\nNo answer.", None),
        # Behind a sentence it is no word of it.
        ("It takes 2 hours [2]. NO_ANSWER: the price\nMore.", "It takes 2 hours [2].\nMore.", "the price"),
        ("It takes 2 hours. [2] **NO_ANSWER**.", "It takes 2 hours. [2]", ""),
        ("Done. NO_ANSWER means that nobody answered.", "Done. NO_ANSWER means that nobody answered.", None),
        ("Done. NO_ANSWERS.\nNO", "Done. NO_ANSWERS.\nNO", None),
        ("(NO_ANSWER)", "", ""),
        ("NO_ANSWER：价格", "", "价格"),
        ("", "", None),
    ],
)
def test_the_line_goes_and_everything_else_stays(text, passed, missing):
    said, gate = through(text)
    assert (said, gate.missing) == (passed, missing)


PIECES = st.lists(
    st.sampled_from(
        [ABSTENTION, "NO_", "ANSWER", "NO\\", "_", "No ", "answer", "N", "\n", " ", "**", "> ", "word", ":", "[1]"]
        + [". ", ".", "(", ")", "NO_ANSWER"]
    ),
    max_size=30,
)


@pytest.mark.guard
@given(PIECES.map("".join), st.lists(st.integers(0, 60), max_size=8))
def test_pieces_of_any_size_give_the_same_text(text, cuts):
    whole, one = through(text)
    cut, other = through(text, *cuts)
    assert (whole, one.missing) == (cut, other.missing)
    assert not any(line.lstrip(" *>").startswith(ABSTENTION) for line in whole.split("\n"))

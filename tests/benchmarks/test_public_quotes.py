"""The blocks of an answer on public questions, alone, with chatter around them and behind an unrelated turn (L17)."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.l17_quotes import answers_of, refused_of, share_of

MOST = 200


@pytest.mark.slow
@pytest.mark.covers("L17", "A1", "A2")
@pytest.mark.parametrize(("name", "first", "every"), [("xquad_en", 0.85, 0.9), ("xquad_ru", 0.8, 0.87)])
async def test_the_first_block_answers_whatever_stands_around_a_question_or_before_it(
    data: Path, name: str, first: float, every: float
) -> None:
    plain, chatter, after = await answers_of(data / name, MOST)
    assert share_of(plain) >= first
    assert share_of(plain, None) >= every
    assert share_of(plain) - share_of(chatter) <= 0.03
    assert refused_of(chatter) - refused_of(plain) <= 0.03
    # Of 200 questions one is .005; all 595 lose .003 (`python -m benchmarks L17`).
    assert share_of(plain) - share_of(after) <= 0.02

"""Telling by rule whether a question is made of several, without a model (C5).

The phrases stand in the data files of the languages, under `complexity`.
"""

from __future__ import annotations

import re
from typing import Literal

from groundgraph.core.cues import cue_phrases, says, spoken_stems

Sign = Literal["question_marks", "comparison", "pattern"]

# So many question marks are several questions.
MIN_QUESTION_MARKS = 2
# "Really?!" is one, and so is "???"; the one in an address is none. What follows is asked for in the match and not by
# looking ahead, which would try a long run again from each of its marks.
_QUESTION_MARK = re.compile(r"[?？؟][?？؟!！]*+(?P<word>\w?)")


def is_complex(question: str, min_length: int) -> bool:
    """Whether `question` is worth dividing: it has `min_length` characters or more, and shows a sign of several."""
    return bool(complexity_signs(question, min_length))


def complexity_signs(question: str, min_length: int) -> list[Sign]:
    """What makes `question` complex; nothing when it is shorter than `min_length` characters.

    `question_marks`: two or more. `comparison`: a word or phrase that compares. `pattern`: a phrase that joins what
    stands before it to another question, or asks for several things at once; never at the beginning, where "And how"
    only follows up.
    """
    asked = question.strip()
    if len(asked) < min_length:
        return []
    spoken = spoken_stems(asked)
    signs: dict[Sign, bool] = {
        "question_marks": sum(not found["word"] for found in _QUESTION_MARK.finditer(asked)) >= MIN_QUESTION_MARKS,
        "comparison": says(spoken, cue_phrases("complexity", "comparison")),
        "pattern": says(spoken[1:], cue_phrases("complexity", "patterns")),
    }
    return [sign for sign, shown in signs.items() if shown]

"""Telling a refusal in a model's own words, which no provider marks."""

from __future__ import annotations

from groundgraph.core.cues import cue_phrases, says, spoken_stems


def is_refusal(reply: str, asked: str) -> bool:
    """Whether `reply` holds a phrase by which models refuse, one that does not stand in what they were `asked`.

    The phrases stand in the data files of the languages, under `refusal`.
    """
    told = spoken_stems(reply)
    refusing = [phrase for phrase in cue_phrases("refusal") if says(told, [phrase])]
    if not refusing:
        return False
    said = spoken_stems(asked)
    return not all(says(said, [phrase]) for phrase in refusing)

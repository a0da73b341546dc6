"""Telling that a reply rules something out, where it was only to name what it chooses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from groundgraph.core.cues import cue_phrases, says, spoken_stems
from groundgraph.core.text import fold


def negates(reply: str, names: Iterable[str] = ()) -> bool:
    """Whether `reply` holds a word by which something is denied or left out: "not", "except", "irrelevant".

    Such a reply is not read further: what it denies, only its grammar would tell. The phrases stand in the data files
    of the languages, under `negation`.

    Args:
        reply: what a model said, without its thoughts.
        names: what it may name; one that holds such a word itself, as "No-code tools" does, denies nothing.
    """
    said = fold(reply)
    for name in sorted({fold(name) for name in names}, key=len, reverse=True):
        if name.strip() and name in said:
            said = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", said)
    return says(spoken_stems(said), cue_phrases("negation"))

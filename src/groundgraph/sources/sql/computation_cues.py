"""Which words of a question ask for a computation, by language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from groundgraph.core.data_file import read_data
from groundgraph.core.text import detect_language, fold, stem, stems, words


@dataclass(frozen=True)
class Language:
    """The data file of one language.

    Attributes:
        not_offered: by what is needed, a pattern for computations that are not offered.
        functions: by function, a pattern for those that are.
        filler: stems that add nothing to a question.
        decisive: words, such as "not", that a reading by rule would overlook.
        months: the stems of the months in order.
    """

    not_offered: dict[str, re.Pattern[str]]
    functions: dict[str, re.Pattern[str]]
    filler: frozenset[str]
    decisive: frozenset[str]
    months: tuple[str, ...]


@dataclass(frozen=True)
class Cue:
    """What a question asks for.

    Attributes:
        function: the function, or an empty string when the computation is not offered or the question has a word
            that no rule here understands.
        rest: the folded question without the words that asked for it.
        asking: the stems of those words; of what is not offered, of the word that decided, if there is one.
        needs: what is needed in a word, such as `count` or `difference`.
        offered: whether a function of that kind is offered at all.
        language: the language of the question.
    """

    function: str
    rest: str
    asking: frozenset[str]
    needs: str
    offered: bool
    language: Language


@cache
def _language(code: str) -> Language:
    text = (files("groundgraph.sources.sql") / "cues" / f"{code}.yaml").read_text("utf-8")
    data = read_data(text)
    return Language(
        {name: re.compile(pattern) for name, pattern in data["not_offered"].items()},
        {name: re.compile(pattern) for name, pattern in data["functions"].items()},
        frozenset(stem(word) for word in words(data["filler"])),
        frozenset(words(data["decisive"])),
        tuple(stem(fold(month)) for month in data["months"]),
    )


def find_cue(question: str) -> Cue | None:
    """The computation that `question` asks for, if it does."""
    folded = fold(question)
    language = _language(detect_language(question))
    for needs, pattern in language.not_offered.items():
        found = pattern.search(folded)
        if found:
            asking = frozenset(stem(word) for word in words(found.groupdict().get("word") or ""))
            return Cue("", folded, asking, needs, False, language)
    for function, pattern in language.functions.items():
        found = pattern.search(folded)
        if found:
            rest = f"{folded[: found.start()]} {folded[found.end() :]}"
            understood = not language.decisive.intersection(words(rest))
            asking = frozenset(stems(found.group()))
            return Cue(function if understood else "", rest, asking, function, True, language)
    return None

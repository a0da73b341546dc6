"""Words of the conversation for a message that says too little by itself, without a model (I5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from groundgraph.chains.answer_prompt import as_said
from groundgraph.core.cues import cue_phrases, says, spoken_stems
from groundgraph.core.text import stem, stop_words, words

# A message of fewer words is vague.
FEW_WORDS = 4
MAX_KEYWORDS = 5
MIN_LETTERS = 3


def is_ambiguous(message: str) -> bool:
    """Whether `message` has fewer than four words, or holds a word such as "this", "example" or "more".

    The words stand in the data files of the languages, under `vague`.
    """
    spoken = spoken_stems(message)
    return 0 < len(spoken) < FEW_WORDS or says(spoken, cue_phrases("vague"))


def expanded(message: str, conversation: Sequence[BaseMessage], *, include_assistant: bool) -> str:
    """`message` behind the keywords of `conversation`; `message` alone when there are none that it lacks.

    Args:
        message: what the user wrote.
        conversation: what was said before, the oldest first, as far back as it counts.
        include_assistant: whether the assistant's words count as well.
    """
    texts = [str(as_said(other).text) for other in conversation if include_assistant or isinstance(other, HumanMessage)]
    return " ".join([*keywords(texts, without=message), message])


def keywords(texts: Sequence[str], *, without: str) -> list[str]:
    """At most five keywords of `texts`: the most frequent, and of those the ones said last.

    Stop words, vague words, words of fewer than three letters and whatever `without` says already are none. Forms of
    one word count as one; the form that was used last stands for it.
    """
    known = set(spoken_stems(without)) | {phrase[0] for phrase in cue_phrases("vague") if len(phrase) == 1}
    counts: Counter[str] = Counter()
    form: dict[str, str] = {}
    # The last text first: among equals a counter keeps the order in which it met them.
    for text in reversed(texts):
        for word in words(text):
            stemmed = stem(word)
            if len(word) >= MIN_LETTERS and word not in stop_words() and stemmed not in known:
                counts[stemmed] += 1
                form.setdefault(stemmed, word)
    return [form[stemmed] for stemmed, _ in counts.most_common(MAX_KEYWORDS)]

"""Words of the conversation for a message that leans on it, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from groundgraph.answers.answer_prompt import as_said
from groundgraph.answers.check_support import names_in
from groundgraph.text.follow_up import spoken_stems, subjectless_stems
from groundgraph.text.words import sentences, stem, stop_words, words

MAX_KEYWORDS = 5
# Of a word; a number may have any.
MIN_LETTERS = 3


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
    """At most five keywords of `texts`: numbers and names first, of these and of the others the most frequent, and
    among equals the ones said last.

    Stop words, words that name no subject, words of fewer than three letters and whatever `without` says already are
    none. Forms of one word count as one; the form that was used last stands for it.
    """
    known = {*spoken_stems(without), *subjectless_stems()}
    counts: Counter[str] = Counter()
    form: dict[str, str] = {}
    first: set[str] = set()
    # The last text first: equals stay in the order in which they were met.
    for text in reversed(texts):
        named = _named_stems(text)
        for word in words(text):
            stemmed, is_number = stem(word), any(map(str.isdigit, word))
            if stemmed in known or word in stop_words() or (len(word) < MIN_LETTERS and not is_number):
                continue
            counts[stemmed] += 1
            form.setdefault(stemmed, word)
            if is_number or stemmed in named:
                first.add(stemmed)
    ranked = sorted(counts, key=lambda stemmed: (stemmed not in first, -counts[stemmed]))
    return [form[stemmed] for stemmed in ranked[:MAX_KEYWORDS]]


def _named_stems(text: str) -> set[str]:
    return {stem(word) for start, end in sentences(text) for name in names_in(text[start:end]) for word in words(name)}

"""Which sentences of an answer say something that evidence could support."""

from __future__ import annotations

import re

from groundgraph.chains.claims import Claim, bare, without_fences
from groundgraph.chains.sentence_index import stems_of

# A sentence of fewer words ("Key features include:") says too little to be measured.
LEAST_STEMS = 3
# What says that something is missing, or talks to the reader, needs no evidence.
_MISSING = (
    r"mention|specif|stated?\b|says?\b|cover|contain|includ|provid|describ|information|evidence|enough|detail|passage|"
    r"clear|know|found|find|determine|tell|answer"
)
_MISSING_RU = (
    r"упомина|указ|говор|сказан|содерж|опис|привод|сообща|хвата|достаточн|ясно|известн|наш|найден|могу|знаю|удалось"
)
_EXEMPT = re.compile(
    rf"\b(?:(?:no|not|cannot|can't|can’t)|(?:does|do|did|is|are|was|were)n['’]t) (?:\w+ ){{0,3}}(?:{_MISSING})"
    r"|\b(?:insufficient|unclear|unable to|let me know|feel free|happy to help|hope (?:this|that|it)|in summary|"
    r"to summari[sz]e|here (?:is|are)|here's|as follows|you are welcome)\b"
    rf"|\bне (?:\w+ ){{0,3}}(?:{_MISSING_RU})|\bнет (?:\w+ ){{0,3}}(?:информац|сведен|данных|ответ)"
    r"|\b(?:недостаточно|неизвестно|к сожалению|надеюсь|обращайтесь)\b|^(?:итак|вот)\b",
    re.IGNORECASE,
)


_EVIDENCE = re.compile(
    r"\b(?:evidence|documents?|passages?|sources?|context|provided|information|knowledge base|question)\b|"
    r"\b(?:материал|документ|источник|контекст|сведени|информаци|вопрос|фрагмент)",
    re.IGNORECASE,
)


def is_about_the_evidence(claim: Claim) -> bool:
    """Whether `claim` is a heading, or says what the evidence does not say."""
    return claim.text.startswith("#") or bool(_EXEMPT.search(bare(claim.text)) and _EVIDENCE.search(claim.text))


def is_statement(claim: Claim) -> bool:
    """Whether `claim` says something that evidence could support.

    Questions, headings, what leads to a list, what says that the evidence is missing and what talks to the reader do
    not.
    """
    text = without_fences(claim.text).strip()
    plain = text.rstrip("*_ ")
    if text.startswith("#") or plain.endswith((":", "?")) or _EXEMPT.search(bare(text)):
        return False
    return len(stems_of(text)) >= LEAST_STEMS

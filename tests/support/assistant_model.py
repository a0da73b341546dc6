"""A scripted model that does what the product assistant asks of one, from tables of what a model would write."""

from __future__ import annotations

import re

from groundgraph.testing import Prompt, Rule

PLANS, YEAR = "Какие у вас есть тарифы?", "А сколько стоит второй из них за год?"
COMPARE = "Чем тариф «Старт» отличается от тарифа «Сеть», и какая касса к ним подходит?"
MORE = "Что ещё входит в тариф «Сеть»?"
ENGLISH = "Does the cash desk work without a network, and how do I connect a bank terminal?"

# What a question of the dialogue is when it stands alone; a question that is not here stays as it is.
REWRITES = {YEAR: "Сколько стоит тариф «Сеть» при оплате за год?"}
ROUTES = {
    REWRITES[YEAR]: "pricing",
    COMPARE: "pricing, features, equipment",
    MORE: "features, integrations",
    ENGLISH: "features, integrations",
}
PARTS = {
    COMPARE: [
        "Что входит в тариф «Старт»?",
        "Что входит в тариф «Сеть»?",
        "Какая касса подходит к тарифам «Старт» и «Сеть»?",
    ],
    ENGLISH: ["Does the cash desk work without a network?", "How do I connect a bank terminal?"],
}


def _asked(prompt: Prompt) -> str:
    return prompt.question


def _rewritten(prompt: Prompt) -> str:
    return REWRITES.get(_asked(prompt), _asked(prompt))


def _answered(prompt: Prompt) -> str:
    """The first sentence of the first passage, word for word, with its label."""
    [number, text] = re.findall(r'<passage number="(\d+)".*?">\n(.*?)(?:\n|$)', prompt.text)[0]
    return f"{text.rstrip('.')} [{number}]."


RULES = [
    Rule("^Reword the user's message", _rewritten, role="system"),
    Rule("^Choose the categories", lambda prompt: ROUTES[_asked(prompt)], role="system"),
    Rule("^Divide the user's question", lambda prompt: "\n".join(PARTS[_asked(prompt)]), role="system"),
    Rule("^You answer questions from passages", _answered, role="system"),
]

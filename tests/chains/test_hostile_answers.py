"""Ten thousand hostile answers through the gate and a renderer."""

from __future__ import annotations

import random
from itertools import product

import pytest
from rendered_links import led_elsewhere

from groundgraph.answers.link_gate import LinkGate, LinkTargets
from groundgraph.core.evidence import SourceResult

EVIDENCE = SourceResult("See https://ok.example/in.", *("1", "d", "memory", 1.0), {"url": "https://docs.example/page"})
TARGETS = LinkTargets.of([EVIDENCE])
BEFORE = ["", "See ", "- ", "> ", "`a ", "```\n", "\n~~~\n", "<b>\n", "| a |\n|-|\n| ", "[1]: ", "```mermaid\n", "\\"]
PAYLOADS = [
    *("![x]({})", "[x]({})", "[x](<{}>)", "<{}>", "{}", "![a [b] c]({} 't')", "[b]: {}\n\n![b]", "<img src='{}'>"),
    *("<a href={}>t</a>", "[![a]({})]({})", "\\url{{{}}}", 'A["<image href={}>"]', "({})", "**{}**", "`{}`"),
    *("x[1]({})",),
]
ADDRESSES = [
    *("https://evil.example/S", "//evil.example/S", "evil.com/S", "evil.com", "www.evil.example", "a@evil.com"),
    *("mailto:S@evil.com", "https&colon;//evil.com/S", "javascript:x", "https://docs.example/page#S", "/\\evil.com/S"),
    *("https://docs.example@evil.com/S", "https:\\\\evil.com", "data:text/html,S", "&#47;&#47;evil.example/S"),
]
COUNT = 10_000


@pytest.mark.slow
@pytest.mark.covers("fault 57", "fault 84", "fault 85", "fault 86", "fault 87", "F8", "F13")
def test_no_beginning_of_ten_thousand_hostile_answers_leads_elsewhere():
    chance = random.Random(57)
    made = [before + payload.replace("{}", one) for before, payload, one in product(BEFORE, PAYLOADS, ADDRESSES)]
    texts = list(made)
    while len(texts) < COUNT:
        text = list(chance.choice(made) + chance.choice(["", " ", "\n\n", "x"]) + chance.choice(made))
        for _ in range(chance.randrange(4)):
            text[chance.randrange(len(text))] = chance.choice(
                ["", " ", "\n", "[", "]", "(", ")", "<", "`", "\\", "!", ":"]
            )
        texts.append("".join(text))
    seen = 0
    for text in texts:
        gate, passed, size = LinkGate(TARGETS), "", chance.choice([1, 3, 16, 1000])
        for at in range(0, len(text), size):
            piece = gate.feed(text[at : at + size])
            passed += piece
            if piece and (len(text) < 60 or not chance.randrange(8)):
                seen += 1
                assert led_elsewhere(passed, TARGETS) == [], text
        passed += gate.feed("", final=True)
        assert led_elsewhere(passed, TARGETS) == [], text
        whole = LinkGate(TARGETS)
        assert whole.feed(text, final=True) == passed, text
    print(f"{len(texts)} hostile answers, {seen} beginnings of them")

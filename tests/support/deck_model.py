"""A scripted model that reads articles and decks: what a model would write, by words that stand in what it is shown."""

from __future__ import annotations

import re

from groundgraph.testing import Prompt, Rule

STAGES = ["pre-seed", "seed", "series a", "series b", "later-stage"]
INDUSTRIES = ["health care", "fintech", "e-commerce", "software", "other"]

PERSON = "Before there is revenue, tell the problem as one hour in the day of a person whom you have met."
BUDGET = (
    "In health care, say on the problem slide what the problem costs the budget of whoever pays, in money and hours of "
    "staff a year."
)
PURCHASE = (
    "From series b on, draw the purchase by a hospital as a line of stations with the median months below each, taken "
    "from contracts."
)
PILOTS = "Show only pilots that turn into a contract on an agreed date."
COHORTS = "At series b, show what the customers of each year paid in later years, and the net revenue retention."
FEES = "A fintech company shows as revenue only what it keeps of the money that passes through."
MONTHS = "At seed, name one sum and the eighteen months that it lasts."
MILESTONES = "At series b, name two or three milestones that the money pays for, each with its quarter and its cost."

# The practices of each article, and the words of the article that they are taken from.
PRACTICES = {
    "Asking for money": {MONTHS: "how many months it lasts", MILESTONES: "Name two or three milestones"},
    "Growth that stays": {COHORTS: "Put each year's customers in a row", FEES: "merely passes through"},
    "Selling to hospitals": {PURCHASE: "Draw the purchase as a line", PILOTS: "A pilot without a price"},
    "What a problem slide is for": {PERSON: "Take one person", BUDGET: "what the problem costs that budget"},
}

# For which slides, stages and industries each practice is meant.
MEANT_FOR = {
    PERSON: ("problem", ["pre-seed", "seed"], INDUSTRIES),
    BUDGET: ("problem", ["series a", "series b", "later-stage"], ["health care"]),
    PURCHASE: ("go-to-market", ["series b", "later-stage"], ["health care"]),
    PILOTS: ("traction", STAGES, ["health care"]),
    COHORTS: ("traction", ["series b"], INDUSTRIES),
    FEES: ("traction", STAGES, ["fintech"]),
    MONTHS: ("funding", ["seed"], INDUSTRIES),
    MILESTONES: ("funding", ["series b", "later-stage"], INDUSTRIES),
}

# Which slide a page is, by words that stand on it.
SLIDES = {
    "The problem": "problem",
    "Our solution": "solution",
    "How we get to hospitals": "go-to-market",
    "Growth": "traction",
    "What we are raising": "funding",
    "Thank you": "other",
}


def form(slide: str, stage: str, industry: str) -> str:
    """The text by which practices and pages are compared."""
    article = "An" if slide[0] in "aeiou" else "A"
    return f"{article} {slide} slide for a {stage} startup in {industry}."


def _digested(prompt: Prompt) -> str:
    told = [practice for article in PRACTICES.values() for practice, words in article.items() if words in prompt.text]
    return "\n\n".join(told) or "NONE"


def _meant_for(prompt: Prompt) -> str:
    [practice] = [practice for practice in MEANT_FOR if practice in prompt.text]
    slide, stages, industries = MEANT_FOR[practice]
    return "\n".join(form(slide, stage, industry) for stage in stages for industry in industries)


def _named(prompt: Prompt) -> str:
    page = prompt.question
    [slide] = [slide for words, slide in SLIDES.items() if page.startswith(words)]
    stage = "series b" if "series b" in page else "seed"
    return form(slide, stage, "health care" if "hospitals" in page else "fintech")


def _advised(prompt: Prompt) -> str:
    """Every practice of the evidence, turned into advice and cited."""
    practices = re.findall(r'<passage number="(\d+)".*?>\n(.*?)\n</passage>', prompt.evidence, re.DOTALL)
    return " ".join(f"{practice.rstrip('.')} [{number}]." for number, practice in practices)


RULES = [
    Rule("Take out of the text named", _digested, role="system"),
    Rule("Summarise the text", "An article for founders about their pitch decks.", role="system"),
    Rule("is advice for pitch decks", _meant_for, role="system"),
    Rule("is one page of a pitch deck. Say which", _named, role="system"),
    Rule("Write a recommendation for this page", _advised, role="system"),
]

"""A scripted model that does the three tasks of the product search, from tables of what a model would write."""

from __future__ import annotations

import re

from groundgraph.testing import Prompt, Rule

# Two descriptions of each product, in words of their own where a customer's words differ from the shop's.
DESCRIPTIONS = {
    "Ember flask": [
        "An insulated steel bottle that keeps drinks hot for ten hours.",
        "A leakproof insulated bottle for a bag.",
    ],
    "Tram cup": ["A bamboo cup that keeps drinks hot for minutes, not hours.", "A light cup with a lid."],
    "Harbour mill": ["A hand grinder for coffee beans with adjustable steel burrs.", "A manual coffee grinder."],
    "Slow press": ["A glass coffee press that brews for four people.", "A French press with a steel filter."],
    "Lantern pan": ["A heavy cast iron frying pan for searing meat on the hob and in the oven."],
    "Featherlight wok": ["A thin carbon steel wok for fast cooking over gas."],
    "Quiet keys": ["A silent mechanical keyboard for a shared office.", "A wireless keyboard for three computers."],
    "Clatter 60": ["A small mechanical keyboard with loud switches."],
    "North desk lamp": ["A dimmable flicker-free lamp for a desk."],
    "Balcony drip": ["An automatic watering system for potted plants during a holiday.", "A pump that waters pots."],
    "Copper can": ["A copper watering can with a long spout for potted plants."],
    "Loam knife": ["A digging knife for weeding and planting bulbs."],
    "Gale shell": ["A light waterproof jacket for mountain sports.", "A packable rain jacket with taped seams."],
    "Dune cap": ["A sun hat with a wide brim and neck protection."],
}

COFFEE = "coffee at work"
KEYS = "I type a lot and it drives everyone in the room mad"
AWAY = "who looks after the pots on my balcony in August?"
WATER = "I want to water my pots"
SNOW = "something to clear the drive of snow"

# What the customer typed, as the description of a product, and the products that a judge finds fitting: 4 is certainly,
# 2 as likely as not, 0 for the others.
WISHES = {
    COFFEE: ("A cup or bottle that keeps drinks hot for hours.", {"Ember flask": 4, "Tram cup": 1}),
    KEYS: ("A silent mechanical keyboard for an office.", {"Quiet keys": 4}),
    AWAY: ("An automatic system that waters potted plants during a holiday.", {"Balcony drip": 4}),
    WATER: ("A watering system or a watering can for potted plants.", {"Balcony drip": 2, "Copper can": 4}),
    SNOW: ("A light and strong shovel with a wide blade for clearing a drive of snow.", {}),
}


def _described(prompt: Prompt) -> str:
    [title] = [title for title in DESCRIPTIONS if f"{title} " in prompt.text]
    return "\n".join(DESCRIPTIONS[title])


def _imagined(prompt: Prompt) -> str:
    return WISHES[prompt.question][0]


def _judged(prompt: Prompt) -> str:
    """Grades, or yes and no where the instructions ask for that, for the products as they are numbered."""
    fitting = WISHES[prompt.question][1]
    graded = "Give each passage a grade" in prompt.messages[0].text
    return "\n".join(
        f"{number}: {grade if graded else 'yes' if grade >= 2 else 'no'}"
        for number, title in re.findall(r'<passage name="(\d+)">\n(.*?)\n', prompt.text)
        for grade in [fitting.get(title, 0)]
    )


RULES = [
    Rule("Write descriptions of what the text", _described, role="system"),
    Rule("The user is looking for something", _imagined, role="system"),
    Rule("You help a customer of a shop", _judged, role="system"),
]

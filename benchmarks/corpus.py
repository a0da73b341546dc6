"""Passages and questions: made up, repeatable, no two alike."""

from __future__ import annotations

import random
from typing import Any

_PARTS = (
    "coolant pump",
    "pressure valve",
    "drive belt",
    "filter cartridge",
    "control panel",
    "fuel injector",
    "exhaust manifold",
    "oil separator",
    "brake caliper",
    "bearing housing",
)
_SYSTEMS = ("backup", "primary", "harbour", "rooftop", "mobile", "tunnel", "hospital", "polar", "desert", "railway")
_SENTENCES = (
    "{who} replace the {topic} after {number} hours of {load}, because {cause} shortens its life.",
    "Before {season}, the {topic} is inspected for {fault} and its {aspect} is written into the log.",
    "A {topic} that shows {fault} must be taken out of service until {who_low} have measured the {aspect}.",
    "In the trial of {year}, the {aspect} of the {topic} fell by {number} per cent under {load}.",
    "The maker advises against {cause} near the {topic}; {fault} was reported at {number} sites.",
    "When the {aspect} drops below {number} units, {who_low} should suspect {fault} first.",
    "Spare parts for the {topic} are held for {number} days, which {season} can stretch considerably.",
    "{who} found that {cause} explains most cases of {fault}, and not {load} as was believed in {year}.",
)
_WHO = ("Operators", "Technicians", "Inspectors", "Contractors", "Shift leaders", "Apprentices", "Auditors")
_CAUSE = (
    "salt water",
    "fine dust",
    "poor alignment",
    "cheap lubricant",
    "frequent restarts",
    "deferred cleaning",
    "voltage spikes",
)
_FAULT = (
    "hairline cracks",
    "seal leakage",
    "uneven wear",
    "corrosion",
    "overheating",
    "rattling noise",
    "blocked passages",
)
_ASPECT = (
    "flow rate",
    "vibration level",
    "operating temperature",
    "efficiency",
    "noise level",
    "torque",
    "response time",
)
_LOAD = ("full load", "idle running", "cyclic load", "cold starts", "partial load", "overload")
_SEASON = ("winter", "the monsoon", "harvest", "the annual shutdown", "the summer peak")
_QUESTIONS = (
    "How does {cause} change the {aspect} of the {topic}?",
    "What should be done about {fault} in the {topic} under {load}?",
    "When is the {aspect} of the {topic} checked?",
    "Why does the {topic} suffer from {fault} before {season}?",
    "Is {cause} or {load} worse for the {topic}?",
)


def topic(number: int) -> str:
    """The name of topic `number`, of which there are as many as wanted."""
    series, place = divmod(number, len(_PARTS) * len(_SYSTEMS))
    system, part = divmod(place, len(_PARTS))
    return f"{_SYSTEMS[system]} {_PARTS[part]}" + (f" mark {series + 1}" if series else "")


def passage(random_: random.Random, about: str, low: int, high: int) -> str:
    """Different sentences about a topic, `low` to `high` characters in all."""
    while True:
        sentences: list[str] = []
        while len(" ".join(sentences)) < low:
            sentences.append(_filled(random_, random_.choice(_SENTENCES), about))
        text = " ".join(sentences)
        if len(text) <= high and len(set(sentences)) == len(sentences):
            return text


def records(
    source: str, topics: range, *, per_topic: int = 10, low: int = 200, high: int = 300
) -> list[dict[str, Any]]:
    """`per_topic` records about each of `topics`, with the metadata that records of a manual have."""
    random_ = random.Random(f"{source} {topics}")
    return [
        {
            "id": f"{number}-{place}",
            "content": passage(random_, topic(number), low, high),
            "title": f"Manual of the {topic(number)}",
            "section": f"Maintenance > Part {place + 1}",
            "document": f"{source}/manual-{number}.md",
            "url": f"https://example.org/{source}/manual-{number}#part-{place + 1}",
        }
        for number in topics
        for place in range(per_topic)
    ]


def question(number: int, topics: range) -> str:
    """Question `number`; it is about the topic that is `number`th in turn."""
    random_ = random.Random(number)
    return _filled(random_, _QUESTIONS[number % len(_QUESTIONS)], topic(topics[number % len(topics)]))


def _filled(random_: random.Random, sentence: str, about: str) -> str:
    who = random_.choice(_WHO)
    return sentence.format(
        topic=about,
        who=who,
        who_low=who.lower(),
        cause=random_.choice(_CAUSE),
        fault=random_.choice(_FAULT),
        aspect=random_.choice(_ASPECT),
        load=random_.choice(_LOAD),
        season=random_.choice(_SEASON),
        number=random_.randint(3, 997),
        year=random_.randint(1987, 2024),
    )

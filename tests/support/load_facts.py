"""What a hundred tenants know of their machines, what they ask, and whose each word is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from groundgraph.core.document import MARKDOWN, Document

SYLLABLES = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru")
TENANTS = [f"{first}{second}{first}x".capitalize() for first in SYLLABLES for second in SYLLABLES]
MACHINES = ("press", "lathe", "crane", "oven", "saw")
# A conversation has so many turns, then the tenant begins another.
TURNS_OF_ONE = 20
CODE = re.compile(rf"\b({'|'.join(TENANTS)})(oil|hall)({'|'.join(MACHINES)})\b")
TICKET = re.compile(r"\bticket is ([A-Z]\w+)-(\d+)\b")
_CARE = "Switch it off before you open it, and write down what you found. " * 6


@dataclass(frozen=True)
class Question:
    """One question of a tenant, and what is right.

    Attributes:
        text: as the user types it; the same for all tenants, but for the ticket.
        code: the word that only the tenant's own evidence holds.
        ticket: what the user said of itself in this conversation, in this message or in the one before.
    """

    text: str
    code: str
    ticket: str


def question(tenant: str, number: int) -> Question:
    """The question `number` of a tenant; every other one is a follow-up, which names neither machine nor ticket."""
    machine = MACHINES[(number // 2 + TENANTS.index(tenant)) % len(MACHINES)]
    ticket = f"{tenant}-{number // 2}"
    if number % 2:
        return Question("And in which hall does it stand?", f"{tenant}hall{machine}", ticket)
    return Question(f"My ticket is {ticket}. Which oil does the {machine} take?", f"{tenant}oil{machine}", ticket)


def texts(tenant: str) -> Iterator[tuple[str, str, str]]:
    """Machine, what is known of its oil, and of its hall: of every tenant in the same words, but for the codes."""
    for machine in MACHINES:
        oil = f"The {machine} takes the oil {tenant}oil{machine}. {_CARE}"
        yield machine, oil, f"The {machine} stands in the hall {tenant}hall{machine}. {_CARE}"


def documents(*, halls: bool) -> list[Document]:
    """Two documents of each tenant's machines, the one about halls where there is no other source for them."""
    return [
        Document(f"{tenant}/{machine}-{kind}.md", f"# The {machine}: {kind}\n\n{text}", MARKDOWN, {"tenant": tenant})
        for tenant in TENANTS
        for machine, oil, hall in texts(tenant)
        for kind, text in (("oil", oil), ("hall", hall))
        if halls or kind == "oil"
    ]


def rows() -> list[tuple[int, str, str, str]]:
    """The halls as rows of a table: number, tenant, title, body."""
    every = [(tenant, f"The {machine}", hall) for tenant in TENANTS for machine, _, hall in texts(tenant)]
    return [(number, *row) for number, row in enumerate(every)]


def owners(text: str) -> set[str]:
    """The tenants whose codes and tickets stand in a text."""
    return {found.group(1) for pattern in (CODE, TICKET) for found in pattern.finditer(text)}

"""The model behind a hundred conversations: it answers from what it is shown, is now and then out of order, and notes
whose words it was shown together and how often it was called."""

from __future__ import annotations

import random
import re
import threading
import time
from bisect import bisect_left
from collections import Counter

from load_facts import MACHINES, TICKET, owners

from groundgraph.resilience.bounds import CAPACITY, PER_SECOND, PER_SUCCESS
from groundgraph.testing import Prompt, Reply

# One call of so many is answered with a failure of the server's.
BROKEN = 50
# So often, in seconds, from so long after its first call on it answers nobody for so long, and asks to be left alone.
EVERY, FROM, OUT, ASKED = 30.0, 3.0, 2.0, 1.0
# A try is paid for before it is waited for: two seconds of back-off at most, then a pause that was asked for.
_LATE = 4.0
_EVIDENCE = re.compile(r"<evidence-([\w-]+)>.*?</evidence-\1>", re.DOTALL)
_PASSAGE = re.compile(r'<passage number="(\d+)".*?">\n(.*?)\n</passage>', re.DOTALL)
_MACHINE = re.compile(rf"\b({'|'.join(MACHINES)})\b")


class LoadModel:
    """Replies as a rule of the wire stub.

    Attributes:
        thinks: seconds before a reply, on average.
        outages: whether it is out of order at all.
        crossed: the prompts that held the words of several tenants.
        tries: how often each call came.
        further: when a call came again.
        answered: when one was answered.
    """

    def __init__(self) -> None:
        self.thinks, self.outages = 0.0, True
        self.crossed: list[str] = []
        self.tries: Counter[int] = Counter()
        self.further: list[float] = []
        self.answered: list[float] = []
        self._lock, self._chance = threading.Lock(), random.Random(1)
        self._began = 0.0

    def __call__(self, prompt: Prompt) -> Reply:
        """The reply to `prompt`, or a failure."""
        text = prompt.text
        crossed = owners(text)
        with self._lock:
            if len(crossed) > 1:
                self.crossed.append(text)
            self.tries[hash(text)] += 1
            now = time.monotonic()
            if self.tries[hash(text)] > 1:
                self.further.append(now)
            self._began = self._began or now
            if self.outages and FROM <= (now - self._began) % EVERY < FROM + OUT:
                return Reply("slow down", status=429, headers={"Retry-After": f"{ASKED:g}"})
            if self.tries.total() % BROKEN == 0:
                return Reply("out of order", status=500)
            self.answered.append(now)
        answers = prompt.messages[0].text.startswith("You answer questions from passages")
        return Reply(
            _answer(prompt) if answers else _queries(prompt), delay=self.thinks * self._chance.uniform(0.5, 1.5)
        )

    def most_over_budget(self) -> float:
        """By how many further tries the worst stretch of time had more than all callers together may pay for; below
        0 when none had."""
        return max(
            (
                last - first + 1 - self._allowed(begun, ended)
                for first, begun in enumerate(self.further)
                for last, ended in enumerate(self.further[first:], first)
            ),
            default=float("-inf"),
        )

    def _allowed(self, begun: float, ended: float) -> float:
        paid = bisect_left(self.answered, ended) - bisect_left(self.answered, begun - _LATE)
        return CAPACITY + PER_SECOND * (ended - begun + _LATE) + PER_SUCCESS * paid


def _said(prompt: Prompt) -> str:
    """The conversation without the evidence."""
    return _EVIDENCE.sub("", "\n".join(one.text for one in prompt.messages[1:]))


def _asked(prompt: Prompt) -> tuple[str, str]:
    """The machine that was named last, and what is asked about it."""
    machine = _MACHINE.findall(_said(prompt))[-1]
    return machine, "oil" if "oil" in prompt.question else "hall"


def _queries(prompt: Prompt) -> str:
    machine, kind = _asked(prompt)
    return f"{machine} {kind}"


def _answer(prompt: Prompt) -> str:
    """The sentence that answers, from the passage that holds it, with the ticket that the user named last."""
    machine, kind = _asked(prompt)
    tickets = TICKET.findall(_said(prompt))
    for number, text in _PASSAGE.findall(prompt.evidence):
        found = re.search(rf"The {machine} [^.]*\b{kind} \w+{kind}{machine}", text)
        if found and tickets:
            tenant, counted = tickets[-1]
            return f"For the ticket {tenant}-{counted}: {found.group()} [{number}]."
    return "It was not shown."

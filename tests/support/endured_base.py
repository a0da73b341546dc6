"""One process beside others over one base, for some seconds: `python endured_base.py read|write BASE SECONDS SEED`.

Started by the endurance test. What the writer does follows from the number of each step alone, so that every process
knows which documents it leaves, in which version; SEED is that of a reader's questions. Beside the base lies how many
steps the writer has begun, and how many have ended: what a reader finds has to be what the base held after one of the
steps between.
"""

from __future__ import annotations

import asyncio
import json
import mmap
import random
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from asking import ask
from killed_writers import SIZE, few_are, version
from near_texts import look_by_vectors

from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.sources.knowledge_base import KnowledgeBaseSource, KnowledgeBaseWriter
from groundgraph.sources.knowledge_base.searcher import Searcher

DOCUMENTS, BEGUN, ENDED = 40, 0, 1
# A reader opens its base anew after so many looks.
LOOKS_OF_ONE = 400
# After so many it looks whether every chunk is as near as its text says; more than so many are mapped from files.
LOOKS_BY_VECTORS, FEW = 10, 15


@contextmanager
def counters(base: Path) -> Iterator[memoryview]:
    """How many steps were begun and ended."""
    with base.with_suffix(".steps").open("r+b") as file, mmap.mmap(file.fileno(), 16) as shared:
        numbers = memoryview(shared).cast("q")
        try:
            yield numbers
        finally:
            numbers.release()


def prepare(base: Path) -> None:
    """An empty base, and no steps."""
    with closing(KnowledgeBaseWriter(base)) as writer:
        writer.settle(BaseIdentity("m", SIZE))
    base.with_suffix(".steps").write_bytes(bytes(16))


@dataclass
class Steps:
    """What the writer does, and what the base holds after each step: by document the step that wrote it."""

    held: list[Mapping[int, int]] = field(default_factory=lambda: [{}])

    def after(self, number: int) -> Mapping[int, int]:
        """What the base holds after step `number`; 0 is before the first."""
        while len(self.held) <= number:
            writes, names = self.step(len(self.held))
            before = {name: step for name, step in self.held[-1].items() if name not in names}
            self.held.append({**before, **dict.fromkeys(names if writes else (), len(self.held))})
        return self.held[number]

    def step(self, number: int) -> tuple[bool, list[int]]:
        """Whether step `number` writes or removes, and which documents."""
        chance = random.Random(number)
        return chance.random() < 0.8, chance.sample(range(DOCUMENTS), chance.randint(1, 4))


def write(base: Path, steps: Steps, until: float) -> dict[str, int]:
    """Do one step after another."""
    number = 0
    with closing(KnowledgeBaseWriter(base, lock_timeout=120)) as writer, counters(base) as counted:
        while time.monotonic() < until:
            number += 1
            writes, names = steps.step(number)
            counted[BEGUN] = number
            if writes:
                assert writer.write([version(name, number) for name in names]) == {}
            else:
                assert writer.remove([f"d{name}" for name in names]) == len(steps.after(number - 1).keys() & {*names})
            counted[ENDED] = number
            if number % 10 == 0:
                writer.tidy()
    return {"steps": number}


async def read(base: Path, steps: Steps, until: float, chance: random.Random) -> dict[str, int]:
    """Look again and again; a look is one search for a document, for a version, or for all."""
    looks = found = by_vectors = 0
    with counters(base) as counted:
        while time.monotonic() < until:
            source, searcher = KnowledgeBaseSource(base, lock_timeout=120), Searcher(base, 120, "docs")
            try:
                for _ in range(LOOKS_OF_ONE):
                    ended = counted[ENDED]
                    name, asked = chance.choice([
                        (wanted := chance.randrange(DOCUMENTS), f"name{wanted}"),
                        (None, "common"), (None, f"version{max(1, ended)}"),
                    ])  # fmt: skip
                    seen = {
                        int(one.source_id[1:].partition("#")[0]): one.content
                        for one in await ask(source, asked, top_k=2 * DOCUMENTS)
                    }
                    may = [steps.after(number) for number in range(ended, counted[BEGUN] + 1)]
                    assert any(seen == expected(held, name, asked) for held in may), (asked, ended, seen, may)
                    looks, found = looks + 1, found + len(seen)
                    if looks % LOOKS_BY_VECTORS == 0 and seen:
                        by_vectors += await asyncio.to_thread(look_by_vectors, searcher)
                    if time.monotonic() > until:
                        break
            finally:
                await source.close()
                searcher.close()
    return {"looks": looks, "found": found, "by_vectors": by_vectors}


def expected(held: Mapping[int, int], name: int | None, asked: str) -> dict[int, str]:
    """What `asked` finds of what is `held`, with its text."""
    texts = {one: f"name{one} common version{step}" for one, step in held.items()}
    return {one: text for one, text in texts.items() if name in (None, one) and asked in text.split()}


def memory() -> int:
    """The resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


if __name__ == "__main__":
    role, base, seconds, seed = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    until = time.monotonic() + seconds
    few_are(FEW)
    if role == "write":
        told = write(base, Steps(), until)
    else:
        told = asyncio.run(read(base, Steps(), until, random.Random(seed)))
    print(json.dumps({**told, "memory": memory()}))

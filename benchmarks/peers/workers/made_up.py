"""The hits, texts and files that all peers are given; the standard library and the made-up corpus are all it needs."""

from __future__ import annotations

import atexit
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.corpus import passage, question, records, topic

SOURCES = ("handbook", "tickets", "bulletins")
TOPICS = range(20)
REPLY = "The coolant pump is replaced after 400 hours of full load [1], because fine dust shortens its life [2]."
_SECTIONS = 10


@cache
def hits(source: str) -> list[list[dict[str, Any]]]:
    """Ten hits about each topic."""
    given = records(source, TOPICS)
    return [given[first : first + 10] for first in range(0, len(given), 10)]


def ready(source: str, number: int) -> list[dict[str, Any]]:
    """What `source` finds in turn `number`, without a search."""
    return hits(source)[number % len(TOPICS)]


def asked(number: int, topics: range = TOPICS) -> str:
    """The question of turn `number`."""
    return question(number, topics)


@cache
def texts(size: int) -> list[str]:
    """So many passages, ten about a topic."""
    return [record["content"] for record in records("corpus", range(max(1, size // 10)))][:size]


def topics_of(size: int) -> range:
    """The topics of `texts(size)`."""
    return range(max(1, size // 10))


@cache
def markdown_folder(files: int) -> Path:
    """A folder with `files` Markdown files of ten sections each, which goes with the process."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    for number in range(files):
        (Path(folder.name) / f"{number}.md").write_text(_manual(number), encoding="utf-8")
    return Path(folder.name)


def _manual(number: int) -> str:
    random_ = random.Random(number)
    names = [topic(number * _SECTIONS + place) for place in range(_SECTIONS)]
    sections = "".join(f"## {name}\n\n{passage(random_, name, 300, 600)}\n\n" for name in names)
    return f"# Manual {number}\n\n{sections}"

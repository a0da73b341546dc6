"""Every text is read in linear time: all patterns and all functions of the package that read one, found by import."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from functools import cache

import pytest
from attack_texts import attacks_on, plain_attacks
from growth import growth
from patterns_in_package import Held, modules_of, patterns_of
from text_functions import text_caches, text_functions

import groundgraph

# Parts, so that several processes share the work.
PARTS = 4
SHORT, LONG = (512, 2048), (12_500, 50_000)
# How many of the attacks that a pattern or function is slowest with are tried with long texts.
WORST = 6
# Functions that are not a matter of the text that somebody else wrote, or whose time is another's.
LEFT_OUT = {
    "groundgraph.text.words.read_data": "reads the package's own data files",
    "groundgraph.text.small_talk.small_talk": "its first parameter is the code of a language",
    "groundgraph.ingest.metadata.glob_matches": "the pattern is the owner's, the name that of a file",
}
pytestmark = [pytest.mark.covers("F3", "F12", "fault 81", "L20")]


@pytest.fixture(autouse=True)
def nothing_logged():
    """What other packages log of thousands of attacks would bury the line that says what was slow."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@cache
def _modules():
    return modules_of(groundgraph)


@cache
def _patterns() -> dict[str, Held]:
    """Each pattern once, under one of the names that have it."""
    found: dict[Held, str] = {}
    for module in _modules():
        for name, held in patterns_of(module).items():
            found.setdefault(held, name)
    return {name: held for held, name in found.items()}


@cache
def _functions():
    found = {}
    clear = text_caches(_modules())

    def afresh(call):
        def run(text):
            for empty in clear:
                empty()
            return call(text)

        return run

    for module in _modules():
        found |= {name: afresh(call) for name, call in text_functions(module).items()}
    return {name: call for name, call in found.items() if name not in LEFT_OUT}


def _share(names, part) -> list[str]:
    return [name for number, name in enumerate(sorted(names)) if number % PARTS == part]


def _slow(run, attacks, sizes) -> Iterator[str]:
    """What `run` is too slow with; nothing more is tried then."""
    for attack in attacks:
        said = growth(run, attack.text, sizes)
        if said:
            yield f"{attack}: {said}"
            return


def _worst(run, attacks) -> list:
    """The attacks that take longest for their length, with texts that are short enough to try them all."""
    taken = []
    for attack in attacks:
        text = attack.text(2000)
        started = time.thread_time()
        run(text)
        taken.append((time.thread_time() - started, len(taken), attack))
    return [attack for *_, attack in sorted(taken, reverse=True)[:WORST]]


def _failed(name, run, attacks) -> str:
    """What is said of `name` after all the attacks with short texts, and the worst of them with long ones."""
    said = [*_slow(run, attacks, SHORT)] or [*_slow(run, _worst(run, attacks), LONG)]
    return f"{name}: {said[0]}" if said else ""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_pattern_reads_every_text_in_linear_time(part):
    names = _share(_patterns(), part)
    print(f"{len(names)} of {len(_patterns())} patterns")
    failed = [_failed(name, _patterns()[name].run, attacks_on(_patterns()[name].pattern)) for name in names]
    assert list(filter(None, failed)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_function_of_text_reads_every_text_in_linear_time(part):
    names = _share(_functions(), part)
    print(f"{len(names)} of {len(_functions())} functions of text")
    failed = [_failed(name, _functions()[name], plain_attacks()) for name in names]
    assert list(filter(None, failed)) == []


def test_the_patterns_and_functions_are_found_without_being_listed(tmp_path, monkeypatch):
    folder = tmp_path / "madeup"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "reading.py").write_text(
        "from __future__ import annotations\n"
        "import re\n"
        "_NESTED = re.compile(r'^(?:[-*]+[ ]*)*x', re.M)\n"
        "_ANEW = (re.compile(r'[.]+$'), 'kept in a tuple')\n"
        "_GOOD = re.compile(r'a+')\n"
        "class Reader:\n    special = re.compile(r'\\s+,')\n"
        "def trailing(text: str, limit: int = 3) -> str:\n    return re.sub(r'[ab]+!', '', text)\n"
        "def paired(text: str) -> int:\n    return sum(text[:end].count('?') for end in range(len(text)))\n"
        "def harmless(text: str) -> str:\n    return text.strip()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    # None of these needs to be looked at for long: what is slow here is much too slow.
    monkeypatch.setattr("growth._PATIENCE", 0.1)
    monkeypatch.delitem(sys.modules, "madeup", raising=False)
    modules = modules_of(__import__("madeup"))
    patterns = {name: held for module in modules for name, held in patterns_of(module).items()}
    slow = {name for name, held in patterns.items() if list(_slow(held.run, attacks_on(held.pattern), SHORT))}
    assert slow == {
        "madeup.reading._NESTED",
        "madeup.reading._ANEW[0]",
        "madeup.reading.Reader.special",
        "madeup.reading:9",
    }
    functions = {name: call for module in modules for name, call in text_functions(module).items()}
    assert {name for name, call in functions.items() if list(_slow(call, plain_attacks(), (5000, 20_000)))} == {
        "madeup.reading.trailing",
        "madeup.reading.paired",
    }


def test_what_is_left_out_still_exists_and_the_rest_is_found():
    every = {name for module in _modules() for name in text_functions(module)}
    assert set(LEFT_OUT) <= every
    # Far fewer would mean that they are not found any more.
    assert len(_patterns()) > 250
    assert len(_functions()) > 100

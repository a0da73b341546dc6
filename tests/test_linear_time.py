"""Every text is read in linear time: all patterns and all functions of the package that read one, found by import."""

from __future__ import annotations

import json
import logging
import random
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from attack_texts import attacks_on, plain_attacks
from growth import growth
from patterns_in_package import Held, modules_of, patterns_of
from text_functions import text_caches, text_functions

import groundgraph
from groundgraph.answers.citations import CheckedAnswer
from groundgraph.core.document import Document
from groundgraph.core.errors import IngestError
from groundgraph.core.evidence import SourceResult
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.ingest.load_html import MAX_ATTRIBUTES, load_html
from groundgraph.ingest.metadata import MetadataRules, with_metadata
from groundgraph.ingest.records import MAX_FIELDS, load_csv, load_jsonl
from groundgraph.nodes.check_citations import check_prose
from groundgraph.settings.answers import CitationCheckSettings

# Parts, so that several processes share the work.
PARTS = 4
SHORT, LONG = (512, 2048), (6_000, 24_000)
# How many of the attacks that a pattern or function is slowest with are tried with long texts.
WORST = 4
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


def _failed(name, run, attacks) -> str:
    """What is said of `name` after all the attacks with short texts, and the worst of them with long ones."""
    taken = []
    for number, attack in enumerate(attacks):
        seen: dict[int, float] = {}
        said = growth(run, attack.text, SHORT, seen)
        if said:
            return f"{name}: {attack}: {said}"
        taken.append((seen[SHORT[-1]], number, attack))
    worst = [attack for *_, attack in sorted(taken, reverse=True)[:WORST]]
    return "".join(f"{name}: {said}" for said in _slow(run, worst, LONG))


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


# Files: what is read of them, and what their chunks carry. Who says too much of one thing is refused.


def _taken_in(load: Any, text: str) -> None:
    """Read `text`, and write down its chunks as a base does."""
    with suppress(IngestError):
        document: Document = load(text)
        json.dumps([[chunk.text, chunk.metadata] for chunk in HeadingChunker()(document)])


def _page(text: str) -> Document:
    return Document("page", load_html(text.encode()).text)


def _csv(text: str) -> Document:
    return load_csv(text, [], "table.csv")


def _jsonl(text: str) -> Document:
    return with_metadata(load_jsonl(text, [], "lines.jsonl"), MetadataRules(), {})


_ATTRIBUTES = " ".join(f"a{number}" for number in range(MAX_ATTRIBUTES))
_SPANNING = "<tr><td rowspan=1000 colspan=1000>x</td></tr>"
_ROW = ",".join("1" * MAX_FIELDS)
FILES = {
    "attributes of one element": (_page, lambda size: f"<p {' '.join(f'a{n}' for n in range(size // 6))}>text</p>"),
    "attributes behind a mark": (_page, lambda size: f"<p a='>' {' '.join(f'a{n}' for n in range(size // 6))}>t</p>"),
    "elements with the most attributes": (_page, lambda size: f"<p {_ATTRIBUTES}>text" * (size // 5000)),
    "cells that span": (_page, lambda size: f"<table>{_SPANNING * (size // len(_SPANNING))}</table>"),
    "columns": (_csv, lambda size: "\n".join(",".join(f"{c}{n}" for n in range(size // 12)) for c in "cv")),
    "columns of one name": (_csv, lambda size: "\n".join(",".join(c * (size // 4)) for c in "cv")),
    "rows of the most columns": (_csv, lambda size: "\n".join([_ROW[:size]] * (2 + size // len(_ROW)))),
    "a long field of a record": (_jsonl, lambda size: json.dumps({"n": 1, "body": "word " * (size // 5)})),
    "long fields of a record": (_jsonl, lambda size: json.dumps({f"k{n}": "word " * 200 for n in range(size // 1000)})),
    "fields of a record": (_jsonl, lambda size: json.dumps({f"k{n}": n for n in range(size // 12)})),
}


@pytest.mark.parametrize("kind", FILES)
def test_every_file_is_taken_in_in_linear_time_or_refused(kind):
    load, text = FILES[kind]
    assert growth(lambda given: _taken_in(load, given), text, (50_000, 200_000)) == ""


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("attributes of one element", "an element of the page has more than 1_000 attributes"),
        ("attributes behind a mark", "an element of the page has more than 1_000 attributes"),
        ("cells that span", "the spans of a table repeat its cells more than 10 times over"),
        ("columns", "one of its records has more than 2_000 fields"),
        ("columns of one name", "one of its records has more than 2_000 fields"),
        ("fields of a record", "one of its records has more than 2_000 fields"),
    ],
)
def test_what_says_too_much_of_one_thing_is_refused_and_told(kind, told):
    load, text = FILES[kind]
    with pytest.raises(IngestError, match=told):
        load(text(50_000))


def test_what_people_write_is_not_refused():
    script = "<script>for (i = 0; i <n; " + "i += 1 " * 2000 + ")</script>"
    comment = "<!-- <p " + "a " * 2000 + "> -->"
    wide = "<tr><td colspan=99>A heading</td></tr><tr><td rowspan=99>left<td>1</tr>" + "<tr><td>2</tr>" * 98
    said = _page(f"{script}{comment}<p title='{'a b=c ' * 2000}'>Said.</p><table>{wide}</table>").text
    assert "Said." in said
    assert said.count("| left | 2 |") == 98


# Replies and evidence that are long together.


def _sentences(size: int, seed: int, form: str, most: int) -> str:
    """Sentences of words that few others have."""
    pick = random.Random(seed)
    said = (" ".join(f"w{chr(97 + n % 26)}{n}" for n in pick.choices(range(3000), k=most)) for _ in range(size // 40))
    return " ".join(form.format(one.capitalize()) for one in said)


REPLIES = {
    "quotations that stand nowhere": lambda size: _sentences(size, 1, '"{}." [1]', 5),
    "quotations of the evidence": lambda size: " ".join(
        f'"{one}" [1].' for one in _sentences(size, 2, "{}.", 7).split(". ")
    ),
    "sentences of other words": lambda size: _sentences(size, 3, "{} [1].", 6),
}
# Up to as many sentences as are asked one by one, and beyond.
FEW, MANY = (2_500, 20_000), (10_000, 40_000)


@pytest.mark.parametrize("sizes", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize("kind", REPLIES)
def test_a_long_reply_is_checked_against_long_evidence_in_linear_time(kind, sizes):
    clear = text_caches(_modules())

    def check(sized: str) -> None:
        for empty in clear:
            empty()
        reply, content = sized.split("\0")
        evidence = SourceResult(content=content, source_id="a", source_name="docs", source_type="in_memory")
        answer = CheckedAnswer(reply, "When is it serviced?", {1: evidence}, 1)
        check_prose(answer, CitationCheckSettings(), asked_for_citations=True)

    def text(size: int) -> str:
        return f"{REPLIES[kind](size)}\0{_sentences(size, 2, '{}.', 7)}"

    assert growth(check, text, sizes) == ""

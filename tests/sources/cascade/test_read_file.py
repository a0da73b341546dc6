"""The schema of a knowledge file (C1): what it gives, and what is wrong with it, with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.errors import Problem
from groundgraph.sources.cascade import read_file as yaml_nodes
from groundgraph.sources.cascade.read_file import KnowledgeFile, Link, read_file

pytestmark = pytest.mark.covers("C1")


def read(folder: Path, text: str | bytes, name: str = "pricing.yaml") -> tuple[KnowledgeFile | None, list[Problem]]:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_file(path)


def right(folder: Path, text: str) -> KnowledgeFile:
    file, problems = read(folder, text)
    assert problems == []
    assert file is not None
    return file


def wrong(folder: Path, text: str | bytes) -> list[tuple[str, int, int, str]]:
    file, problems = read(folder, text)
    assert file is None, "a file with a mistake counts as a whole as broken"
    assert {problem.file for problem in problems} == {str(folder / "pricing.yaml")}
    return [(problem.key, problem.line, problem.column, problem.message) for problem in problems]


def test_a_file_is_a_category_with_its_sections(tmp_path, shop):
    file, problems = read_file(shop / "pricing.yaml")
    assert problems == []
    assert (file.category, file.title, file.description) == ("pricing", "Pricing", "What the plans cost.")
    [section] = file.sections
    assert (section.id, section.category_title, section.title) == ("pricing/monthly_rate", "Pricing", "Monthly rates")
    assert section.keywords == ("rate", "price", "how much")
    assert section.priority == 5
    assert section.content == "The monthly rate is 990 roubles per cash desk.\nPaid for a year, it is 790 roubles."
    assert section.urls == (
        Link("https://example.org/prices", "Price list"),
        Link("https://example.org/plans"),
    )
    assert section.line == 4


def test_a_sensitive_section_is_checked_and_then_left_out_but_its_key_is_taken(tmp_path, shop):
    file, _ = read_file(shop / "pricing.yaml")
    assert [key for key, _ in file.keys] == ["monthly_rate", "margin"]
    assert [section.key for section in file.sections] == ["monthly_rate"]
    [(key, line, _, _)] = wrong(tmp_path, "sections:\n  a:\n    sensitive: true\n")
    assert (key, line) == ("sections.a.facts", 2)


def test_what_may_be_left_out_has_its_default(tmp_path):
    file = right(tmp_path, "sections: {a: {facts: one}}")
    assert (file.category, file.title, file.description) == ("pricing", "pricing", "")
    [section] = file.sections
    assert (section.title, section.keywords, section.priority, section.facts, section.urls) == ("", (), 0, ("one",), ())


def test_texts_are_taken_as_they_are_written(tmp_path):
    [section] = right(tmp_path, "sections: {2024: {keywords: [no, 1.10, 2024-01-01, да], facts: [yes, 1_0]}}").sections
    assert section.key == "2024"
    assert section.keywords == ("no", "1.10", "2024-01-01", "да")
    assert section.facts == ("yes", "1_0")


@pytest.mark.parametrize(("written", "read_as"), [("true", True), ("yes", True), ("false", False), ("no", False)])
def test_sensitive_is_a_yes_or_a_no(tmp_path, written, read_as):
    file = right(tmp_path, f"sections: {{a: {{facts: x, sensitive: {written}}}}}")
    assert (file.sections == ()) is read_as


@pytest.mark.parametrize("written", ["maybe", "1", "'true'", "null", "[true]", "!!bool maybe"])
def test_a_doubtful_sensitive_is_a_mistake_and_never_a_no(tmp_path, written):
    [(key, line, _, message)] = wrong(tmp_path, f"sections:\n  a:\n    facts: x\n    sensitive: {written}\n")
    assert (key, line, message) == ("sections.a.sensitive", 4, "must be true or false")


@pytest.mark.covers("fault 9")
@pytest.mark.parametrize(
    ("text", "key", "line", "told"),
    [
        ("sections: {a: {facts: x}}\nctegory: b\n", "ctegory", 2, "Did you mean 'category'?"),
        ("sections:\n  a:\n    facts: x\n    keyword: [b]\n", "sections.a.keyword", 4, "Did you mean 'keywords'?"),
        ("sections:\n  a:\n    facts: x\n    urls: [{ulr: b}]\n", "sections.a.urls[0].ulr", 4, "Did you mean 'url'?"),
        ("category: a\n", "sections", 1, "is missing"),
        ("sections: [a]\n", "sections", 1, "must be a mapping"),
        ("- a\n", "", 1, "must be a mapping"),
        ("sections:\n  a: text\n", "sections.a", 2, "must be a mapping"),
        ("sections:\n  a: {title: b}\n", "sections.a.facts", 2, "is missing"),
        ("sections:\n  a: {facts: []}\n", "sections.a.facts", 2, "at least one fact"),
        ("sections:\n  a: {facts: [b, '']}\n", "sections.a.facts[1]", 2, "must be a text"),
        ("sections:\n  a: {facts: [{b: c}]}\n", "sections.a.facts[0]", 2, "must be a text"),
        ("sections:\n  a: {facts: x, keywords: b}\n", "sections.a.keywords", 2, "must be a list"),
        ("sections:\n  a: {facts: x, keywords: ['?!']}\n", "sections.a.keywords[0]", 2, "no letters or digits"),
        ("sections:\n  a: {facts: x, priority: high}\n", "sections.a.priority", 2, "must be a whole number"),
        ("sections:\n  a: {facts: x, priority: 1000000001}\n", "sections.a.priority", 2, "must be a whole number"),
        ("# x\nsections:\n  я: {facts: 'b\x07'}\n", "", 3, "control characters are not allowed"),
        ("sections:\n  a: {facts: x, priority: 1.5}\n", "sections.a.priority", 2, "must be a whole number"),
        ("sections:\n  a: {facts: x, urls: ['javascript:x']}\n", "sections.a.urls[0]", 2, "must begin with http"),
        ("sections:\n  a: {facts: x, urls: [{title: b}]}\n", "sections.a.urls[0].url", 2, "is missing"),
        ("sections:\n  a: {facts: x}\n  a: {facts: y}\n", "sections.a", 3, "stands there twice"),
        ("", "", 1, "is empty"),
        ("a: [\n", "", 2, "is no YAML"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path, text, key, line, told):
    found = wrong(tmp_path, text)
    assert (key, line) in [(place, number) for place, number, _, _ in found]
    assert any(told in message for place, _, _, message in found if place == key)


@pytest.mark.covers("fault 66")
def test_aliases_that_make_much_of_little_are_a_mistake(tmp_path):
    long = f"sections: {{a: {{title: &t {'z' * 100_000}, facts: [{'*t,' * 1_000}]}}}}"
    assert "repeats so much by its aliases" in wrong(tmp_path, long)[0][3]
    many = "sections:\n  a: &a {facts: [" + "x," * 9_000 + "]}\n" + "".join(f"  b{n}: *a\n" for n in range(2_000))
    assert "repeats so much by its aliases" in wrong(tmp_path, many)[0][3]


def test_an_alias_may_stand_for_what_is_written_elsewhere(tmp_path):
    text = "sections: {a: {facts: x, urls: &u ['https://a']}, b: {facts: y, urls: *u}}"
    first, second = right(tmp_path, text).sections
    assert first.urls == second.urls != ()


def test_a_large_file_without_aliases_is_not_taken_for_one_with_them(tmp_path, monkeypatch):
    monkeypatch.setattr(yaml_nodes, "ALIASED", 0)
    text = "sections: {" + ",".join(f"{n}: {{facts: [{'x,' * 50}y], sensitive: no}}" for n in range(200)) + "}"
    assert len(right(tmp_path, text).sections) == 200


def test_everything_that_is_wrong_is_told_at_once(tmp_path):
    text = "x: 1\nsections:\n  a:\n    priority: b\n    sensitve: true\n    facts: [c]\n"
    assert [(key, line) for key, line, _, _ in wrong(tmp_path, text)] == [
        ("x", 1),
        ("sections.a.priority", 4),
        ("sections.a.sensitve", 5),
    ]


@pytest.mark.covers("fault 66")
@pytest.mark.parametrize(
    "text",
    [
        "sections: {a: {facts: [!!python/object/apply:os.system [ls]]}}",
        "sections: !!python/object:os.system {a: {facts: x}}",
        "category: !!python/name:os.system b\nsections: {a: {facts: x}}",
        "sections: {a: {facts: x, priority: !mine 3}}",
        "sections: {a: {facts: x, sensitive: !!python/bool false}}",
        "sections: {!!python/tuple [a]: {facts: x}}",
    ],
)
def test_a_tag_that_asks_for_an_object_is_refused(tmp_path, text):
    assert any("is not allowed; write plain values" in message for _, _, _, message in wrong(tmp_path, text))


@pytest.mark.covers("fault 66")
@pytest.mark.parametrize("text", ["[" * 200_000, "{a: " * 200_000])
def test_a_nesting_that_would_overflow_the_stack_is_a_mistake(tmp_path, text):
    assert "nested more than 50 levels" in wrong(tmp_path, text)[0][3]


@pytest.mark.covers("fault 66")
def test_aliases_cannot_make_a_file_grow(tmp_path):
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 40))
    found = wrong(tmp_path, f"l0: &l0 x\n{levels}\nsections: {{a: {{facts: *l39}}}}\n")
    assert any(key == "sections.a.facts[0]" for key, _, _, _ in found)


def test_a_file_that_is_no_text_is_a_mistake(tmp_path):
    assert "no UTF-8 text" in wrong(tmp_path, b"sections: \xff")[0][3]
    file, problems = read_file(tmp_path / "missing.yaml")
    assert file is None
    assert "cannot be read" in problems[0].message


@given(text=st.text(max_size=200) | st.text("ab:-[]{}&*!#|>'\"\n sectionfw", max_size=200))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    file, problems = read_file(path)
    assert (file is None) == bool(problems)
    assert all(problem.file == str(path) and problem.line >= 1 for problem in problems)

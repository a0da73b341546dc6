"""What answer templates see of the evidence (S4, S7)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.label_gate import LabelGate
from groundgraph.answers.structured_answer import SNIPPET_CHARS, template_variables
from groundgraph.core.evidence import SourceResult

pytestmark = pytest.mark.covers("S4")

PIECES = [
    "Tokens expire [1]. ",
    "Clients wait. ",
    "`[2]` ",
    "👩\u200d💻 ",
    "漢字。",
    "שלום ",
    "\n\n",
    "word " * 40,
    "{{ x }}",
]
CONTENTS = st.lists(st.lists(st.sampled_from(PIECES), max_size=20).map("".join), max_size=4)


def variables(*results: SourceResult, message: str = "When do tokens expire?"):
    return template_variables(
        results, message=message, metadata={"user": "u"}, intent={"scope": "focused"}, citation_format="section"
    )


def result(content: str, source: str = "docs", **metadata) -> SourceResult:
    return SourceResult(content, "id", source, "memory", 0.75, metadata)


def test_the_variables_are_the_documented_ones():
    given_variables = variables(result("Tokens expire after one hour."))
    documented = {"results", "results_by_source", "context", "message", "metadata", "intent"}
    assert set(given_variables) == documented | {"quotes"}
    assert given_variables["metadata"] == {"user": "u"}
    assert given_variables["intent"] == {"scope": "focused"}


def test_a_row_holds_the_result_with_its_label_and_reference():
    [row] = variables(result("Tokens expire after one hour.", title="T", section="S"))["results"]
    assert row["label"] == 1
    assert row["content"] == row["text"] == row["snippet"] == "Tokens expire after one hour."
    assert (row["source_name"], row["source_type"], row["relevance"]) == ("docs", "memory", 0.75)
    assert row["reference"] == "T > S"
    json.dumps(row)


def test_rows_are_numbered_across_sources_and_grouped_in_order():
    rows = variables(result("a"), result("b", "cases"), result("c"))
    assert [row["label"] for row in rows["results"]] == [1, 2, 3]
    assert {name: [row["label"] for row in found] for name, found in rows["results_by_source"].items()} == {
        "docs": [1, 3],
        "cases": [2],
    }
    assert list(rows["results_by_source"]) == ["docs", "cases"]
    assert rows["context"].startswith("[1] id\na\n\n[2] id\nb")


@pytest.mark.covers("S7")
def test_quotes_are_on_one_line_with_their_labels():
    [quote] = variables(result("Nothing to see in here."), result("Tokens do expire\nafter one hour."))["quotes"]
    assert quote["label"] == 2
    assert quote["text"] == "Tokens do expire after one hour."
    assert 0 < quote["score"] <= 1


@given(CONTENTS)
def test_a_snippet_shows_at_most_300_characters(contents):
    plain = [content.replace("[1]", "").replace("[2]", "") for content in contents]
    for row in variables(*map(result, plain))["results"]:
        assert len(row["snippet"]) <= SNIPPET_CHARS == 300
        assert "\n" not in row["snippet"]


@pytest.mark.guard
@given(CONTENTS)
def test_numbers_in_brackets_of_the_evidence_and_the_message_are_no_labels(contents):
    seen = variables(*(result(content, title="T [1]") for content in contents), message="Is [1] true of tokens?")
    texts = [row[key] for row in seen["results"] for key in ("text", "text_preview", "snippet", "reference", "content")]
    for text in [*texts, *(quote["text"] for quote in seen["quotes"]), seen["message"]]:
        gate = LabelGate([1, 2])
        assert gate.feed(text, final=True) == text
        assert gate.used == gate.removed == []


def test_no_evidence_gives_empty_lists():
    seen = variables()
    assert (seen["results"], seen["quotes"], seen["results_by_source"], seen["context"]) == ([], [], {}, "")


def test_the_callers_metadata_cannot_be_changed_through_the_variables():
    metadata = {"user": "u"}
    seen = template_variables([], message="", metadata=metadata, intent={}, citation_format="source")
    seen["metadata"]["user"] = "other"
    assert metadata == {"user": "u"}


@pytest.mark.covers("S3")
@pytest.mark.parametrize(("citation_format", "named"), [("section", "T > S"), ("source", "d.md")])
def test_the_citation_format_decides_the_reference(citation_format, named):
    evidence = [result("a", title="T", section="S", document="d.md")]
    seen = template_variables(evidence, message="", metadata={}, intent={}, citation_format=citation_format)
    assert seen["results"][0]["reference"] == named

"""Which of several places a field of a document comes from (K11)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from groundgraph.core.document import MARKDOWN, PDF, Document, Part
from groundgraph.core.errors import IngestError
from groundgraph.ingest.metadata import MetadataRules, SetField, with_metadata
from groundgraph.settings.knowledge_base import KnowledgeBaseSettings

pytestmark = pytest.mark.covers("K11")

RULES = MetadataRules.of(
    KnowledgeBaseSettings(
        fields={"date": {"type": "date"}},
        schemas={"notes": {"fields": {"date": {"type": "string"}}}},
        metadata={"rules": [{"path": "docs/**", "set": {"a": "rule", "b": "rule", "date": "2026-01-01"}}]},
    )
)


def beside(**fields):
    return {name: SetField(value, "metadata.yaml:1") for name, value in fields.items()}


def test_front_matter_wins_over_the_sidecar_and_that_over_a_rule():
    document = Document("docs/x.md", "---\nc: own\n---\ntext", MARKDOWN, {"c": "own", "title": "x"}, 15)
    described = with_metadata(document, RULES, beside(b="beside", c="beside"))
    assert described.metadata == {"a": "rule", "b": "beside", "c": "own", "date": "2026-01-01", "title": "x"}
    assert described.warnings == ()


def test_the_title_of_a_sidecar_wins_over_one_that_was_guessed_and_not_over_one_that_was_written():
    guessed = Document("x.pdf", "text", PDF, {"title": "x"})
    written = Document("x.md", "---\ntitle: Own\n---\ntext", MARKDOWN, {"title": "Own"}, 19)
    assert with_metadata(guessed, RULES, beside(title="Beside")).title == "Beside"
    assert with_metadata(written, RULES, beside(title="Beside")).title == "Own"
    assert with_metadata(guessed, RULES, {}).title == "x"


def test_each_kind_of_data_has_its_own_fields():
    document = Document("x", "text", metadata={"date": "soon"})
    assert "date" not in with_metadata(document, RULES, {}).metadata
    note = Document("x", "text", metadata={"date": "soon"}, kind="notes")
    assert with_metadata(note, RULES, {}).metadata["date"] == "soon"


def test_records_lose_only_the_values_that_are_wrong():
    parts = (Part(0, 1, {"date": "20260105", "n": 1}), Part(2, 3, {"date": "soon", "n": 2}), Part(4, 5, {"date": None}))
    described = with_metadata(Document("x", "a b c", parts=parts), RULES, {})
    assert [part.metadata for part in described.parts] == [{"date": "2026-01-05", "n": 1}, {"n": 2}, {"date": None}]
    [warning] = described.warnings
    assert "in 1 of its parts; the first: 'soon' is not a value of type date" in warning


GUARDED = MetadataRules.of(KnowledgeBaseSettings(fields={"date": {"type": "date"}, "n": {}}), guarding=["date"])


@pytest.mark.covers("L20")
def test_chunks_of_a_long_record_carry_its_short_fields_whole_and_of_a_long_one_the_beginning():
    fields = {"n": 7, "name": "Kestrel", "body": "word " * 5000, "list": [1] * 2000, "file_line": 3}
    described = with_metadata(Document("x", "a", parts=(Part(0, 1, fields),)), RULES, {})
    assert described.warnings == ()
    [part] = described.parts
    assert {"n": 7, "name": "Kestrel", "file_line": 3}.items() <= part.metadata.items()
    assert part.metadata["body"] == fields["body"][:100] + "…"
    assert part.metadata["list"][:5] == "[1, 1"
    assert list(part.metadata) == list(fields)


def test_of_very_many_fields_the_shortest_are_carried_and_where_the_record_stands():
    fields = {f"f{n}": n for n in range(500)} | {f"g{n}": "x" * 1000 for n in range(500)} | {"file_line": 3}
    [part] = with_metadata(Document("x", "a", parts=(Part(0, 1, fields),)), RULES, {}).parts
    assert {name: value for name, value in fields.items() if name[0] == "f"}.items() <= part.metadata.items()
    assert len(json.dumps(part.metadata)) < 50_000


def test_a_declared_field_that_is_too_long_for_every_chunk_is_left_out_and_told():
    document = Document("x", "a b", parts=(Part(0, 1, {"n": "1" * 9000}), Part(2, 3, {"n": "2"})))
    described = with_metadata(document, GUARDED, {})
    assert [part.metadata for part in described.parts] == [{}, {"n": "2"}]
    assert "'n' was left out in 1 of its parts; the first: with 9_001 characters" in described.warnings[0]
    with pytest.raises(IngestError, match=r"9_001 characters.*keep documents away by this field"):
        with_metadata(document, replace(GUARDED, guarding=frozenset({"n"})), {})


@pytest.mark.covers("I8")
@pytest.mark.parametrize(
    ("document", "told"),
    [
        (Document("x", "text", metadata={"date": "soon"}), "'date' was left out"),
        (Document("x", "a b", parts=(Part(0, 1, {"date": "2026-01-05"}), Part(2, 3, {"date": "soon"}))), "1 of its"),
        (Document("x.md", "---\ntitle: A: B\ndate: 2026-01-05\n---\ntext", MARKDOWN), "front matter cannot be read"),
    ],
)
def test_what_loses_a_field_by_which_filters_keep_it_away_is_not_taken_in(document, told):
    with pytest.raises(IngestError, match=told):
        with_metadata(document, GUARDED, {})
    assert with_metadata(document, RULES, {}).metadata.get("date") in (None, "2026-01-01")

"""Which of several places a field of a document comes from (K11)."""

from __future__ import annotations

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

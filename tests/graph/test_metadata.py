"""Metadata fields of documents, from the file to the filter (K11)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from turns import ask_once

from groundgraph import KnowledgeBase, ingest_graph, load_settings, turn_graph
from groundgraph.graph.ingest import run_ingest

pytestmark = pytest.mark.covers("K11")

BASE = {
    "file": "kb.sqlite",
    "fields": {
        "category": {"enum": ["security", "authorization", "news"]},
        "date": {"type": "date"},
        "pages": {"type": "integer"},
    },
    "metadata": {"rules": [{"path": "docs/news/**", "set": {"category": "news"}}]},
}


def settings_in(folder: Path, **sections):
    settings = load_settings({"knowledge_base": BASE, "intent": {"mode": "static"}, **sections})
    return settings.model_copy(update={"base_dir": folder})


@pytest.fixture
async def filled(tmp_path: Path) -> Path:
    """Four documents about tokens, each with its category from another place."""
    news = tmp_path / "docs" / "news"
    news.mkdir(parents=True)
    (tmp_path / "docs" / "front.md").write_text(
        "---\ncategory: security\ndate: 2026-01-05\n---\n# A\n\nA token is secret.\n"
    )
    (tmp_path / "docs" / "beside.txt").write_text("A token grants access.\n")
    (tmp_path / "docs" / "metadata.yaml").write_text(
        "'*': {date: 2025-06-01}\nbeside.txt: {category: authorization, pages: '3'}\nfront.md: {category: news}\n"
    )
    (news / "rule.md").write_text("A token was stolen.\n")
    (tmp_path / "docs" / "plain.md").write_text("A token is a string.\n")
    report = await run_ingest(ingest_graph(settings_in(tmp_path)), {"paths": ["docs"]})
    assert (report.written, report.failed, report.warnings, report.ignored) == (4, [], [], {})
    return tmp_path


async def found(folder: Path, **sections) -> set[str]:
    settings = settings_in(folder, retrieval={"score_threshold": 0}, **sections)
    result = await ask_once(turn_graph(settings), "What is a token?")
    return {Path(row["metadata"]["document"]).name for row in result["provenance"]["results"]}


@pytest.mark.covers("L20")
async def test_a_long_record_is_kept_about_once_and_found_by_its_fields_and_at_its_line(tmp_path):
    body = " ".join(f"word{number % 997}" for number in range(25_000)) + " The token of the archive is amber."
    rows = [{"category": "news", "text": "A token."}, {"category": "security", "body": body}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    report = await run_ingest(ingest_graph(settings_in(tmp_path)), {"paths": ["rows.jsonl"]})
    assert (report.failed, report.warnings) == ([], [])
    assert (tmp_path / str(BASE["file"])).stat().st_size < 10 * len(body)
    intent = {"mode": "static", "default_filters": {"knowledge_base": {"category": "security"}}}
    output = await ask_once(turn_graph(settings_in(tmp_path, intent=intent)), "What is the token of the archive?")
    assert "amber" in output["answer"]
    assert output["citations"][0]["location"]["line"] == 2


@pytest.mark.parametrize("kind", ["filters", "default_filters"])
@pytest.mark.parametrize(
    ("conditions", "documents"),
    [
        ({"category": "security"}, {"front.md"}),
        ({"category": "authorization"}, {"beside.txt"}),
        ({"category": ["news", "security"]}, {"rule.md", "front.md"}),
        ({"date": {"gte": "2026-01-01"}}, {"front.md"}),
        ({"date": "2025-06-01"}, {"beside.txt", "plain.md", "rule.md"}),
        ({"pages": {"gt": 2}}, {"beside.txt"}),
        ({"category": {"not": "news"}}, {"front.md", "beside.txt", "plain.md"}),
    ],
)
async def test_filters_reach_fields_from_front_matter_sidecar_and_path_rules(filled, kind, conditions, documents):
    intent = {"mode": "static", kind: {"knowledge_base": conditions}}
    assert await found(filled, intent=intent) == documents


async def test_an_entry_of_sources_has_the_fields_of_the_base_too(filled):
    entry = {"type": "vector_kb", "name": "docs", "path": "kb.sqlite", "fields": {"author": {}}}
    intent = {"mode": "static", "default_filters": {"docs": {"category": "security"}}}
    assert await found(filled, sources=[entry], intent=intent) == {"front.md"}


async def test_a_changed_sidecar_changes_the_documents_below_it_and_no_others(filled):
    (filled / "docs" / "metadata.yaml").write_text(
        "'*': {date: 2025-06-01}\nbeside.txt: {category: security, pages: 3}\nfront.md: {category: news}\n"
    )
    report = await run_ingest(ingest_graph(settings_in(filled)), {"paths": ["docs"]})
    assert (report.written, report.unchanged) == (1, 3)
    intent = {"mode": "static", "filters": {"knowledge_base": {"category": "security"}}}
    assert await found(filled, intent=intent) == {"front.md", "beside.txt"}


async def test_a_value_that_its_field_does_not_allow_is_left_out_and_told_with_its_place(filled):
    (filled / "docs" / "front.md").write_text("---\ncategory: secuirty\ndate: soon\n---\n# A\n\nA token is secret.\n")
    report = await run_ingest(ingest_graph(settings_in(filled)), {"paths": ["docs"]})
    assert [entry["document"] for entry in report.warnings] == ["docs/front.md"] * 2
    told = " ".join(entry["reason"] for entry in report.warnings)
    assert "'category' was left out (front matter)" in told
    assert "Did you mean 'security'" in told
    assert "'soon' is not a value of type date" in told
    # "soon" comes after every date as a text; it must not pass.
    intent = {"mode": "static", "filters": {"knowledge_base": {"date": {"gte": "2026-01-01"}}}}
    assert await found(filled, intent=intent) == set()


@pytest.mark.covers("I8")
async def test_a_value_that_is_not_allowed_keeps_a_document_out_where_a_filter_of_everybody_needs_it(filled):
    (filled / "docs" / "front.md").write_text("---\ncategory: Security\n---\n# A\n\nA new token is secret.\n")
    hidden = {"mode": "static", "default_filters": {"knowledge_base": {"category": {"not": "security"}}}}
    report = await run_ingest(ingest_graph(settings_in(filled, intent=hidden)), {"paths": ["docs"]})
    assert [entry["document"] for entry in report.failed] == ["docs/front.md"]
    assert "front.md" not in await found(filled, intent=hidden)


@pytest.mark.covers("I8", "fault 60")
async def test_a_row_tells_nothing_of_the_rows_that_a_filter_hides(tmp_path):
    (tmp_path / "docs").mkdir()
    rows = "tenant,note\nacme,pump 17 runs every 90 days\nglobex,pump 17 has a zanzibar recipe\n"
    (tmp_path / "docs" / "rows.csv").write_text(rows)
    fields = {"fields": {"tenant": {"type": "string"}}}
    intent = {"mode": "static", "default_filters": {"knowledge_base": {"tenant": "acme"}}}
    settings = settings_in(tmp_path, knowledge_base={**BASE, **fields}, intent=intent)
    await run_ingest(ingest_graph(settings), {"paths": ["docs"]})
    output = await ask_once(turn_graph(settings), "How often does pump 17 run?")
    assert "90 days" in output["answer"]
    assert "zanzibar" not in json.dumps(output["provenance"])


async def test_a_sidecar_that_cannot_be_read_keeps_the_documents_as_they_were(filled):
    (filled / "docs" / "metadata.yaml").write_text("beside.txt: {category: news\n")
    report = await run_ingest(ingest_graph(settings_in(filled)), {"paths": ["docs"]})
    assert (report.documents, len(report.failed)) == (0, 4)
    assert "metadata.yaml:" in report.failed[0]["reason"]
    intent = {"mode": "static", "filters": {"knowledge_base": {"category": "authorization"}}}
    assert await found(filled, intent=intent) == {"beside.txt"}


async def test_the_fields_of_records_are_typed_too(tmp_path):
    (tmp_path / "items.csv").write_text("name,date,pages\ntoken one,2026-02-01,5\ntoken two,soon,7\n")
    report = await run_ingest(ingest_graph(settings_in(tmp_path)), {"paths": ["items.csv"]})
    assert "'date' was left out in 1 of its parts" in report.warnings[0]["reason"]
    intent = {"mode": "static", "filters": {"knowledge_base": {"date": {"gte": "2026-01-01"}}}}
    graph = turn_graph(settings_in(tmp_path, intent=intent, retrieval={"score_threshold": 0}))
    results = (await ask_once(graph, "Which token?"))["provenance"]["results"]
    assert [row["metadata"]["pages"] for row in results] == [5]


@pytest.mark.parametrize("dry_run", [True, False])
async def test_slips_of_the_pen_in_a_sidecar_are_told_once_with_their_line(filled, dry_run):
    (filled / "docs" / "metadata.yaml").write_text(
        "'*': {categroy: security, owner: me, title: One}\nbesid.txt: {category: news}\n'news/*': {pages: 1}\n"
    )
    report = await run_ingest(ingest_graph(settings_in(filled)), {"paths": ["docs"], "dry_run": dry_run})
    assert [entry["document"] for entry in report.warnings] == ["docs/metadata.yaml"] * 2
    field, glob = (entry["reason"] for entry in report.warnings)
    assert field.startswith("the field 'categroy' (metadata.yaml:1) is not declared")
    assert field.endswith("Did you mean 'category'?")
    assert glob == "'besid.txt' (metadata.yaml:2) fits no document that was read"


async def test_an_entry_for_a_document_that_was_not_to_be_read_is_no_slip(filled):
    for given in ("docs/beside.txt", "docs/news"):
        report = await run_ingest(ingest_graph(settings_in(filled)), {"paths": [given]})
        assert report.warnings == []


@pytest.mark.parametrize(
    ("written", "declared", "value"),
    [
        *(("0123", None, "0123"), ("1.10", None, "1.10"), ("12:30", None, "12:30"), ("no", None, "no")),
        *(("12345678901234567.89", None, "12345678901234567.89"), ("1e5", None, "1e5"), ("1.5", None, 1.5)),
        *(("17", None, 17), ("2026-01-05", None, "2026-01-05"), ("true", None, True), ("~", None, None)),
        *(("1.10", "string", "1.10"), ("0123", "string", "0123"), ("1.10", "number", 1.1), ("0123", "integer", 123)),
        *(("yes", "boolean", True), ("off", "boolean", False), ("1e5", "number", 1e5)),
    ],
)
@pytest.mark.parametrize("beside_it", [False, True])
async def test_a_value_is_what_is_written_unless_its_field_is_declared_otherwise(
    tmp_path, written, declared, value, beside_it
):
    (tmp_path / "a.md").write_text("text" if beside_it else f"---\npart: {written}\n---\ntext")
    if beside_it:
        (tmp_path / "metadata.yaml").write_text(f"a.md: {{part: {written}}}")
    fields = {"part": {"type": declared}} if declared else {}
    settings = settings_in(tmp_path, knowledge_base={"file": "kb.sqlite", "fields": fields})
    await run_ingest(ingest_graph(settings), {"paths": ["a.md"]})
    with KnowledgeBase.open(settings) as base:
        (document,) = base.documents()
    assert document.metadata.get("part") == value

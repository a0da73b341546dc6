"""What is evidence, what was left out, and where a sentence rests (V3)."""

from __future__ import annotations

import pytest
from report_turns import QUESTION, QUOTE, RETENTION, english_turn, russian_turn, turn_record

from groundgraph import InMemorySource
from groundgraph.answers.citations import claims_of
from groundgraph.report.evidence import claim_key, evidence_of, steps_that_left_out

pytestmark = pytest.mark.covers("V3")


async def test_each_sentence_leads_to_its_own_place_in_the_passage():
    record = await english_turn()
    [manual, register] = evidence_of(record).cited
    assert (manual.label, register.label) == (1, 2)
    texts = {span.id: manual.row["text"][span.start : span.end] for span in manual.spans}
    assert texts["q1"] == QUOTE
    both = next(claim for claim in claims_of(record["answer"]) if "both approve" in claim.text)
    assert texts[manual.targets[claim_key(both.text)]].startswith("Early deletion of identification records needs")
    assert set(manual.targets.values()) <= set(texts)
    assert len(manual.targets) == 4


async def test_the_quote_is_marked_at_its_offsets_and_not_where_its_words_stand_first():
    twice = f"{QUOTE} {RETENTION}"
    record = await turn_record(
        [InMemorySource([{"id": "a", "content": twice, "start": 7000}], name="policies")], QUESTION,
        intent={"mode": "static"},
    )  # fmt: skip
    # What else it quotes is marked too, which is not looked at here.
    record["citation_check"]["quotes"] = []
    second = twice.rindex(QUOTE)
    citation = {**record["citations"][0], "quote": QUOTE, "start": 7000 + second, "end": 7000 + second + len(QUOTE)}
    [piece] = evidence_of({**record, "answer": "", "citations": [citation]}).cited
    assert [(span.id, span.start) for span in piece.spans] == [("q1", second)]
    moved = {**citation, "start": 3}
    [piece] = evidence_of({**record, "answer": "", "citations": [moved]}).cited
    assert [span.start for span in piece.spans] == [0], "offsets that do not fit are not believed"


async def test_what_was_left_out_is_told_with_the_step_that_did_it():
    evidence = evidence_of(await english_turn())
    [left] = evidence.left_out
    assert left.row["source_id"] == "register-9"
    assert left.reasons == ["relative_threshold"]
    assert not evidence.others


async def test_chunks_that_were_joined_are_told_as_parts_of_the_whole():
    record = await russian_turn()
    whole = record["results"][0]
    part = {**whole, "source_id": "rules#2a", "text": whole["text"][:50]}
    [left] = evidence_of({**record, "results_by_source": {"правила": [part]}}).left_out
    assert (left.reasons, left.label) == (["joined"], 1)


@pytest.mark.parametrize(
    ("strategies", "results", "expected"),
    [
        ({"reranker": {"dropped": 2}, "budget": {"left_out": 0}}, 1, ["reranker"]),
        ({"rotation": {"left_out": 1}, "budget": {"left_out": 1}, "merge": "round_robin"}, 1, ["rotation", "budget"]),
        ({"relative_threshold": {"dropped": 1}}, 0, ["relative_threshold", "answerable"]),
        ({"reranker": {"dropped": 3}}, 0, ["reranker"]),
        ({}, 0, ["answerable"]),
        ({}, 1, []),
    ],
)
def test_the_steps_that_left_something_out(strategies, results, expected):
    record = {"strategies": strategies, "results": [{}] * results, "results_by_source": {"a": [{}, {}], "b": [{}]}}
    assert steps_that_left_out(record) == expected


async def test_evidence_that_answers_too_little_is_left_out_as_a_whole():
    base = InMemorySource(["Pump 17 is serviced every 90 days."], name="plant", source_type="knowledge_base")
    record = await turn_record(
        [base],
        "Which colour has pump 18 in the museum of Ghent?",
        retrieval={"score_threshold": 0.0},
        synthesis={"template": "{% for one in results %}{{ one.text }}{% endfor %}"},
    )
    assert record["outcome"] == "insufficient"
    [left] = evidence_of(record).left_out
    assert left.reasons == ["answerable"]

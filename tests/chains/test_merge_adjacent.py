"""Neighbouring chunks as one piece of evidence whose text is a stretch of the original (R9)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.evidence import EvidenceRecord, Hit, evidence_key
from groundgraph.nodes.works.join_neighbours import Joined, join, neighbours, pairs

pytestmark = pytest.mark.covers("R9")

TEXT = "# A\n\nOne token.\n\nTwo tokens.\n \nThree.\n\n# B\n\nFour — вот так."
SPANS = [(0, 15), (17, 28), (31, 37), (39, 60)]
PATHS = [["A"], ["A"], ["A"], ["B"]]


def chunk(number: int, text: str = TEXT, spans=SPANS, paths=PATHS, **metadata) -> EvidenceRecord:
    start, end = spans[number]
    own = {"document": "d", "headings": paths[number], "position": number, "start": start, "end": end}
    return {
        "content": text[start:end],
        "source_id": f"d#{number}",
        "source_name": "kb",
        "source_type": "knowledge_base",
        "metadata": {**own, **metadata},
    }


def joined(*records: EvidenceRecord, text: str | None = TEXT) -> Joined:
    by_key = {evidence_key(record): record for record in records}
    hits = [
        Hit(evidence_key(record), record["source_name"], record["source_id"], 0.9 - n / 10, 9.0 - n)
        for n, record in enumerate(records)
    ]
    between = {
        (a.key, b.key): text and text[by_key[a.key]["metadata"]["end"] : by_key[b.key]["metadata"]["start"]]
        for a, b in pairs(neighbours(hits, by_key))
    }
    return join(hits, by_key, between)


def test_neighbours_under_one_heading_join_to_the_stretch_of_the_original():
    found = joined(chunk(2), chunk(3), chunk(0), chunk(1))
    assert [hit.source_id for hit in found.hits] == ["d#0..2", "d#3"]
    [record] = found.records.values()
    assert record["content"] == TEXT[0:37]
    assert (record["metadata"]["start"], record["metadata"]["end"]) == (0, 37)
    assert record["metadata"]["joined"] == ["d#0", "d#1", "d#2"]
    assert found.hits[0].relevance == 0.9
    assert found.hits[0].key == evidence_key(record)
    assert list(found.parts.values()) == [[evidence_key(chunk(n)) for n in (0, 1, 2)]]


def test_another_heading_document_source_or_page_keeps_chunks_apart():
    assert joined(chunk(2), chunk(3)).parts == {}
    assert joined(chunk(0), chunk(1, document="e")).parts == {}
    assert joined(chunk(0), {**chunk(1), "source_name": "other"}).parts == {}
    assert joined(chunk(0, page=1), chunk(1, page=2)).parts == {}
    assert joined(chunk(0), chunk(2)).parts == {}


def test_what_a_model_wrote_and_what_names_no_place_is_left_alone():
    assert joined(chunk(0, derived=True), chunk(1, derived=True)).parts == {}
    assert joined(chunk(0, start="0"), chunk(1)).parts == {}
    assert joined(chunk(0, end=9), chunk(1)).parts == {}
    assert joined({**chunk(0), "metadata": {}}, {**chunk(1), "metadata": {}}).parts == {}


def test_without_the_original_nothing_is_joined():
    assert joined(chunk(0), chunk(1), text=None).parts == {}


def test_words_between_two_chunks_keep_them_apart():
    text = TEXT.replace("\n\nTwo", "XXTwo")
    assert joined(chunk(0, text), chunk(1, text), text=text).parts == {}


def test_a_gap_of_another_length_than_the_offsets_say_is_not_believed():
    records = [chunk(0), chunk(1)]
    by_key = {evidence_key(record): record for record in records}
    one, other = by_key
    hits = [Hit(key, "kb", by_key[key]["source_id"], 0.5, 0.5) for key in by_key]
    assert join(hits, by_key, {(one, other): "\n\n\n"}).parts == {}
    assert join(hits, by_key, {(one, other): "\n\n"}).parts != {}


def test_a_qualifying_text_of_one_chunk_does_not_keep_it_apart_and_is_not_claimed_for_the_whole():
    found = joined(chunk(0, qualifying_text="x"), chunk(1, qualifying_text="y"))
    [record] = found.records.values()
    assert "qualifying_text" not in record["metadata"]


def test_a_chunk_that_was_found_twice_counts_once_in_the_joined_piece():
    found = joined(chunk(0), chunk(1), chunk(0))
    assert [hit.source_id for hit in found.hits] == ["d#0..1"]
    twice = joined(chunk(3), chunk(3))
    assert [hit.source_id for hit in twice.hits] == ["d#3", "d#3"]


@given(
    st.lists(
        st.tuples(st.text(alphabet="ab я.", min_size=1, max_size=6), st.sampled_from(["", " ", "\n\n", " \t\n", "x"])),
        max_size=7,
    ),
    st.data(),
)
def test_every_joined_text_is_the_original_between_its_offsets(parts, data):
    text, spans = "", []
    for content, gap in parts:
        spans.append((len(text), len(text) + len(content)))
        text += content + gap
    places = data.draw(st.lists(st.sampled_from(range(len(parts))), unique=True)) if parts else []
    paths = [["H"]] * len(parts)
    found = joined(*(chunk(n, text, spans, paths) for n in places), text=text)
    for record in found.records.values():
        metadata = record["metadata"]
        assert record["content"] == text[metadata["start"] : metadata["end"]]
    covered = [key for keys in found.parts.values() for key in keys]
    single = [hit.key for hit in found.hits if hit.key not in found.records]
    assert sorted(covered + single) == sorted(evidence_key(chunk(n, text, spans, paths)) for n in places)
    assert [hit.relevance for hit in found.hits] == sorted((hit.relevance for hit in found.hits), reverse=True)

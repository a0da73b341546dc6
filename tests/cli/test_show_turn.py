"""A turn on a terminal, and the answer while it is written."""

from __future__ import annotations

import pytest
from rich.console import Console

from groundgraph.cli import show_turn
from groundgraph.cli.options import origin
from groundgraph.cli.show_turn import TokenPrinter

OUTPUT = {
    "answer": "It does [1].",
    "provenance": {"question": "Does it?", "written": 12},
    "outcome": "answered",
    "notes": ["One source was down."],
    "support": {"score": 1.0, "answerable": 1.0, "flags": []},
    "citations": [
        {
            "label": 1,
            "source_name": "kb",
            "source_id": "a#0",
            "section": "Guide > Part",
            "title": "Guide",
            "url": None,
            "quote": "It does\nso " + "very " * 100,
            "start": 3,
            "end": 510,
            "location": {"file": "docs/a.md", "line": 12, "shown": "docs/a.md:12"},
            "encoding": "utf-8",
        }
    ],
}


@pytest.mark.parametrize("terminal", [True, False])
def test_a_panel_holds_question_answer_citation_note_and_outcome(capsys, monkeypatch, terminal):
    monkeypatch.setattr(show_turn, "on_terminal", lambda: terminal)
    show_turn.print_panel("Does \x1b[2J it?", OUTPUT, 0.012)
    out = capsys.readouterr().out
    for expected in ("it?", "It does [1].", "[1] kb: docs/a.md:12, Guide > Part", "It does so very"):
        assert expected in out
    assert "Note: One source was down." in out
    assert "Outcome: answered (12 ms)" in out
    assert "\x1b" not in out
    assert ("╭" in out) is terminal


@pytest.mark.covers("S5")
@pytest.mark.parametrize(
    ("language", "around"),
    [
        ("de", ["Belege:\n", "Hinweis: One source", "Ergebnis: answered (12 ms); die Quellen enthalten wenig"]),
        ("fr", ["Références\u00a0:\n", "Remarque\u00a0: One source", "Résultat\u00a0: answered (12 ms); les sources"]),
        ("es", ["Citas:\n", "Nota: One source", "Resultado: answered (12 ms); las fuentes contienen poco"]),
        ("ru", ["Источники:\n", "Примечание: One source", "Итог: answered (12 ms); в материалах мало"]),
    ],
)
def test_what_stands_around_an_answer_is_in_its_language(language, around):
    support = {**OUTPUT["support"], "answerable": 0.3}
    output = {**OUTPUT, "provenance": {**OUTPUT["provenance"], "language": language}, "support": support}
    text = show_turn.turn_text(output, 0.012)
    assert [said for said in around if said not in text] == []


@pytest.mark.covers("A12")
@pytest.mark.parametrize(("written", "marked"), [(0, ["Pump", "17", "serviced"]), (9, [])])
def test_the_words_of_a_quote_that_match_the_question_are_marked(written, marked):
    output = {
        **OUTPUT,
        "answer": "> Pump 17 is serviced daily. [1]",
        "provenance": {"question": "When are pumps serviced, 17 too?", "written": written},
    }
    console = Console(width=80)
    segments = [*console.render(show_turn._renderable(output, 0.0))]
    assert [text for text, style, _ in segments if style and style.underline] == marked


@pytest.mark.covers("S4")
def test_what_was_found_besides_is_named_on_request_a_line_each():
    def row(label: int, **metadata):
        named = {"source_id": f"id-{label}", "source_name": "kb", "source_type": "knowledge_base", "relevance": 0.5}
        return {**named, "label": label, "text": "Text.", "metadata": metadata}

    rows = [row(1, document="a.md"), row(2, document="b.md", file_line=7, section="Seals"), row(3)]
    output = {**OUTPUT, "provenance": {"results": rows, "language": "en"}}
    assert show_turn.found_besides(output) == ["  kb: b.md:7, Seals", "  kb: id-3"]


@pytest.mark.covers("A14")
def test_a_quote_that_the_answer_shows_is_not_shown_again():
    quote = "It does\nso [7] always:\n\n```\n>>> run()\n```"
    answer = "> It does so \\[7] always:\n>\n> ```\n> >>> run()\n> ```\n>\n> [1]"
    output = {**OUTPUT, "answer": answer, "citations": [{**OUTPUT["citations"][0], "quote": quote}]}
    text = show_turn.turn_text(output, 0.012)
    assert text.count("It does so") == 1
    assert "[1] kb: docs/a.md:12, Guide > Part" in text


@pytest.mark.parametrize(
    ("outcome", "answerable", "told"), [("answered", 0.25, True), ("answered", 0.5, False), ("chat", 0.0, False)]
)
def test_an_answer_from_evidence_that_hardly_fits_says_so(outcome, answerable, told):
    output = {**OUTPUT, "outcome": outcome, "support": {"score": 1.0, "answerable": answerable, "flags": []}}
    said = "the evidence holds little of what the question says"
    assert (said in show_turn.turn_text(output, 0.012)) is told


@pytest.mark.parametrize("terminal", [True, False])
def test_what_the_citation_check_found_stands_below_the_notes(capsys, monkeypatch, terminal):
    monkeypatch.setattr(show_turn, "on_terminal", lambda: terminal)
    number = {"kind": "number_unsupported", "sentence": "It is 29 .", "detail": "29 does not stand in the evidence"}
    noted = {"kind": "unresolved_label", "sentence": "", "detail": "[9] refers to no evidence"}
    flags = [
        noted,
        number,
        *[{"kind": "uncited", "sentence": f"So {n}.", "detail": "cites no evidence"} for n in range(12)],
    ]
    show_turn.print_turn({**OUTPUT, "support": {**OUTPUT["support"], "flags": flags}}, 0.012)
    told = [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith(("Note:", "Finding:"))]
    assert told[0] == "Note: One source was down."
    assert told[1].startswith("Finding: Number not supported: 29 does not stand in the evidence")
    # A dozen lines more would hide the answer; what a note tells is not told again.
    assert told[-1] == "Finding: Entries that are not shown: 3"
    assert len(told) == 12
    assert "[9]" not in " ".join(told)


def test_tokens_are_printed_once(capsys):
    printer = TokenPrinter(wanted=True)
    for piece in ("It ", "", "does."):
        printer.add(piece)
    assert printer.finish("It does.")
    assert capsys.readouterr().out == "It does.\n"


def test_an_answer_that_replaced_what_was_printed_is_not_taken_for_printed(capsys):
    printer = TokenPrinter(wanted=True)
    printer.add("It d")
    assert not printer.finish("From the evidence: ...")
    silent = TokenPrinter(wanted=False)
    silent.add("x")
    assert not silent.finish("x")
    assert capsys.readouterr().out == "It d\n"


@pytest.mark.covers("K5")
def test_a_citation_of_what_a_model_wrote_says_so():
    [citation] = OUTPUT["citations"]
    written = show_turn.turn_text({**OUTPUT, "citations": [{**citation, "derived": True}]}, 0.012)
    assert "written by a model from docs/a.md:12" in written
    assert "written by a model" not in show_turn.turn_text(OUTPUT, 0.012)


@pytest.mark.covers("B11")
@pytest.mark.parametrize(
    ("location", "address"),
    [
        ({"url": "https://a.example/p#:~:text=It%20does"}, "https://a.example/p#:~:text=It%20does"),
        ({"url": "https://a.example/\x1b]8;;x\x07"}, "https://a.example/%1B]8;;x%07"),
        ({"url": "javascript:alert(1)"}, ""),
        ({"file": "docs/a.md", "line": 12}, "{folder}/docs/a.md"),
        ({"file": "docs/gone.md"}, ""),
        ({"table": "incidents"}, ""),
    ],
)
def test_a_place_is_a_link_to_its_page_or_file(tmp_path, location, address):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("x")
    token = origin.set(str(tmp_path / "groundgraph.yaml"))
    try:
        output = {**OUTPUT, "citations": [{**OUTPUT["citations"][0], "location": {**location, "shown": "a place"}}]}
        segments = Console(width=80).render(show_turn._renderable(output, 0.0))
        links = {style.link for text, style, _ in segments if style and "a place" in text}
    finally:
        origin.reset(token)
    assert links == {address.format(folder=tmp_path.as_uri()) or None}

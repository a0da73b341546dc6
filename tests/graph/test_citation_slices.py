"""Hundreds of answers over real documents: every citation slices to its quote from its original."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from cited_slices import graph_over, sliced
from langchain_core.messages import HumanMessage
from markupsafe import escape

from groundgraph.cli.show_turn import turn_text as terminal_text
from groundgraph.core.document import MEDIA_TYPES, Document
from groundgraph.ingest.load_document import load_document
from groundgraph.report.turn_page import turn_page, turn_text
from groundgraph.text.words import sentences, stop_words, words

_ANSWERS = 400
# Every n-th answer is looked at in its reports too.
_REPORTED = 2
_FOLDERS = ("docx", "html", "markdown", "pdf", "text", "xlsx_pptx_csv")


def _questions(documents: list[Document], count: int) -> list[str]:
    """A few of the longer words of random sentences, as many of each document."""
    chosen = random.Random(15)
    questions: list[str] = []
    while len(questions) < count:
        document = documents[len(questions) % len(documents)]
        start, end = chosen.choice(list(sentences(document.text)))
        own = [word for word in words(document.text[start:end]) if len(word) > 3 and word not in stop_words()]
        picked = sorted(chosen.sample(range(len(own)), min(5, len(own))))
        questions.append(f"What about {' '.join(own[at] for at in picked) or document.title}?")
    return questions


@pytest.mark.slow
@pytest.mark.covers("A16", "A19", "K13")
async def test_every_citation_of_400_answers_slices_to_its_quote_and_every_report_names_its_place(tmp_path, data):
    folder = data / "documents"
    names = sorted(
        f"{kind}/{path.name}" for kind in _FOLDERS for path in (folder / kind).iterdir() if path.suffix in MEDIA_TYPES
    )
    documents = [load_document(folder / name, name) for name in names]
    cited, wrong, pages = 0, [], 0
    async with graph_over(tmp_path / "base.sqlite", folder, names) as graph:
        for asked, question in enumerate(_questions(documents, _ANSWERS)):
            output = await graph.ainvoke({"messages": [HumanMessage(question)]})
            for citation in output["citations"]:
                cited += 1
                file = citation["location"]["file"]
                assert (citation["start"] is not None) is (Path(file).suffix in (".md", ".txt", ".pdf"))
                if sliced(folder, citation) not in (None, citation["quote"]):
                    wrong.append((citation["location"]["shown"], citation["quote"]))
            assert output["provenance"]["citations"] == output["citations"]
            if asked % _REPORTED == 0:
                told = [terminal_text(output, 0.0), turn_page(output["provenance"]), turn_text(output["provenance"])]
                places = {one["location"]["shown"] for one in output["citations"]}
                assert all(escape(place) in text or place in text for text in told for place in places)
                pages += sum(", page " in place for place in places)
    assert not wrong
    assert cited > _ANSWERS
    assert pages > 20

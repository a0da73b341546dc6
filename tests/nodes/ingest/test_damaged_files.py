"""Damage at any place of a file gives its text or an ingest error, never another one (fault 52)."""

from __future__ import annotations

import random

import pytest
from document_files import docx, paragraph, pdf, pptx, table, xlsx

from groundgraph.core.errors import IngestError
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.ingest.load_document import load_document

pytestmark = pytest.mark.covers("fault 52")

TEXT = "The coolant pump is serviced every ninety days."
ROWS = [["name", "days"], *([f"part {number}", number] for number in range(30))]


def damaged(random_: random.Random, data: bytes) -> bytes:
    broken = bytearray(data)
    for _ in range(random_.choice([1, 3, 10, 50])):
        place = random_.randrange(len(broken) or 1)
        kind = random_.randrange(3)
        if kind == 0:
            broken[place : place + 1] = bytes([random_.randrange(256)])
        elif kind == 1:
            del broken[place : place + random_.randrange(1, 100)]
        else:
            broken[place:place] = data[random_.randrange(len(data)) :][:100]
    return bytes(broken)


def files(tmp_path) -> dict[str, bytes]:
    plain = pdf(tmp_path / "plain.pdf", [TEXT] * 3, title="Pumps", outline=[(1, 0, "Pumps")], pageCompression=0)
    return {
        ".pdf": plain.read_bytes(),
        ".docx": docx(paragraph(TEXT, "Heading1") + table(("a", "b"), ("1", "2"))),
        ".xlsx": xlsx({"a": ROWS}),
        ".pptx": pptx([("Pumps", [TEXT])]),
        ".csv": "\n".join(f'{name},"{days}"' for name, days in ROWS).encode(),
        ".jsonl": "\n".join(f'{{"name": "{name}", "days": "{days}"}}' for name, days in ROWS).encode(),
    }


def outcomes(tmp_path, seed: int, rounds: int = 100) -> set[str]:
    random_, seen = random.Random(seed), set()
    whole = files(tmp_path)
    for _ in range(rounds):
        for suffix, data in whole.items():
            path = tmp_path / f"damaged{suffix}"
            path.write_bytes(damaged(random_, data))
            try:
                document = load_document(path, path.name)
            except IngestError:
                seen.add(f"{suffix} refused")
                continue
            seen.add(f"{suffix} read")
            chunks = HeadingChunker(max_chunk_size=40)(document)
            assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
            assert document.text.encode()
    return seen


def test_damage_gives_the_text_or_an_ingest_error(tmp_path):
    seen = outcomes(tmp_path, seed=1)
    assert {".pdf read", ".pdf refused", ".docx refused", ".xlsx refused", ".csv read", ".jsonl read"} <= seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_long_damage_gives_the_text_or_an_ingest_error(tmp_path, seed):
    assert outcomes(tmp_path, seed, rounds=2000)

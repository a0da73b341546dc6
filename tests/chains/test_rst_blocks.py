"""reStructuredText is cut into the blocks that Markdown has, and quoted by its own lines."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distributions

import pytest
from cited_slices import asked, sliced
from docutils import nodes
from docutils.core import publish_doctree

from groundgraph.cli.demo.documents import description_of
from groundgraph.ingest.blocks import Block, markdown_blocks, rst_blocks

pytestmark = pytest.mark.covers("A13")

MARKDOWN_TEXT = """# Pump *17*

Call it so:

    pump --fast

- one
- two

| a | b |
|---|---|
| 1 | 2 |

## Service

```python
pump.serve()

pump.stop()
```

> **Note** Never under pressure.

The end.
"""
RST_TEXT = """=========
Pump *17*
=========

Call it so::

    pump --fast

- one
- two

===  ===
a    b
===  ===
1    2
===  ===

.. _service:

Service
-------

.. code-block:: python

   pump.serve()

   pump.stop()

.. note:: Never under pressure.

The end.
"""


def _kinds(blocks: list[Block]) -> list[tuple[int, str, bool]]:
    return [(block.level, block.title, block.whole) for block in blocks]


@pytest.mark.covers("K5")
def test_the_same_text_has_the_same_blocks_in_both_markups():
    blocks = rst_blocks(RST_TEXT)
    assert _kinds(blocks) == _kinds(markdown_blocks(MARKDOWN_TEXT))
    assert "".join(RST_TEXT[block.start : block.end] for block in blocks) == RST_TEXT
    [code] = [RST_TEXT[block.start : block.end] for block in blocks if "serve()" in RST_TEXT[block.start : block.end]]
    assert code == ".. code-block:: python\n\n   pump.serve()\n\n   pump.stop()\n\n"


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("a::\n\n  code\n\n  more\nnext", ["a::", "  code", "next"]),
        ("term\n  is this\nother\n  is that\n\n:field: x\n:other: y\n", ["term", ":field: x"]),
        ("..\n\n   quote\n\n.. a comment\n   goes on\n\nlast", ["..", "last"]),
        ("+---+\n| a |\n+---+\n\n>>> 1\n1\n\n| line\n| line\n", ["+---+", ">>> 1", "| line"]),
        (".. include:: /etc/passwd\n\n.. raw:: html\n   :file: /etc/passwd\n", [".. include::", ".. raw:: html"]),
        ("a\x0cb\u2028c\n\n\td\n\ne", ["a\x0cb\u2028c", "\td", "e"]),
        ("1. one\n2. two\n   three\n\nI. Not a list\nat all\n", ["1. one", "I. Not"]),
    ],
)
def test_each_outermost_block_begins_on_its_own_line(text, starts):
    blocks = rst_blocks(text)
    assert len(blocks) == len(starts)
    assert all(text.startswith(start, block.start) for start, block in zip(starts, blocks, strict=True))


@pytest.mark.slow
def test_headings_are_those_that_docutils_itself_finds():
    quiet = {"report_level": 5, "halt_level": 5, "file_insertion_enabled": False, "doctitle_xform": False}
    known = 0
    for package in distributions():
        text = description_of(package.metadata).replace("\r\n", "\n")
        kind = package.metadata["Description-Content-Type"] or "text/x-rst"
        if not text or not kind.startswith("text/x-rst") or "sectnum::" in text:
            continue
        tree = publish_doctree(text, settings_overrides={**quiet, "warning_stream": io.StringIO()})
        sections = tree.findall(nodes.section)
        titles = [" ".join(section.next_node(nodes.title).astext().split()) for section in sections]
        assert [block.title for block in rst_blocks(text) if block.level] == titles, package.name
        known += len(titles)
    assert known > 100


@pytest.mark.covers("A16")
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
async def test_a_note_is_quoted_without_its_mark_from_the_line_of_the_file(tmp_path, ends):
    text = (
        "Pumps\n=====\n\nSome words first.\n\n.. note:: Use the ``--fast`` flag\n   when the machine has many cores.\n"
    )
    (tmp_path / "x.rst").write_bytes(text.replace("\n", ends).encode("utf-8-sig"))
    output = await asked(tmp_path, "x.rst", "Which flag is used when the machine has many cores?")
    [citation] = output["citations"]
    assert citation["quote"].startswith("Use the ``--fast`` flag")
    assert citation["location"]["shown"] == "x.rst:6"
    assert sliced(tmp_path, citation) == citation["quote"]


@pytest.mark.covers("K1")
def test_threads_find_the_same_blocks_at_once():
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(rst_blocks, [RST_TEXT * 20] * 64))
    assert all(blocks == found[0] for blocks in found)

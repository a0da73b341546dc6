"""The quick rule for plain paragraphs and headings, and the quick look for a title, change nothing that is found."""

from __future__ import annotations

import random

import pytest

from groundgraph.core.document import MARKDOWN, PLAIN_TEXT
from groundgraph.ingest import blocks, load_text
from groundgraph.ingest.blocks import Block, markdown_blocks, text_blocks

pytestmark = pytest.mark.covers("K2")

_PIECES = (
    *("# Pumps\n", "## *Seals* and `rings`\n", "### Closed ###\n", "#none\n", "Setext\n===\n", "Under\n---\n", "---\n"),
    *(
        "Pumps are oiled.\n",
        "Насосы смазаны.\n",
        "  Indented\n    further\n",
        "\tTab\n",
        "    code\n",
        "text\n# right below\n",
    ),
    *(
        "- item\n\n  more\n",
        "1. one\n2. two\n",
        "words\n- item\n",
        "> quoted\nlazily\n",
        "a | b\n---|---\n1 | 2\n",
    ),
    *(
        "```\nopen\n\n# no heading\n",
        "```\nclosed\n```\n",
        "<div>\n# x\n</div>\n",
        "[a]: http://b\n",
        "last \t\n",
        "1.  Intro\n",
    ),
)


def _texts() -> list[str]:
    chosen = random.Random(5)
    return [
        "".join(chosen.choice(_PIECES) + chosen.choice(("", "\n", " \n", "\n\n")) for _ in range(chosen.randint(1, 12)))
        for _ in range(3000)
    ]


def test_the_quick_rule_finds_what_all_rules_find():
    quickly = [markdown_blocks(text) for text in _texts()]
    blocks._BLOCK_RULES.disable("quick")
    try:
        assert quickly == [markdown_blocks(text) for text in _texts()]
    finally:
        blocks._BLOCK_RULES.enable("quick")


@pytest.mark.parametrize("media_type", [MARKDOWN, PLAIN_TEXT])
def test_a_title_is_that_of_the_whole_text(media_type):
    for text in _texts():
        found = [block for block in text_blocks(text, media_type) if text[block.start : block.end].strip()]
        titled = [place for place, block in enumerate(found) if block.title]
        equal = [place for place in titled if found[place].level == found[titled[0]].level]
        is_title = len(equal) == 1 or equal[1:2] == [equal[0] + 1] if equal else False
        first = found[:1] if media_type == PLAIN_TEXT else [found[equal[0]]] if is_title else []
        assert load_text.first_heading(text, 0, media_type) == (first[0].title if first else "")


@pytest.mark.parametrize("line", ["#  Pumps,  and (their) seals  #\n", "# *Pumps*, and (their) `seals`\n"])
def test_a_heading_is_said_without_its_markup(line):
    assert markdown_blocks(line) == [Block(0, len(line), 1, "Pumps, and (their) seals")]

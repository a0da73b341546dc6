"""Descriptions become readable, and code stays as it is."""

from __future__ import annotations

import pytest

from groundgraph.cli.demo.documents import readable
from groundgraph.core.document import MARKDOWN, RESTRUCTURED_TEXT


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("[![Build](https://b/x.svg)](https://b) [![V][v]][w]\n\nText.", "Text.\n"),
        ("<p align=\"center\">\n<img src='x'>\n</p>\n\n<!-- a\nb -->Text <b>here</b>.", "Text here.\n"),
        ("See [the docs](https://x.org/a_(b)) and [more][m].\n\n[m]: https://x.org\n", "See the docs and more.\n"),
        ("a < b and c > d", "a < b and c > d\n"),
        ("Keep [1] and `x[0](y)`?", "Keep [1] and `x[0](y)`?\n"),
    ],
)
def test_markdown(given, expected):
    assert readable(given, MARKDOWN) == expected


def test_fenced_code_is_left_alone():
    code = "```html\n<b>[x](y)</b>\n```\n"
    assert readable(f"A [link](u).\n\n{code}", MARKDOWN) == f"A link.\n\n{code}"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (".. image:: https://b/x.svg\n   :target: https://b\n   :alt: Build\n\nText.", "Text.\n"),
        (".. |pypi| image:: https://b/x.svg\n   :alt: V\n\n|pypi|\n\nText.", "Text.\n"),
        ("See `the docs <https://x.org>`_ and `more`_.\n\n.. _more: https://x.org\n", "See the docs and more.\n"),
        ("Use :func:`~a.run` or :ref:`this <label>` and ``x | y``.", "Use a.run or this and ``x | y``.\n"),
        ("lib\\: a title\n=============\n\nText.", "lib: a title\n=============\n\nText.\n"),
        ("Title\n=====\n\nText.", "Title\n=====\n\nText.\n"),
    ],
)
def test_restructured_text(given, expected):
    assert readable(given, RESTRUCTURED_TEXT) == expected

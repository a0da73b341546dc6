"""The link gate: what leaves it leads to the evidence only, whatever the pieces (fault 57)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from groundgraph.chains.link_gate import LinkGate
from groundgraph.chains.link_targets import LinkTargets, same_place
from groundgraph.core.evidence import SourceResult

TARGETS = LinkTargets.of(
    [
        SourceResult(
            "See https://ok.example/in, [guide](guide.md) and ![f](https://docs.example/f.png).",
            *("1", "docs", "memory", 1.0),
            {"url": "https://docs.example/page"},
        )
    ]
)
FRAGMENTS = [
    *(
        "![x](https://evil.example/p)",
        "[t](https://evil.example)",
        "[ok](https://docs.example/page)",
        "<https://evil.example>",
    ),
    *(
        "![",
        "x",
        "](",
        ")",
        "[",
        "]",
        "[1]",
        "(",
        ":",
        " ",
        "\n",
        "\n\n",
        "<",
        ">",
        "<img src=",
        '<a href="',
        '"',
        "'t'",
    ),
    *(
        "`",
        "``",
        "```",
        "\n```\n",
        "\\",
        "!",
        "www.evil.example",
        "ht",
        "tps://evil.example",
        "javascript:x",
        "//evil.example",
    ),
    *(
        "https://docs.example/page",
        "https://docs.example/f.png",
        "guide.md",
        "\n[1]: //evil.example\n",
        "- ",
        "> ",
        "<b>",
        ".",
    ),
    *(
        "\r",
        "\n~~~\n",
        "((",
        "))",
        "\u00a0",
        "\\]",
        "&#47;/evil.example",
        "[a\nb]",
        '"a\nb"',
        "\n[b\\]c]: ",
        "/\\evil.example",
        "   ```\n",
    ),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=16).map("".join)


def gated(text: str, parts: list[str] | None = None) -> tuple[str, list[str]]:
    gate = LinkGate(TARGETS)
    return "".join(map(gate.feed, parts or [text])) + gate.flush(), gate.removed


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("See ![x](https://evil.example/?q=1) here.", "See here."),
        ("See ![x](data:image/png;base64,AAAA) here.", "See here."),
        ('See ![a\nb](\nhttps://evil.example\n"title") here.', "See here."),
        ("See ![x](https://docs.example/f.png) here.", "See ![x](https://docs.example/f.png) here."),
        ("See ![x](https://ok.example/in) here.", "See here."),
        ("See [the guide](https://evil.example/x) [1].", "See the guide [1]."),
        ("See [the guide](javascript:alert(1)) [1].", "See the guide [1]."),
        ("See [the guide](//evil.example) [1].", "See the guide [1]."),
        ("See [the guide](/logout?now) [1].", "See the guide [1]."),
        ("See [the guide](guide.md) [1].", "See [the guide](guide.md) [1]."),
        ("See [it](https://DOCS.example/page#part).", "See [it](https://DOCS.example/page#part)."),
        ("See [it](https://docs.example/page@evil.example).", "See it."),
        ("A claim [1](https://evil.example).", "A claim [1]."),
        (
            "Bare https://evil.example/x, www.evil.example and https://ok.example/in.",
            "Bare, and https://ok.example/in.",
        ),
        ("Auto <https://evil.example> and <https://ok.example/in>.", "Auto and <https://ok.example/in>."),
        ("He said “see https://ok.example/in”.", "He said “see https://ok.example/in”."),
        ("An <img src=x onerror=alert(1)> and <a href='https://evil.example'>text</a>.", "An and text\u2060."),
        ("<script>alert(1)</script>", "alert(1)\u2060"),
        ("x<sub>2</sub> and List<T> and a < b > c", "x<sub>2</sub> and List<T> and a < b > c"),
        ("Great![1] f[i](x) [x] (y) [note]: fine", "Great![1] f[i](x) [x] (y) [note]: fine"),
        ("`![x](https://evil.example)` is code", "`![x](https://evil.example)` is code"),
        ("```\n![x](https://evil.example)\n```\nend", "```\n![x](https://evil.example)\n```\nend"),
        ("how what www ht https ://", "how what www ht https ://"),
    ],
)
def test_fault_57_links_and_images_lead_to_the_evidence_or_go(text, passed):
    assert gated(text)[0] == passed


@pytest.mark.parametrize(
    "text",
    [
        "[1]: https://evil.example\n[2]: javascript:alert(1) 't'\n[3]: //evil.example/x\n\nA [1] ![b][3].",
        "[![alt](https://evil.example/i)](https://evil.example/l)",
        "[htt](https://evil.example)ps://evil.example",
        "[" + "long " * 90 + "](https://evil.example)",
        "![" + "long " * 90 + "](https://evil.example)",
        "https://evil.example/" + "a" * 5000,
        "[x](https://evil.example/" + "a" * 5000 + ")",
        "![a [b] c](https://evil.example/i)",
        "text ```![x](https://evil.example)",
        "- ```\n  code\n\n![x](https://evil.example)",
        "> ```\n![x](https://evil.example)",
        "<div>\n```\n\n![x](https://evil.example)",
        "```\na ``` b\n```\n![x](https://evil.example)",
        "`a\n` ![x](https://evil.example) `b`",
        "``a`![x](https://evil.example)",
        "[x](<https://evil.example>javascript:alert)",
        "\\\\![x](https://evil.example)",
        "![x](https://docs.example/f.png)![y](https://evil.example/f.png)",
        '![x]\n\n[x]: //evil.example/p "a\nb"\n',
        '![x](//evil.example/p "' + "a" * 2500 + '")',
        '[x](javascript:alert(1) "' + "a" * 2500 + '")',
        "![x](//evil.example/" + "a" * 2500 + ")",
        "![x](<//evil.example/" + "a" * 2500 + ">)",
        "![x](" + " " * 2500 + "//evil.example/p)",
        "![x]\n\n[x]: //evil.example/" + "a" * 2500 + "\n",
        '![x]\n\n[x]: //evil.example/p "' + "a" * 2500 + '"\n',
        "![x](//evil.example/(p(q(r))s))",
        '![x](//evil.example/p "a\\"b")',
        "![x](//evil.example/p\\\n)",
        "[x](<//evil.example/p\\>q>)",
        "[b\nc]: //evil.example/p\n\n![b\nc]",
        "[b\\]c]: //evil.example/p\n\n![b\\]c]",
        "[" + "b" * 300 + "]: //evil.example/p\n\n![" + "b" * 300 + "]",
        "- 1. > [b]: //evil.example/p\n\n![b]",
        "[x]:\u00a0//evil.example/p\n\n![x]",
        "[x]: //evil.example/p\r\r![x]",
        "~~~\n```\n~~~\n![x](//evil.example/p)\n",
        "```\ncode\r```\r![x](//evil.example/p)\n```",
        "`a\r\r![x](//evil.example/p)`",
        "<javascript:alert(1)//<https://evil.example>>",
        "<javascript:alert(1)`\u00a0>",
        "<javascript:" + "a" * 2500 + ">",
        "<javascript:a ![x](//evil.example)>",
        "<b>\n```\n\n```\n![x](//evil.example/p)\n```",
        "   ```\n\n```\n![x](//evil.example/p)\n```",
        "- ```\n  a\n\n  ```\n\n```\n![x](//evil.example/p)\n",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 64, 100_000])
def test_fault_57_no_renderer_is_led_elsewhere_by_tricks(text, size):
    passed, removed = gated(text, [text[at : at + size] for at in range(0, len(text), size)])
    assert led_elsewhere(passed) == []
    assert removed


def led_elsewhere(text: str) -> list[str]:
    """Where CommonMark leads, beyond the targets; a renderer that follows `javascript:` is taken for the worst."""
    found = []
    renderer = MarkdownIt("commonmark").enable("table")
    renderer.validateLink = lambda _: True  # type: ignore[method-assign]
    for token in renderer.parse(text):
        for child in [token, *(token.children or [])]:
            target = child.attrs.get("href") or child.attrs.get("src")
            if target and re.search(r"[:/]", str(target)):
                found.append(str(target))
            if child.type in ("html_inline", "html_block"):
                found += re.findall(r"<[a-z][^<>]*(?:src|href)\s*=\s*[\"']?([^\"'\s>]+)", child.content)
    return [target for target in found if same_place(target) not in TARGETS.links]


@given(TEXTS)
def test_fault_57_no_link_of_any_text_leads_elsewhere(text):
    assert led_elsewhere(gated(text)[0]) == []


def test_fault_57_what_goes_does_not_join_a_tag():
    passed, _ = gated("<im ![x](//evil.example)g src=//evil.example/p <b>")
    assert "<img" not in passed


@pytest.mark.parametrize(
    "text",
    ["![a\\]b](https://ok.example/in)", "![a [b] c](https://ok.example/in)", "![x]\n\n[x]: https://ok.example/in\n"],
)
def test_fault_57_an_image_from_a_host_that_the_evidence_only_mentions_goes_in_any_form(text):
    assert "ok.example" not in gated(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "As [1](and so on) says, [2] (see: x) and [3](RFC 6749: section 4).",
        "Read [the\nguide](https://ok.example/in) first.",
        "[1]: TCP/IP guide, [2]: and/or",
        "~~~\ncode\n~~~\nThen `a` and [it](https://ok.example/in).",
    ],
)
def test_fault_57_what_only_looks_like_a_link_stays(text):
    assert gated(text) == (text, [])


@given(TEXTS, st.data())
def test_t7_the_pieces_make_no_difference(text, data):
    bounds = [0, *sorted(data.draw(st.sets(st.integers(0, len(text))))), len(text)]
    parts = [text[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
    assert gated(text, parts) == gated(text) == gated(text, list(text) or [""])


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="[]<!(:/.`\\")))
def test_fault_03_text_without_links_passes_byte_for_byte(text):
    assert gated(text) == (text, [])


@pytest.mark.parametrize("unit", ["[", "![", "[a](", "<a ", "http://", "h", " ", "`", "\\", "![a](b.c) ", "[a]: b.c\n"])
def test_fault_02_a_hostile_text_of_200_kilobytes_leaves_the_gate(unit):
    gate = LinkGate(TARGETS)
    text = unit * (200_000 // len(unit))
    passed = [gate.feed(text[at : at + 977]) for at in range(0, len(text), 977)]
    assert len("".join(passed) + gate.flush()) <= len(text) * 2

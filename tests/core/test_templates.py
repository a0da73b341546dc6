"""The sandbox of every template: nothing leaves it, nothing exhausts it (S4, faults 12 and 64)."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.errors import TemplateInvalid
from groundgraph.text.templates import MAX_OUTPUT_CHARS, compile_template, render


def rendered(source: str, **variables) -> str:
    return render(compile_template(source, key="k"), variables, key="k")


ESCAPES = [
    "{{ cycler.__init__ }}",
    "{{ cycler.__init__.__globals__.os }}",
    "{{ ''.__class__.__mro__ }}",
    "{{ (1).__class__ }}",
    "{{ x.__class__ }}",
    "{{ x['__class__'].__mro__ }}",
    "{{ x|attr('__class__') }}",
    "{{ [].append(1) }}",
    "{{ x.update({'a': 1}) }}",
    "{{ '{0.__class__}'.format(1) }}",
    "{{ '%s'.__mod__(1) }}",
    "{{ self._TemplateReference__context }}",
    "{{ namespace.__init__ }}",
    "{% set x.y = 1 %}",
    "{% include 'answer_system.jinja2' %}",
    "{% import 'words.en.jinja2' as words %}",
    "{{ joiner.__init__.__globals__ }}",
    "{{ lipsum(1000000) }}",
]


@pytest.mark.covers("fault 64")
@pytest.mark.parametrize("source", ESCAPES)
def test_a_template_cannot_leave_the_sandbox(source):
    data = {"a": 0}
    with pytest.raises(TemplateInvalid) as caught:
        rendered(source, x=data)
    assert caught.value.problems[0].key == "k"
    assert data == {"a": 0}


DOUBLED = "{% set ns = namespace(t='aaaaaaaaaa') %}{% for i in range(30) %}"
EXHAUSTING = [
    "{{ 'a' * 999999999 }}",
    "{{ [1] * 999999999 }}",
    "{{ 999999999 * 'a' }}",
    "{{ 9 ** 9 ** 9 }}",
    "{{ '%999999999d' % 1 }}",
    "{{ '%*d' % (999999999, 1) }}",
    "{{ '%999999999d'|format(1) }}",
    "{{ '%.999999999f'|format(1) }}",
    "{{ '%(a)999999999d'|format(a=1) }}",
    "{{ '%*d'|format(999999999, 1) }}",
    "{{ 'a'|center(999999999) }}",
    "{{ 'a'.center(999999999) }}",
    "{{ 'a'.ljust(999999999) }}",
    "{{ 'a'.zfill(999999999) }}",
    "{{ '\\t'.expandtabs(999999999) }}",
    "{{ 'a'|indent(999999999, true) }}",
    "{{ 'a\\nb'|indent(width=999999999) }}",
    "{% for i in range(999999999) %}{% endfor %}",
    DOUBLED + "{% set ns.t %}{{ ns.t }}{{ ns.t }}{% endset %}{% endfor %}",
    "{% set ns = namespace(l=[1, 2]) %}{% for i in range(40) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
    "{% for i in range(99999) %}{% for j in range(99999) %}aaaaaaaaaa{% endfor %}{% endfor %}",
    "{{ ('a,' * 5).split(',') }}",
    "{{ x|replace('', x) }}",
    "{{ x|replace('a', x) }}",
    "{{ x.replace('a', x) }}",
    "{{ x.join(x) }}",
    "{{ [x, x]|join(x) }}{{ x|join(x) }}",
    "{{ x|batch(99999999, 1)|list }}",
    "{{ x|slice(99999999)|list }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{{ x|wordwrap(1, wrapstring=x) }}",
    "{{ [1,2]|tojson(indent=999999999) }}",
    DOUBLED + "{% set ns.t = ns.t ~ ns.t %}{% endfor %}",
    DOUBLED + "{% set ns.t = ns.t + ns.t %}{% endfor %}",
    "{{ '{:999999999}'.format(1) }}",
    "{{ '{a:99999999}'.format_map({'a': 1}) }}",
    "{{ ('{:99999999}'|attr('format'))(1) }}",
    "{{ ('{:99999999}'|e).format(1) }}",
    "{{ (1).to_bytes(99999999, 'big')|length > x }}",
    "{{ x.translate({97: x}) }}",
    DOUBLED + "{% set ns.t = [ns.t, ns.t]|join %}{% endfor %}",
    DOUBLED + "{% set ns.t = '%s%s'|format(ns.t, ns.t) %}{% endfor %}",
    DOUBLED.replace("aaaaaaaaaa", '"') + "{% set ns.t = ns.t|tojson|string %}{% endfor %}",
    DOUBLED.replace("'aaaaaaaaaa'", "9") + "{% set ns.t = ns.t * ns.t %}{% endfor %}",
    "{{ x|replace('a', '\\n')|indent(1000, true, true) }}",
]


@pytest.mark.covers("fault 64")
@pytest.mark.parametrize("source", EXHAUSTING)
def test_a_template_cannot_exhaust_memory_or_time(source):
    started = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(TemplateInvalid):
            rendered(source, x="a" * 20_000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.process_time() - started < 5
    assert most < 20 * MAX_OUTPUT_CHARS


def test_output_ends_at_one_million_characters():
    source = "{% for i in range(1000) %}{{ x }}{% endfor %}"
    assert len(rendered(source, x="a" * (MAX_OUTPUT_CHARS // 1000))) == MAX_OUTPUT_CHARS
    with pytest.raises(TemplateInvalid, match="longer than"):
        rendered(source, x="a" * (MAX_OUTPUT_CHARS // 1000 + 1))


@pytest.mark.covers("fault 12")
@pytest.mark.parametrize(
    ("source", "line"),
    [("{% if %}", 1), ("a\nb\n{{ 1 + }}", 3), ("\n{{ 'x'|no_such_filter }}", 2), ("{% for x in y %}", 1)],
)
def test_wrong_syntax_is_found_at_compile_with_its_line(source, line):
    with pytest.raises(TemplateInvalid) as caught:
        compile_template(source, key="synthesis.template")
    assert str(caught.value).startswith(f"synthesis.template: template line {line}: ")


@pytest.mark.parametrize("source", ["{{ typo }}", "{{ x.typo }}", "{{ x.a.typo }}", "{% for i in typo %}{% endfor %}"])
def test_an_undefined_name_is_an_error(source):
    with pytest.raises(TemplateInvalid, match="typo"):
        rendered(source, x={"a": {}})


@pytest.mark.parametrize("source", ["{{ 1 / 0 }}", "{{ 'a' + 1 }}", "{{ x[9].y }}", "{{ x() }}"])
def test_a_template_that_fails_is_a_typed_error(source):
    with pytest.raises(TemplateInvalid):
        rendered(source, x=[])


@pytest.mark.covers("fault 8")
@pytest.mark.guard
@given(st.text(st.characters()) | st.sampled_from(["{{ 7*7 }}", "{% for i in range(9) %}", "{# c #}", "<b>&"]))
def test_values_are_printed_as_they_are_and_never_rendered(text):
    assert rendered("<{{ x }}{{ y.a }}>", x=text, y={"a": text}) == f"<{text}{text}>"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ '%.0f'|format(0.756 * 100) }}%", "76%"),
        ("{{ '%-5s|'|format('a') }}", "a    |"),
        ("{{ '%(n)03d'|format(n=7) }}", "007"),
        ("{{ 'a-b'|replace('-', '+') }}", "a+b"),
        ("{{ 'a\nb'|indent(2) }}", "a\n  b"),
        ("{{ 2 ** 10 }} {{ 7 % 4 }} {{ 3 * 1.5 }}", "1024 3 4.5"),
        ("{{ x|join(', ') }} {{ x|length }}", "1, 2 2"),
        ("{% for i in x %}\n  {% if i > 1 %}\n{{ i }}\n  {% endif %}\n{% endfor %}", "2\n"),
        (
            "{{ 'a' ~ 1 ~ x }} {{ 'a' + 'b' }} {{ [1] + x }} {{ {'a': x}|tojson }}",
            'a1[1, 2] ab [1, 1, 2] {"a": [1, 2]}',
        ),
        ("{% macro m(a) %}<{{ a }}>{% endmacro %}{% set t %}{{ m(1) }}{% endset %}{{ t }}", "<1>"),
        ("{{ 'A'.lower() }} {{ 'a,b'.split(',') }}", "a ['a', 'b']"),
    ],
)
def test_what_templates_are_for_works(source, text):
    assert rendered(source, x=[1, 2]) == text

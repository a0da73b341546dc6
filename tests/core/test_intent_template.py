"""Template intents: the user's words never become YAML or Jinja syntax (I7, I10, fault 8)."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from groundgraph.answers.intent_template import compile_intent_template, render_intent
from groundgraph.core.errors import IntentInvalid, TemplateInvalid

pytestmark = pytest.mark.covers("I7")

NASTY = st.lists(
    st.sampled_from(
        [
            *('"', "'", "\n", "\r\n", ": ", "- ", "#", "{", "}", "[", "]", "&a", "*a", "|", ">", "%", "@", "`", "\\"),
            *("\\n", "\t", "!!python/object:os.system", "{{ 7*7 }}", "{% if %}", "{# x #}", "filters:", "\n  docs: {}"),
            *("---", "...", "\nscope: broad", "null", "true", "1", "~", "é", "漢", "👩\u200d💻", "\u2028", "\x85"),
            *("\ufeff", "word", " ", "v0z"),
        ]
    ),
    min_size=1,
).map("".join)
MESSAGES = st.one_of(NASTY, st.text(min_size=1)).filter(str.strip)
TAIL = "\nfilters:\n  docs:\n    tenant: acme\n    year: {gte: 2020}\nscope: exact\n"
WRITTEN = {
    "double quoted": 'text_queries:\n- "{{ message }}"' + TAIL,
    "single quoted": "text_queries:\n- '{{ message }}'" + TAIL,
    "unquoted": "text_queries:\n- {{ message }}" + TAIL,
    "flow": "text_queries: [{{ message }}]" + TAIL,
    "literal block": "text_queries:\n- |-\n  {{ message }}" + TAIL,
    "folded block": "text_queries:\n- >-\n  {{ message }}" + TAIL,
    "set": '{% set asked = message %}text_queries:\n- "{{ asked }}"' + TAIL,
    "set block": '{% set asked %}{{ message }}{% endset %}text_queries:\n- "{{ asked }}"' + TAIL,
    "macro": '{% macro show(x) %}{{ x }}{% endmacro %}text_queries:\n- "{{ show(message) }}"' + TAIL,
    "tojson": "text_queries:\n- {{ message|tojson }}" + TAIL,
    "escaped": 'text_queries:\n- "{{ message|e }}"' + TAIL,
    "filters first": TAIL.lstrip() + 'text_queries:\n- "{{ message }}"\n',
    "loop": 'text_queries:\n{% for text in [message] %}\n- "{{ text }}"\n{% endfor %}' + TAIL,
}
COMPILED = {name: compile_intent_template(source) for name, source in WRITTEN.items()}


def intent(source: str, message: str = "hello", **metadata):
    return render_intent(compile_intent_template(source), message=message, metadata=metadata)


@pytest.mark.covers("fault 8")
@pytest.mark.guard
@settings(max_examples=examples(400, quick=100), deadline=None)
@given(st.sampled_from(sorted(WRITTEN)), MESSAGES)
@example("double quoted", '"\nfilters: {}\n#')
@example("literal block", "{{ message }}")
def test_no_message_changes_a_filter_and_each_arrives_literally_however_the_template_is_written(written, message):
    found = render_intent(COMPILED[written], message=message, metadata={})
    assert found["text_queries"] == [message]
    assert found["filters"] == {"docs": {"tenant": "acme", "year": {"gte": 2020}}}
    assert found["scope"] == "exact"


@pytest.mark.covers("fault 8")
@pytest.mark.guard
@settings(max_examples=100, deadline=None)
@given(MESSAGES, MESSAGES)
def test_words_of_the_message_and_the_metadata_arrive_within_a_query(message, topic):
    found = intent('text_queries:\n- "about {{ metadata.topic }}: {{ message }}!"' + TAIL, message, topic=topic)
    assert found["text_queries"] == [f"about {topic}: {message}!"]
    assert found["filters"]["docs"]["tenant"] == "acme"


DOCUMENTED = """text_queries:
- "{{ message }}"
{% if metadata.get('topic') %}
- "{{ metadata['topic'] }} overview"
- "{{ metadata['topic'] }} security considerations"
{% endif %}
scope: focused
"""


def test_the_template_of_the_reference_document_works_unchanged():
    assert intent(DOCUMENTED, 'say "hi"', topic="OAuth")["text_queries"] == [
        'say "hi"',
        "OAuth overview",
        "OAuth security considerations",
    ]
    assert intent(DOCUMENTED, "hello")["text_queries"] == ["hello"]


def test_the_intent_of_a_template_is_complete():
    source = (
        "text_queries: [a, 2024]\nscope: broad\noutput_style: structured\ncategories: [x, y]\n"
        "filters: {docs: {when: 2024-05-01, tags: [a, b]}}\ntopic_index: {type: heading_tree}\n"
    )
    found = intent(source)
    assert found["mode"] == "template"
    assert found["text_queries"] == ["a", "2024"]
    assert (found["scope"], found["output_style"], found["categories"]) == ("broad", "structured", ["x", "y"])
    assert found["raw_data"] == {"topic_index": {"type": "heading_tree"}}
    assert found["filters"]["docs"]["tags"] == ["a", "b"]


def test_what_is_left_out_has_its_default():
    found = intent("text_queries: []")
    assert (found["text_queries"], found["filters"], found["scope"], found["output_style"]) == ([], {}, "focused", None)
    assert found["categories"] == []


@pytest.mark.covers("I10")
def test_a_printed_value_keeps_its_type_in_a_filter():
    source = "text_queries: [a]\nfilters: {docs: {year: {{ metadata.year }}, tags: {{ metadata.tags }}}}"
    assert intent(source, year=2024, tags=["a", "b"])["filters"] == {"docs": {"year": 2024, "tags": ["a", "b"]}}


def test_filters_of_jinja_work_on_the_words_themselves():
    assert intent("text_queries: ['{{ message|upper|trim }}']", " 'a' ")["text_queries"] == ["'A'"]
    assert intent("text_queries: [{{ message ~ ' x' }}]", "a: b")["text_queries"] == ["a: b x"]
    assert intent("{% if 'how' in message %}text_queries: [yes]{% else %}text_queries: ['no']{% endif %}", "how")


@pytest.mark.covers("fault 8")
@pytest.mark.parametrize(
    "source",
    [
        'text_queries: ["{{ message }}"]\nfilters: {docs: {"{{ message }}": x}}',
        "text_queries: [a]\n{{ message }}: x",
        "text_queries: [a]\nfilters: {{ '{' }}{{ message }}: {a: b}}",
        "text_queries: [a]\nfilters:\n  {{ message }}: {a: b}",
    ],
)
def test_a_value_that_is_printed_as_a_key_is_refused(source):
    with pytest.raises(IntentInvalid):
        intent(source, "docs")


@pytest.mark.parametrize(
    "source",
    [
        "just words",
        "",
        "text_queries: none at all",
        "text_queries: [{a: b}]",
        "filters: {docs: {a: 1}}",
        "text_queries: [a]\nfilters: {docs: x}",
        "text_queries: [a]\nscope: wide",
        "text_queries: [a]\nunknown: 1",
        "text_queries: [a",
        "text_queries: [!!python/object:os.system a]",
        "text_queries: [a]\noutput_style: {a: b}",
    ],
)
def test_a_template_without_a_valid_intent_is_an_error_with_the_rendered_text(source):
    with pytest.raises(IntentInvalid) as caught:
        intent(source)
    assert caught.value.rendered == source
    assert source in str(caught.value)


@pytest.mark.parametrize("source", ["{{ typo }}", "{{ message.typo }}", "{{ cycler.__init__ }}", "{{ 1 / 0 }}"])
def test_a_template_that_fails_is_an_intent_error(source):
    with pytest.raises(IntentInvalid, match="template failed"):
        intent(source)


@pytest.mark.covers("fault 8")
def test_a_value_changed_after_printing_is_refused_rather_than_mangled():
    with pytest.raises(IntentInvalid, match="inside"):
        intent("text_queries:\n- '{% filter upper %}{{ message }}{% endfilter %}'")


@pytest.mark.covers("fault 12")
@pytest.mark.parametrize("source", ["{% if %}", "{{ 'a'|no_such }}"])
def test_wrong_syntax_is_found_when_the_template_is_compiled(source):
    with pytest.raises(TemplateInvalid, match=r"intent\.template"):
        compile_intent_template(source)


@pytest.mark.covers("fault 64")
def test_a_huge_intent_is_refused():
    with pytest.raises(IntentInvalid):
        intent(
            "text_queries: [a]\n{% for i in range(99999) %}{% for j in range(9999) %}# comment{% endfor %}{% endfor %}"
        )


@pytest.mark.parametrize(
    "source", ["text_queries: '{{ message }}'", "- {{ message }}", "text_queries: [{{ message }}", "a: {{ message }}"]
)
def test_the_text_that_an_error_shows_holds_what_the_template_printed(source):
    with pytest.raises(IntentInvalid) as caught:
        render_intent(compile_intent_template(source), message="grant: types", metadata={})
    assert caught.value.rendered == source.replace("{{ message }}", "grant: types")


@pytest.mark.parametrize("before", ["", "x" * 60])
@pytest.mark.parametrize("source", ["text_queries: [BEFORE {{ message }}", "text_queries: *BEFORE{{ message }}"])
def test_no_token_of_the_inside_stands_in_the_message_of_an_error(source, before):
    with pytest.raises(IntentInvalid) as caught:
        render_intent(compile_intent_template(source.replace("BEFORE", before)), message="zebra", metadata={})
    assert "did not render to YAML" in str(caught.value)
    assert not re.search(r"v[0-9a-f]{8,}", str(caught.value)), str(caught.value)

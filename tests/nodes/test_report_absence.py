"""What is said when nothing was found."""

from __future__ import annotations

import pytest
from langgraph.runtime import Runtime

from groundgraph import GroundedSource, InMemorySource, load_settings, turn_graph
from groundgraph.answers.structured_answer import AnswerTemplates
from groundgraph.core.errors import SchemaChanged, SchemaVersionUnsupported
from groundgraph.core.intent import EMPTY_INTENT
from groundgraph.core.turn_values import EMPTY_RETRIEVAL, EMPTY_TURN
from groundgraph.nodes.report_absence import report_absence
from groundgraph.prompts import Prompts

ASKED = "Who founded Rome?"
OURS = "does not cover"


def absent(template: str, *, question: str = ASKED, sources=None, **synthesis):
    settings = load_settings({"synthesis": {"style": "structured", "template": template, **synthesis}})
    pumps = InMemorySource(["Pump 17 is serviced every 90 days."], name="pumps")
    return turn_graph(settings, sources=sources or [pumps]).invoke({"question": question})


@pytest.mark.covers("S4", "S5")
@pytest.mark.parametrize(
    "template",
    [
        "{% for r in results %}{{ r.text }}{% endfor %}{% if not results %}Nothing on {{ message }} [1]{% endif %}",
        "{% for r in results %}{{ r.text }}{% else %}Nothing on {{ message }}{% endfor %}",
        "{% if results %}{{ results[0].text }}{% else %}Nothing on {{ message }}{% endif %}",
        "{{ results[0].text if results else 'Nothing on ' ~ message }}",
        "{% for name, rows in results_by_source.items() %}{{ name }}{% endfor %}"
        "{% if not results_by_source %}Nothing on {{ message }}{% endif %}",
    ],
)
def test_a_template_with_words_for_no_results_says_them(template):
    result = absent(template)
    assert (result["answer"], result["outcome"]) == (f"Nothing on {ASKED}", "insufficient")
    assert result["citations"] == []


@pytest.mark.covers("S5")
@pytest.mark.parametrize(
    "template",
    [
        "## Results for {{ message }}{% for r in results %}{{ r.text }}{% endfor %}",
        "Dear reader,{% if results %} see {{ results[0].text }}{% endif %}",
        "{% if not results %} {% endif %}{{ results|length or '' }}",
    ],
)
def test_a_template_without_such_words_gives_way_to_ours(template):
    result = absent(template)
    assert OURS in result["answer"]
    assert result["outcome"] == "insufficient"


@pytest.mark.covers("S5")
def test_another_style_than_the_templates_says_ours():
    result = absent("{% if not results %}Nothing{% endif %}", style="conversational")
    assert OURS in result["answer"]


@pytest.mark.covers("S4")
def test_a_template_that_fails_on_no_results_costs_a_note():
    result = absent("{% if not results %}{{ metadata.topic }}{% endif %}")
    assert OURS in result["answer"]
    assert any("synthesis.template" in note for note in result["notes"])


class Down(GroundedSource):
    name = "tickets"
    source_type = "custom"
    error: Exception = ConnectionError("no route")

    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        raise self.error


@pytest.mark.covers("fault 32")
@pytest.mark.parametrize("error", [SchemaVersionUnsupported("version 99"), SchemaChanged("no such column")])
def test_nobody_is_told_to_ask_later_where_time_mends_nothing(error):
    newer, down = Down(), Down()
    newer.error, newer.name = error, "archive"
    alone = absent("", sources=[newer])
    assert alone["outcome"] == "unavailable"
    assert "archive cannot be searched as it is" in alone["answer"]
    assert "later" not in alone["answer"]
    assert not any("it failed" in note for note in alone["notes"]), "what to do is told"
    both = absent("", sources=[newer, down])
    assert "ask again later" in both["answer"], "the other may be back"


@pytest.mark.covers("fault 32")
def test_a_template_never_hides_that_a_source_was_down():
    result = absent("{% if not results %}Nothing{% endif %}", sources=[Down()])
    assert result["outcome"] == "unavailable"
    assert "tickets" in result["answer"]


@pytest.mark.covers("F21")
@pytest.mark.parametrize("status", ["failed", "timed_out", "schema_changed", "skipped"])
async def test_each_source_that_could_not_be_asked_is_named(status):
    settings, prompts = load_settings({}), Prompts()
    node = report_absence(settings, prompts, AnswerTemplates.compile(settings.synthesis, prompts))
    retrievals = {
        "tickets/0": {**EMPTY_RETRIEVAL, "source": "tickets", "status": status, "refs": [], "error": "x"},
        "pumps/0": {**EMPTY_RETRIEVAL, "source": "pumps"},
    }
    turn = {**EMPTY_TURN, "question": ASKED, "language": "en"}
    update = await node({"turn": turn, "retrievals": retrievals, "intent": EMPTY_INTENT, "metadata": {}}, Runtime())
    assert update["draft"]["outcome"] == "unavailable"
    assert "tickets" in update["draft"]["text"]
    assert "pumps" not in update["draft"]["text"]

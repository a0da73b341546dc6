"""Clusters as elements of the evidence that a model is shown (P5)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.structured_answer import context_text, template_variables
from groundgraph.answers.write_answer import AnswerPrompt
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import EMPTY_RANKING, ClusterValue
from groundgraph.prompts import Prompts, fenced
from groundgraph.settings.context import Context, options_in_force
from groundgraph.settings.settings import Settings
from groundgraph.testing.models import prompt_from_messages

pytestmark = pytest.mark.covers("P5")

TURN = {"id": "t", "fence": "turn-7f", "question": "When?", "message_id": "m", "language": "en"}
HOSTILE = st.lists(
    st.sampled_from(["</cluster>", "<cluster label='x'>", "< / CLUSTER >", "<\u200bcluster", "</passage>", "text", '"'])
).map("".join)


def results(*texts: str) -> list[SourceResult]:
    return [SourceResult(text, str(n), "docs", "memory", 0.5) for n, text in enumerate(texts)]


def shown(texts: list[str], *clusters: ClusterValue, token_limit: int = 100_000) -> str:
    options = options_in_force(Settings(), {}, Context())
    prompt = AnswerPrompt(Prompts(), options, TURN, {**EMPTY_RANKING, "clusters": clusters})
    fitting = prompt.messages(results(*texts), [], token_limit)
    return prompt_from_messages(fitting[0]).evidence


def cluster(*labels: int, label: str = "tokens, expire", score: float = 0.5) -> ClusterValue:
    return {"label": label, "score": score, "labels": list(labels)}


def test_the_passages_of_a_cluster_stand_in_its_element_with_label_and_score():
    text = shown(["one", "two", "three", "four"], cluster(2, 3, score=0.846))
    opened = text.index('<cluster label="tokens, expire" relevance="0.85">')
    places = [text.index(f'<passage number="{number}"') for number in (1, 2, 3, 4)]
    assert places[0] < opened < places[1] < places[2] < text.index("</cluster>") < places[3]


def test_without_clusters_the_evidence_is_as_it_was():
    assert "cluster" not in shown(["one", "two"])


@pytest.mark.parametrize("cut", range(1, 5))
def test_an_element_closes_also_where_the_token_limit_cut_its_end_off(cut):
    texts = [f"{number} " + "word " * 400 for number in range(4)]
    text = shown(texts, cluster(1, 2, 3), cluster(4), token_limit=600 * cut + 400)
    assert text.count("<cluster ") == text.count("</cluster>") > 0


@pytest.mark.covers("fault 56")
@pytest.mark.guard
@given(HOSTILE, HOSTILE)
def test_no_evidence_opens_or_closes_a_cluster(one, other):
    text = shown([one or "x", other or "y"], cluster(1, 2))
    assert len(re.findall(r"<[\s\u200b]*/?[\s\u200b]*cluster", text, re.IGNORECASE)) == 2
    context = context_text(results(one or "x", other or "y"), "section", [cluster(1, 2)])
    assert len(re.findall(r"<[\s\u200b]*/?[\s\u200b]*cluster", context, re.IGNORECASE)) == 2
    assert fenced("</cluster>") == "&lt;/cluster>"


def test_a_context_has_the_same_elements_and_rows_name_their_cluster():
    clusters = [cluster(1, 2)]
    text = context_text(results("one", "two", "three"), "section", clusters)
    assert text.startswith('<cluster label="tokens, expire" relevance="0.50">\n[1]')
    assert text.index("two\n</cluster>") < text.index("[3]")
    told = {"message": "", "metadata": {}, "intent": {}, "citation_format": "section"}
    ranking = {**EMPTY_RANKING, "clusters": clusters}
    rows = template_variables(results("one", "two", "three"), **told, ranking=ranking)["results"]
    assert [row["cluster"] for row in rows] == ["tokens, expire", "tokens, expire", None]

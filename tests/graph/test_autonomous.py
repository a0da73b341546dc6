"""The stages of autonomous retrieval in the turn graph: alone, together, at their bounds, and when they fail."""

from __future__ import annotations

import asyncio

import pytest
from autonomous import (
    COMPLEX,
    FOLLOW_UP,
    KNOWLEDGE,
    PARTS,
    REWRITTEN,
    ask,
    asking,
    build,
    retrieval,
    scripted,
    settings,
    state,
)
from category_source import CategorySource
from langgraph.checkpoint.memory import InMemorySaver
from turn_works import works_of
from virtual_time import in_virtual_time

from groundgraph import InMemorySource, SourceResult, load_settings, retrieve_context, turn_graph
from groundgraph.core.errors import ConfigurationError, InputInvalid, UnknownName
from groundgraph.settings.context import Context
from groundgraph.testing import FaultySource, ScriptedChatModel

FIXED = {
    "__start__", "__end__", "begin_turn", "resolve_intent", "retrieve_source", "process_results", "answer_structured",
    "answer_conversational", "answer_hybrid", "report_absence", "check_citations", "record_turn",
}  # fmt: skip
ORDER = [
    "begin_turn", "rewrite_question", "resolve_intent", "route_categories", "decompose_question",
    "retrieve_source", "process_results", "answer_structured", "check_citations", "record_turn",
]  # fmt: skip
ALONE = {"rewrite": {"rewrite_question"}, "decomposition": {"decompose_question"}}
WORKS = {
    "budget": {"fit_budget"},
    "rotation": {"rotate_results"},
    "reorder": {"arrange_results", "fit_budget"},
    "backfill": {"backfill_facts"},
}
STAGES = {"complexity", "fusion", *ALONE, *WORKS}
NEED_A_MODEL = {"rewrite", "decomposition"}


async def steps_of(graph, given, **options) -> list[str]:
    return [name async for update in graph.astream(given, stream_mode="updates", **options) for name in update]


def stages_of(result) -> dict:
    return result["provenance"]["intent"].get("stages", {})


@pytest.mark.covers("C8")
@pytest.mark.parametrize("stage", sorted(STAGES))
async def test_each_stage_can_be_switched_on_alone_and_the_picture_shows_it(stage):
    graph = build([stage])
    assert set(graph.get_graph().nodes) - FIXED == ALONE.get(stage, set())
    assert not ALONE.get(stage, set()) - set(await steps_of(graph, asking(COMPLEX, earlier=True)))
    assert works_of(graph) == WORKS.get(stage, set())
    result = await ask(graph, COMPLEX, earlier=True)
    assert result["outcome"] == "answered"
    assert WORKS.get(stage, set()) <= set(result["provenance"]["timings_ms"])


@pytest.mark.covers("C8")
@pytest.mark.parametrize("stage", sorted(STAGES - NEED_A_MODEL))
async def test_a_stage_that_needs_no_model_works_without_one(stage):
    graph = turn_graph(settings([stage]), sources=[CategorySource(KNOWLEDGE)])
    assert (await ask(graph, COMPLEX))["outcome"] == "answered"


@pytest.mark.covers("C8")
def test_without_its_flag_no_stage_is_in_the_picture():
    graph = turn_graph(load_settings({}), sources=[CategorySource(KNOWLEDGE)])
    assert set(graph.get_graph().nodes) == FIXED
    assert list(graph.resources.settings.paths) == ["cascade"]
    with pytest.raises(ConfigurationError, match=r"enhanced_retrieval\.stages: has no effect without"):
        load_settings({"enhanced_retrieval": {"stages": ["rewrite", "budget"]}})


@pytest.mark.covers("C8")
def test_the_whole_pipeline_is_in_the_picture_in_its_order():
    graph = build(category_router={"enabled": True})
    edges = {(edge.source, edge.target) for edge in graph.get_graph().edges}
    assert set(zip(ORDER, ORDER[1:], strict=False)) <= edges
    assert set(graph.get_graph().nodes) - FIXED == set().union(*ALONE.values()) | {"route_categories"}
    assert works_of(graph) == set().union(*WORKS.values())


@pytest.mark.covers("U3")
def test_every_branch_in_the_picture_says_what_leads_there():
    edges = [edge for edge in build(**routed(enabled=True)).get_graph().edges if edge.conditional]
    assert {edge.data for edge in edges if edge.source == "route_categories"} == {"divide", "search", "skip"}
    assert [edge for edge in edges if not edge.data] == []


@pytest.mark.covers("C8")
async def test_every_stage_runs_in_one_turn_in_its_order():
    graph = build(category_router={"enabled": True}, model=scripted(rewrite=COMPLEX, route="pricing, features"))
    names = await steps_of(graph, asking(COMPLEX, earlier=True, dialogue_state=state(categories=["support"])))
    assert list(dict.fromkeys(names)) == ORDER
    # The question, its two parts, and the facts of the state.
    assert names.count("retrieve_source") == 4


@pytest.mark.covers("C8")
@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"stages": ["rewrite"]}, "enhanced_autonomous_retrieval"),
        ({"stages": ["decomposition"]}, "enhanced_autonomous_retrieval"),
        ({"stages": ["budget"], "category_router": {"enabled": True}}, "category_router.enabled"),
    ],
)
def test_a_stage_that_needs_a_model_is_refused_without_one(more, key):
    with pytest.raises(ConfigurationError) as caught:
        turn_graph(settings(**more), sources=[CategorySource(KNOWLEDGE)])
    assert caught.value.problems[0].key == key


@pytest.mark.covers("C8", "S6")
async def test_without_a_model_the_flag_alone_turns_on_what_can_work():
    graph = turn_graph(load_settings({"enhanced_autonomous_retrieval": True}), sources=[CategorySource(KNOWLEDGE)])
    assert {"fit_budget", "rotate_results", "backfill_facts"} <= works_of(graph)
    assert not {"rewrite_question", "decompose_question"} & set(graph.nodes)
    result = await graph.ainvoke({"question": COMPLEX})
    assert result["outcome"] == "answered"
    assert "990 roubles" in result["answer"]
    assert stages_of(result)["judge_complexity"]["complex"] is True


@pytest.mark.covers("C3")
def test_routing_is_refused_where_no_source_has_categories():
    with pytest.raises(ConfigurationError, match="no source has categories"):
        build([], source=InMemorySource(["a"]), category_router={"enabled": True})


# Rewriting


@pytest.mark.covers("C4")
async def test_a_follow_up_is_rewritten_and_searched_for_as_rewritten():
    source = CategorySource(KNOWLEDGE)
    result = await ask(build(["rewrite"], source=source), FOLLOW_UP, earlier=True)
    assert [intent.text_queries for intent in source.asked] == [[REWRITTEN]]
    assert result["provenance"]["question"] == FOLLOW_UP
    assert result["provenance"]["intent"]["rewritten"] == REWRITTEN
    assert stages_of(result)["rewrite_question"]["question"] == REWRITTEN
    assert [call["role"] for call in result["provenance"]["models"]] == ["rewrite_question"]
    assert "rewrite_question" in result["provenance"]["timings_ms"]


@pytest.mark.covers("fault 6")
async def test_a_russian_follow_up_with_a_pronoun_is_rewritten_from_the_history():
    source = CategorySource([("pricing", "rate", "Тариф «Старт» стоит 990 рублей в месяц.")])
    model = scripted(rewrite="Сколько стоит тариф Старт в месяц?")
    earlier = [("user", "Расскажи про тариф Старт"), ("assistant", "Это тариф для малого бизнеса.")]
    given = {"messages": [*earlier, ("user", "А сколько он стоит в месяц?")]}
    result = await build(["rewrite"], source=source, model=model).ainvoke(given)
    assert source.asked[0].text_queries == ["Сколько стоит тариф Старт в месяц?"]
    assert "тариф для малого бизнеса" in model.calls[0].prompt.text
    assert result["outcome"] == "answered"
    assert result["citations"][0]["quote"] == "Тариф «Старт» стоит 990 рублей в месяц."


@pytest.mark.covers("C4")
@pytest.mark.parametrize(
    ("question", "least", "asked"),
    [("How about its price?", {}, 1), ("And its price?", {}, 0), ("And its price?", {"rewrite_min_words": 3}, 1)],
)
async def test_only_from_rewrite_min_words_on(question, least, asked):
    model = scripted(rewrite="What is the price of the cash desk?")
    await ask(build(["rewrite"], model=model, enhanced_retrieval=least), question, earlier=True)
    assert len(model.calls) == asked


@pytest.mark.covers("C4")
async def test_without_history_nothing_is_rewritten():
    model = scripted()
    result = await ask(build(["rewrite"], model=model), FOLLOW_UP)
    assert model.calls == []
    assert stages_of(result)["rewrite_question"]["reason"] == "nothing was said before"


@pytest.mark.covers("C4")
async def test_queries_are_written_from_the_rewritten_question():
    model = scripted(answer="monthly rate cash desk")
    source = CategorySource(KNOWLEDGE)
    await ask(build(["rewrite"], source=source, model=model, intent={"mode": "extract"}), FOLLOW_UP, earlier=True)
    assert model.calls[1].prompt.question == REWRITTEN
    assert [one.text_queries for one in source.asked] == [[REWRITTEN], ["monthly rate cash desk"]]


# Categories


def routed(**router):
    return {"category_router": router}


@pytest.mark.covers("C3")
async def test_a_model_chooses_the_categories_of_every_query():
    source = CategorySource(KNOWLEDGE)
    result = await ask(build(["decomposition"], source=source, **routed(enabled=True)), COMPLEX)
    # The category filter holds in the sub-queries too.
    assert [intent.categories for intent in source.asked] == [["pricing"]] * 3
    assert {row["metadata"]["category"] for row in result["provenance"]["results"]} == {"pricing"}
    assert stages_of(result)["route_categories"]["categories"] == ["pricing"]


@pytest.mark.covers("C3")
async def test_routing_needs_no_other_stage():
    given = {"intent": {"mode": "static"}, "retrieval": {"score_threshold": 0.0}, **routed(enabled=True)}
    source = CategorySource(KNOWLEDGE)
    graph = turn_graph(load_settings(given), sources=[source], chat_model=scripted())
    assert set(graph.get_graph().nodes) - FIXED == {"route_categories"}
    await ask(graph, "What is the monthly rate?")
    assert source.asked[0].categories == ["pricing"]


@pytest.mark.covers("C3")
@pytest.mark.parametrize(("top_k", "kept"), [(1, 1), (2, 2), (3, 3), (5, 3)])
async def test_at_most_top_k_categories(top_k, kept):
    source = CategorySource(KNOWLEDGE)
    model = scripted(route="pricing, features, support")
    await ask(build([], source=source, model=model, **routed(enabled=True, top_k=top_k)), "The rate?")
    assert source.asked[0].categories == ["pricing", "features", "support"][:kept]


@pytest.mark.covers("C3")
async def test_a_bad_reply_means_all_categories_and_a_note():
    source = CategorySource(KNOWLEDGE)
    model = scripted(route="I cannot say.")
    result = await ask(build([], source=source, model=model, **routed(enabled=True)), "The rate?")
    assert source.asked[0].categories == []
    assert any("could not choose categories" in note for note in result["notes"])
    assert stages_of(result)["route_categories"]["status"] == "failed"


INTENTS = {"intents": {"price_question": ["pricing", "faq"]}}


@pytest.mark.covers("C3")
async def test_the_intent_of_the_dialogue_maps_to_categories_without_a_model():
    source, model = CategorySource(KNOWLEDGE), scripted()
    graph = build([], source=source, model=model, **routed(**INTENTS, enabled=True))
    result = await ask(graph, "The rate?", dialogue_state={"intent": "price_question"})
    assert source.asked[0].categories == ["pricing", "faq"]
    assert model.calls == []
    assert stages_of(result)["route_categories"]["by"] == "mapping"


@pytest.mark.covers("C3")
@pytest.mark.parametrize(
    ("intent", "fallback", "wanted"),
    [
        ("unheard_of", ["faq", "nonsense"], ["faq"]),
        ("unheard_of", ["FAQ"], ["FAQ"]),
        ("unheard_of", ["nonsense"], []),
        (None, ["faq"], []),
    ],
)
async def test_an_unknown_intent_means_the_fallback_and_no_intent_means_all(intent, fallback, wanted):
    source = CategorySource(KNOWLEDGE)
    graph = build([], source=source, **routed(**INTENTS, fallback_categories=fallback))
    await ask(graph, "The rate?", dialogue_state={"intent": intent} if intent else {})
    assert source.asked[0].categories == wanted


@pytest.mark.covers("C3")
async def test_categories_that_the_intent_template_gives_stay():
    template = "text_queries: ['{{ message }}']\ncategories: [support]"
    source, model = CategorySource(KNOWLEDGE), scripted()
    graph = build(
        [], source=source, model=model, intent={"mode": "template", "template": template}, **routed(enabled=True)
    )
    await ask(graph, "The rate?")
    assert source.asked[0].categories == ["support"]
    assert model.calls == []


# Complexity and parts


@pytest.mark.covers("C5")
@pytest.mark.parametrize(("length", "complex_"), [(len(COMPLEX), True), (len(COMPLEX) + 1, False)])
async def test_min_complexity_length_is_the_shortest_complex_question(length, complex_):
    model = scripted()
    graph = build(["complexity", "decomposition"], model=model, enhanced_retrieval={"min_complexity_length": length})
    names = await steps_of(graph, asking(COMPLEX))
    assert ("decompose_question" in names) is complex_
    assert len(model.calls) == complex_


@pytest.mark.covers("C5")
async def test_a_simple_question_is_searched_for_once():
    source = CategorySource(KNOWLEDGE)
    result = await ask(build(["complexity", "decomposition"], source=source), "What is the monthly rate?")
    assert len(source.asked) == 1
    assert stages_of(result)["judge_complexity"]["complex"] is False
    assert "decompose_question" not in stages_of(result)


@pytest.mark.covers("C6")
async def test_the_question_takes_part_beside_its_parts():
    source = CategorySource(KNOWLEDGE)
    result = await ask(build(["decomposition"], source=source), COMPLEX)
    assert sorted(intent.text_queries[0] for intent in source.asked) == sorted([COMPLEX, *PARTS])
    assert result["provenance"]["intent"]["sub_queries"] == PARTS
    assert result["provenance"]["sources"]["sales"]["queries"] == [COMPLEX, *PARTS]


@pytest.mark.covers("C6")
@pytest.mark.parametrize(("most", "asked"), [(1, 2), (4, 5), (6, 6)])
async def test_at_most_max_sub_queries(most, asked):
    source = CategorySource(KNOWLEDGE)
    parts = "\n".join(f"What is the monthly rate number {number}?" for number in range(5))
    graph = build(
        ["decomposition"], source=source, model=scripted(parts=parts), enhanced_retrieval={"max_sub_queries": most}
    )
    await ask(graph, COMPLEX)
    assert len(source.asked) == asked


@pytest.mark.covers("C6")
@pytest.mark.parametrize("top_k", [1, 3, 7])
async def test_each_part_brings_top_k_per_sub_query(top_k):
    source = CategorySource(KNOWLEDGE)
    graph = build(["decomposition"], source=source, enhanced_retrieval={"top_k_per_sub_query": top_k})
    await ask(graph, COMPLEX, context=Context(top_k=5))
    assert sorted(source.top_ks) == sorted([5, top_k, top_k])


class ByQuery(CategorySource):
    """Gives each query the results that were listed for it."""

    def __init__(self, lists: dict[str, str]) -> None:
        super().__init__([("c", letter, f"Text {letter}.") for letter in "abcdefghij"])
        self.lists = lists

    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        letters = self.lists[intent.text_queries[0]][:top_k]
        return [SourceResult(f"Text {one}.", one, self.name, "cascade", 1.0 - n / 10) for n, one in enumerate(letters)]


@pytest.mark.covers("P7")
@pytest.mark.parametrize(
    ("k", "first"),
    # By hand: "a" is first in one list, 1 / (k + 1); "b" fifth in two, 2 / (k + 5).
    [(1, "a"), (2, "a"), (4, "b"), (60, "b")],
)
async def test_question_and_parts_are_fused_with_rrf_k(k, first):
    source = ByQuery({COMPLEX: "acdeb", PARTS[0]: "fghib", PARTS[1]: "j"})
    bounds = {"rrf_k": k, "top_k_per_sub_query": 5}
    graph = retrieval(["decomposition", "fusion"], source=source, enhanced_retrieval=bounds)
    found = await retrieve_context(graph, COMPLEX)
    ranked = [row["source_id"] for row in found.evidence]
    assert [one for one in ranked if one in "ab"][0] == first
    assert sorted(ranked) == list("abcdefghij")
    assert list(found.provenance["found_again"].values()) == [2]


@pytest.mark.covers("P7")
def test_rrf_k_of_the_stages_takes_the_place_of_the_plain_one_on_their_path_alone():
    given = settings(["fusion"], enhanced_retrieval={"rrf_k": 7}, result_processing={"rrf_k": 9})
    assert {path: way.rrf_k for path, way in given.paths.items()} == {"enhanced": 7, "cascade": 9}
    assert settings(["budget"], result_processing={"rrf_k": 9}).paths["enhanced"].rrf_k == 9


@pytest.mark.covers("C6")
def test_four_parts_over_slow_sources_are_searched_for_at_once():
    parts = "\n".join(f"What is the monthly rate number {number}?" for number in range(4))
    sources = [CategorySource(KNOWLEDGE, delay=0.1, name=name) for name in ("one", "other")]
    _, elapsed = in_virtual_time(ask(build(["decomposition"], source=sources, model=scripted(parts=parts)), COMPLEX))
    assert sum(len(source.asked) for source in sources) == 2 * 5
    # One after another the ten searches would take a second.
    assert elapsed == pytest.approx(0.1)


# Failures

# No passage holds much of a question of two parts.
UNJUDGED = {"answerable_threshold": None, "doubt_threshold": 0}
BAD = [ConnectionResetError("gone"), ValueError("no such model"), "", "[]", "{}", "???", "<think>hm</think>"]


@pytest.mark.covers("fault 17")
@pytest.mark.parametrize("bad", BAD, ids=repr)
@pytest.mark.parametrize(
    ("part", "note"), [("rewrite", "as it stands"), ("route", "all of them"), ("parts", "as a whole")]
)
async def test_a_model_that_fails_in_a_stage_leaves_a_good_turn_with_a_note(part, note, bad):
    source = CategorySource(KNOWLEDGE)
    model = scripted(**{"rewrite": f"{COMPLEX} Of the till?", part: bad})
    more = {"limits": {"attempts": 1}, "retrieval": UNJUDGED}
    graph = build(source=source, model=model, category_router={"enabled": True}, **more)
    result = await ask(graph, COMPLEX, earlier=True)
    assert result["outcome"] == "answered"
    assert [told for told in result["notes"] if note in told]
    step = {"rewrite": "rewrite_question", "route": "route_categories", "parts": "decompose_question"}[part]
    assert stages_of(result)[step]["status"] == "failed"
    assert stages_of(result)[step]["reason"]
    searched = COMPLEX if part == "rewrite" else f"{COMPLEX} Of the till?"
    assert source.asked[0].text_queries == [searched]
    assert len(source.asked) == (1 if part == "parts" else 3)


@pytest.mark.covers("fault 17")
async def test_a_model_that_fails_everywhere_leaves_the_plain_question():
    source = CategorySource(KNOWLEDGE)
    model = ScriptedChatModel(default=ValueError("down"))
    more = {"limits": {"attempts": 1}, "retrieval": UNJUDGED}
    graph = build(source=source, model=model, category_router={"enabled": True}, **more)
    result = await ask(graph, COMPLEX, earlier=True)
    assert [intent.text_queries for intent in source.asked] == [[COMPLEX]]
    assert source.asked[0].categories == []
    assert result["outcome"] == "answered"
    assert len(result["notes"]) == 3
    assert [call["error"] for call in result["provenance"]["models"]] == ["ValueError: down"] * 3


@pytest.mark.covers("T9")
async def test_stages_that_may_not_call_a_model_any_more_are_left_out():
    model = scripted()
    graph = build(model=model, category_router={"enabled": True}, limits={"model_calls": 3})
    result = await ask(graph, COMPLEX, earlier=True)
    assert len(model.calls) == 1
    assert result["outcome"] == "answered"
    assert {name: ran["status"] for name, ran in stages_of(result).items() if ran["status"] != "ran"} == {
        "route_categories": "failed"
    }


@pytest.mark.covers("C8")
async def test_a_source_that_fails_in_a_part_degrades_the_turn():
    broken = CategorySource(KNOWLEDGE, name="broken", fails=True)
    result = await ask(build(["decomposition"], source=[CategorySource(KNOWLEDGE), broken]), COMPLEX)
    assert result["outcome"] == "answered"
    assert any("broken" in note for note in result["notes"])


@pytest.mark.covers("C8")
async def test_a_source_that_cannot_tell_its_categories_does_not_stop_the_routing():
    class Mute(CategorySource):
        async def categories(self, filters: object = None) -> dict[str, str]:
            raise RuntimeError("no idea")

    sources = [CategorySource(KNOWLEDGE), Mute(KNOWLEDGE, name="mute")]
    result = await ask(build([], source=sources, category_router={"enabled": True}), "The rate?")
    assert stages_of(result)["route_categories"]["categories"] == ["pricing"]


# Paths


@pytest.mark.covers("C8")
async def test_the_path_is_chosen_per_run():
    graph = build()
    given = asking(COMPLEX, earlier=True, dialogue_state=state(facts=["The demo is free."]))
    enhanced = await graph.ainvoke(given)
    facts = await graph.ainvoke(given, context=Context(retrieval_path="state_facts"))
    plain = await graph.ainvoke(given, context=Context(retrieval_path="cascade"))
    assert [run["provenance"]["path"] for run in (enhanced, facts, plain)] == ["enhanced", "state_facts", "cascade"]
    assert len(stages_of(enhanced)) == 2
    assert [row["text"] for row in facts["provenance"]["results"]] == ["The demo is free."]
    assert stages_of(plain) == {}
    assert plain["provenance"]["intent"]["text_queries"][0] == COMPLEX
    assert "The demo is free." not in [row["text"] for row in plain["provenance"]["results"]]
    assert not {"rotation", "budget", "reorder", "backfill"} & set(plain["provenance"]["strategies"])


@pytest.mark.covers("C8")
async def test_the_plain_path_skips_the_stages_and_the_path_of_the_state_the_search():
    graph = build(category_router={"enabled": True})
    before = {"rewrite_question", "judge_complexity", "decompose_question"}
    plain = await steps_of(graph, asking(COMPLEX, earlier=True), context=Context(retrieval_path="cascade"))
    assert not before & set(plain)
    facts = await steps_of(graph, asking(COMPLEX, earlier=True), context=Context(retrieval_path="state_facts"))
    assert not (before | {"route_categories", "retrieve_source"}) & set(facts)


@pytest.mark.covers("C8")
@pytest.mark.parametrize(("stages", "path"), [(["budget"], "state_facts"), ([], "enhanced"), ([], "state_facts")])
async def test_a_path_that_the_graph_does_not_have_is_refused(stages, path):
    with pytest.raises(UnknownName, match=f"no path '{path}'"):
        await ask(build(stages), COMPLEX, context=Context(retrieval_path=path))


@pytest.mark.covers("C8")
async def test_an_unknown_path_is_refused():
    with pytest.raises(InputInvalid, match="retrieval_path"):
        Context(retrieval_path="magic")
    with pytest.raises(InputInvalid, match="retrieval_path"):
        await ask(build(), COMPLEX, context={"retrieval_path": "magic"})


@pytest.mark.covers("C7")
async def test_a_state_that_nothing_uses_is_refused():
    with pytest.raises(UnknownName, match=r"context\.dialogue_state"):
        await ask(build(["budget"]), COMPLEX, context=Context(dialogue_state={"facts": ["a"]}))


# Security


@pytest.mark.covers("I8")
@pytest.mark.parametrize("kind", ["default", "scope"])
async def test_enforced_filters_hold_in_every_part_and_for_the_facts_of_a_state(kind):
    source = CategorySource(KNOWLEDGE)
    more = (
        {"intent": {"mode": "static", "default_filters": {"sales": {"category": "pricing"}}}}
        if kind == "default"
        else {"retrieval": {"score_threshold": 0.0, "scope_filters": {"sales": {"category": "context.area"}}}}
    )
    result = await ask(
        build(source=source, **more),
        COMPLEX,
        context=Context(scope={"area": "pricing"}),
        dialogue_state=state(categories=["support", "pricing"]),
    )
    assert len(source.asked) == 4
    assert all(intent.filters == {"sales": {"category": "pricing"}} for intent in source.asked)
    assert {row["metadata"]["category"] for row in result["provenance"]["results"]} == {"pricing"}


@pytest.mark.covers("I8")
async def test_facts_of_a_state_that_a_filter_excludes_are_dropped_behind_a_source_that_gives_them():
    class Careless(CategorySource):
        async def query(self, intent, *, top_k=5, score_threshold=0.0):
            careless = type(intent)(intent.text_queries, {}, intent.scope, None, intent.categories)
            return await super().query(careless, top_k=top_k, score_threshold=score_threshold)

    filters = {"mode": "static", "default_filters": {"sales": {"category": "pricing"}}}
    graph = build(["backfill"], source=Careless(KNOWLEDGE), intent=filters)
    result = await ask(graph, "The rate?", dialogue_state=state(categories=["support"]))
    assert {row["metadata"]["category"] for row in result["provenance"]["results"]} == {"pricing"}


@pytest.mark.covers("R13")
async def test_an_edited_intent_shows_a_model_that_routes_nothing_outside_the_scope():
    model, thread = scripted(route="support, pricing"), {"configurable": {"thread_id": "t"}}
    scoped = {"score_threshold": 0.0, "scope_filters": {"sales": {"category": "context.area"}}}
    saver = InMemorySaver()
    graph = build([], model=model, checkpointer=saver, category_router={"enabled": True}, retrieval=scoped)
    chosen = Context(scope={"area": "pricing"})
    given = asking("What is the monthly rate?")
    await graph.ainvoke(given, thread, context=chosen, interrupt_before=["route_categories"])
    intent = (await graph.aget_state(thread)).values["intent"]
    await graph.aupdate_state(thread, {"intent": {**intent, "filters": {}}}, as_node="resolve_intent")
    result = await graph.ainvoke(None, thread)
    assert model.calls
    assert "support" not in str(model.calls)
    assert result["provenance"]["intent"]["categories"] == ["pricing"]


@pytest.mark.covers("C3")
async def test_the_sources_are_asked_for_their_categories_at_once():
    together = asyncio.Barrier(2)

    class Waiting(CategorySource):
        async def categories(self, filters=None):
            await together.wait()
            return await super().categories(filters)

    sources = [Waiting(KNOWLEDGE[:2], name="one"), Waiting(KNOWLEDGE[2:], name="two")]
    limit = {"source": 60}
    graph = build([], source=sources, category_router={"enabled": True}, deadlines=limit)
    result = await ask(graph, "What is the monthly rate?")
    assert result["provenance"]["intent"]["categories"] == ["pricing"]


@pytest.mark.covers("C4")
async def test_a_reranker_is_asked_the_rewritten_question():
    asked = []

    async def rerank(query, results):
        asked.append(query)
        return [1.0] * len(results)

    graph = turn_graph(
        settings(["rewrite"]), sources=[CategorySource(KNOWLEDGE)], chat_model=scripted(), reranker=rerank
    )
    await ask(graph, FOLLOW_UP, earlier=True)
    assert asked == [REWRITTEN]


@pytest.mark.covers("C6")
async def test_a_source_that_was_left_out_is_not_asked_for_parts_either():
    sources = [CategorySource(KNOWLEDGE), CategorySource(KNOWLEDGE, name="other")]
    await ask(build(["decomposition"], source=sources), COMPLEX, context=Context(sources=["sales"]))
    assert (len(sources[0].asked), len(sources[1].asked)) == (3, 0)


@pytest.mark.covers("C8")
async def test_a_wrapped_source_without_categories_is_searched_as_usual():
    graph = build(["decomposition", "backfill"], source=FaultySource(CategorySource(KNOWLEDGE)))
    result = await ask(graph, COMPLEX, dialogue_state=state(categories=["support"]))
    assert result["outcome"] == "answered"
    assert "backfill" not in result["provenance"]["strategies"]
    assert list(result["provenance"]["sources"]["sales"]["queries"]) == [COMPLEX, *PARTS]

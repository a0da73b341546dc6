"""Facts of the dialogue's state fill what the evidence leaves of the budget, behind a separator (C7)."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime

from groundgraph.chains.budget import facts_that_fit
from groundgraph.chains.budgets_of import budgets_of
from groundgraph.chains.count_tokens import TokenCounter
from groundgraph.chains.result_rows import CONTEXT_SEPARATOR, context_piece, context_text
from groundgraph.core.context import Context, options_in_force
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import Ranking, Ref, StateValue
from groundgraph.nodes.counted import counted
from groundgraph.nodes.enforced import evidence_scope
from groundgraph.nodes.node import Node
from groundgraph.nodes.ranking_step import Ending, RankingInput, RankingUpdate, changed, ended, of_path, parts_of
from groundgraph.prompts import Prompts, fenced

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def backfill_facts(
    settings: Settings,
    model: BaseChatModel | None,
    evidence: EvidenceStore,
    prompts: Prompts,
    *,
    ending: Ending | None = None,
) -> Node[RankingInput, RankingUpdate]:
    """The node. Each fact is a piece of evidence with a label of its own, so that a reader can check what it says."""
    counter = TokenCounter(model)
    budgets = {path: budgets_of(settings, wanted, counter, model) for path, wanted in settings.paths.items()}

    async def backfill_facts(state: RankingInput, runtime: Runtime[Context]) -> RankingUpdate:
        started, turn, path = time.perf_counter(), state["turn"], state["turn"].get("path", "cascade")
        # What was found has to be good enough by itself: facts of the state must not carry it.
        ranking = await ended(state, runtime, state["ranking"], ending)
        named = turn.get("state")
        facts = _facts(state, ranking, named) if named and path != "cascade" else []
        if named is None or not facts:
            return {"ranking": with_ready_reply(state, ranking)}
        options, refs = options_in_force(settings, turn["options"], runtime.context), ranking["refs"]
        scope = evidence_scope(settings, runtime, turn["options"])
        results = await evidence.results(runtime.store, [*refs, *facts], state.get("bodies"), scope=scope)
        separator = prompts.render("state_separator", language=turn["language"]).strip()
        clusters = ranking.get("clusters", [])
        context = context_text(results[: len(refs)], options.citation_format, clusters)
        pieces = [context_piece(label, result, options.citation_format) for label, result in enumerate(results, 1)]
        # As they are shown beside the tags of clusters.
        pieces = [fenced(piece) for piece in pieces] if clusters else pieces
        measured = (context, pieces[len(refs) :], separator, of_path(budgets, turn), CONTEXT_SEPARATOR)
        kept = await counted(counter, partial(facts_that_fit, *measured))
        ran = {"state": named["name"], "facts": len(kept), "left_out": len(facts) - len(kept)}
        ranking = changed(ranking, "backfill_facts", started, [*refs, *(facts[place] for place in kept)], backfill=ran)
        if kept:
            ranking["divider"] = {"at": len(refs), "text": separator}
        runtime.stream_writer({"stage": "backfill_facts", **ran})
        return {"ranking": with_ready_reply(state, await ended(state, runtime, ranking, ending))}

    return backfill_facts


def with_ready_reply(state: RankingInput, ranking: Ranking) -> Ranking:
    """`ranking` without a style where nothing came of the facts and a reply to small talk is ready: no model is asked
    to greet from general knowledge."""
    return {**ranking, "style": None} if "small_talk" in state["turn"] and not ranking["refs"] else ranking


def _facts(state: RankingInput, ranking: Ranking, named: StateValue) -> list[Ref]:
    """What the state names: the facts that were given, then those of its categories in the order of the sources; none
    that the evidence holds already."""
    shown = {part for ref in ranking["refs"] for part in (ref[0], *parts_of(ranking, ref[0]))}
    given: list[Ref] = [[key, 1.0, 1.0] for key in named["facts"]]
    listed = [
        ref
        for _, entry in sorted(state["retrievals"].items())
        if entry.get("kind") == "state_facts"
        for ref in entry["refs"]
    ]
    unique: dict[str, Ref] = {}
    for ref in (*given, *listed):
        if ref[0] not in shown:
            unique.setdefault(ref[0], ref)
    return list(unique.values())

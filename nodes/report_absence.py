"""Nothing was found: say whether the sources do not cover the question or could not be asked."""

from __future__ import annotations

from langgraph.runtime import Runtime

from groundgraph.core.context import Context, options_in_force
from groundgraph.core.settings import Settings
from groundgraph.core.turn_outcome import absence_outcome
from groundgraph.nodes.answer_state import AnswerInput, AnswerUpdate, style_asked_for
from groundgraph.nodes.node import Node
from groundgraph.prompts import Prompts


def report_absence(settings: Settings, prompts: Prompts) -> Node[AnswerInput, AnswerUpdate]:
    """The node. No model is called: it could only invent something (S5)."""

    async def report_absence(state: AnswerInput, runtime: Runtime[Context]) -> AnswerUpdate:
        if small_talk := state["turn"].get("small_talk"):
            # Nothing came of the facts of the dialogue's state, so the reply that was ready stands.
            runtime.stream_writer({"stage": "report_absence", "outcome": small_talk["outcome"]})
            return {"draft": small_talk}
        language = state["turn"]["language"]
        retrievals = state["retrievals"].values()
        outcome = absence_outcome(retrievals)
        failed = list(dict.fromkeys(entry["source"] for entry in retrievals if entry["status"] != "ok"))
        if outcome == "unavailable":
            text = prompts.render("unavailable", language=language, failed=failed)
        else:
            text = prompts.render("nothing_found", language=language)
        options = options_in_force(settings, state["turn"]["options"], runtime.context)
        runtime.stream_writer({"stage": "report_absence", "outcome": outcome})
        return {
            "draft": {
                "text": text.strip(),
                "style": "fixed",
                "asked_style": style_asked_for(state, options),
                "outcome": outcome,
                "finish": "stop",
                "removed": [],
                "notes": [],
                "order": [],
                "written": 0,
            },
        }

    return report_absence

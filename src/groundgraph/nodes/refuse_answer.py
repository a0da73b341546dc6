"""An answer that does not agree with its evidence is withheld, where the configuration says so, or a person."""

from __future__ import annotations

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.core.turn_values import Check, Draft, Turn, unread, withheld
from groundgraph.nodes.node import Node
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context


class RefuseAnswerInput(TypedDict, total=False):
    """What the step reads."""

    turn: Turn
    draft: Draft
    check: Check


class RefuseAnswerUpdate(TypedDict):
    """What the step writes."""

    draft: Draft
    check: Check


def refuse_answer(prompts: Prompts) -> Node[RefuseAnswerInput, RefuseAnswerUpdate]:
    """The node. The outcome is `insufficient`: nothing good enough was found to say. The flags that led to it stay."""

    async def refuse_answer(state: RefuseAnswerInput, runtime: Runtime[Context]) -> RefuseAnswerUpdate:
        language, review = state["turn"]["language"], state["draft"]["review"]
        # A person need not say why, and may mind something else than the check does.
        if review and review["decision"] == "refuse":
            text = prompts.note("review_refused", language)
        else:
            text = prompts.render("answer_refused", language=language).strip()
        runtime.stream_writer({"stage": "refuse_answer"})
        return {"draft": withheld(state["draft"], text), "check": unread(state["check"])}

    return refuse_answer

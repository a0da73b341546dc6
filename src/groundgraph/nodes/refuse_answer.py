"""An answer that does not agree with its evidence is withheld, where the configuration says so."""

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
        text = prompts.render("answer_refused", language=state["turn"]["language"]).strip()
        runtime.stream_writer({"stage": "refuse_answer"})
        return {"draft": withheld(state["draft"], text), "check": unread(state["check"])}

    return refuse_answer

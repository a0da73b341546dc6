"""Models and rerankers that say what was recorded, and refuse to be asked anything else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groundgraph.chains.rerank import Judged, Rerank
from groundgraph.core.evidence import SourceResult
from groundgraph.testing.prompt import Prompt
from groundgraph.testing.recorded_error import replayed_error
from groundgraph.testing.recording_parts import as_candidates
from groundgraph.testing.replay_drifted import ReplayDrifted
from groundgraph.testing.reply import Reply
from groundgraph.testing.scripted_chat_model import ScriptedChatModel


class ReplayingCalls:
    """The recorded calls of models, each of which is made once.

    Args:
        calls: what was recorded.
        drifts: told when a model is asked what was not recorded.
    """

    def __init__(self, calls: Sequence[dict[str, Any]], drifts: list[ReplayDrifted]) -> None:
        self._left = list(calls)
        self._drifts = drifts

    def model(self, name: str) -> ScriptedChatModel:
        """A model called `name` that replies as recorded."""
        return ScriptedChatModel(default=self._reply, model_name=name)

    def unmade(self) -> ReplayDrifted | None:
        """The drift of a call that was recorded and not made; None when there is none."""
        if not self._left:
            return None
        return ReplayDrifted(f"A model was not called in the step '{self._left[0]['step']}', as was recorded")

    def _reply(self, prompt: Prompt) -> Reply:
        asked = [{"role": one.role, "name": one.name, "text": one.text} for one in prompt.messages]
        call = next((call for call in self._left if call["prompt"] == asked), None)
        if call is None:
            closest = self._left[0] if self._left else {"prompt": None, "step": "of no recorded call"}
            what = f"A model is asked what was not recorded, in place of the call in the step '{closest['step']}'"
            drift = ReplayDrifted(what, closest["prompt"], asked)
            self._drifts.append(drift)
            raise drift
        self._left.remove(call)
        return _as_reply(call)


def _as_reply(call: dict[str, Any]) -> Reply:
    if "error" in call:
        error, pieces = replayed_error(call["error"]), call.get("pieces")
        # What streamed before the model broke off.
        return Reply(error=error, chunks=pieces, error_after=len(pieces)) if pieces else Reply(error=error)
    reply = call["reply"]
    usage = reply.get("usage")
    return Reply(
        reply["text"],
        tool_calls=reply.get("tool_calls", ()),
        refusal=reply.get("refusal"),
        finish_reason=reply.get("finish_reason", "stop"),
        usage=(usage[0], usage[1]) if usage else None,
    )


def replaying_reranker(name: str, calls: Sequence[dict[str, Any]], drifts: list[ReplayDrifted]) -> Rerank:
    """The reranker called `name`."""

    async def rerank(question: str, candidates: Sequence[SourceResult]) -> list[Judged]:
        asked = as_candidates(question, candidates)
        call = next((call for call in calls if call["asked"] == asked), None)
        if call is None:
            closest = calls[0]["asked"] if calls else None
            drifts.append(ReplayDrifted(f"The reranker '{name}' is given what was not recorded", closest, asked))
            raise drifts[-1]
        if "error" in call:
            raise replayed_error(call["error"])
        return [Judged(place, score) for place, score in call["judged"]]

    return rerank

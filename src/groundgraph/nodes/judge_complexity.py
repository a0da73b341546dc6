"""Whether a question is made of several, by rule (C5): what the edge to `decompose_question` goes by."""

from __future__ import annotations

import time
from collections.abc import Callable

from groundgraph.chains.complexity import complexity_signs
from groundgraph.core.intent import IntentState, StageReport
from groundgraph.core.settings import Settings

JudgeComplexity = Callable[[IntentState, str], IntentState]


def judge_complexity(settings: Settings) -> JudgeComplexity:
    """What adds to an intent the judgement of its question, and the stage's report; no model is called."""
    least = settings.enhanced_retrieval.min_complexity_length

    def judged(intent: IntentState, question: str) -> IntentState:
        started = time.perf_counter()
        signs = complexity_signs(question, least)
        report: StageReport = {"status": "ran", "complex": bool(signs), "signs": list(signs)}
        report["elapsed_ms"] = round((time.perf_counter() - started) * 1000, 3)
        stages = {**intent.get("stages", {}), "judge_complexity": report}
        return {**intent, "complex": bool(signs), "stages": stages}

    return judged

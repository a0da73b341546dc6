"""Records what rerankers make of candidates, and what extractors of the user's own extract."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from groundgraph.chains.ask_extractor import AskExtractor, Extractor
from groundgraph.chains.rerank import Judged, Rerank
from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.testing.recorded_error import recorded_error
from groundgraph.testing.recording_calls import as_prompt, recorded_as_a_whole


def recorded_reranker(rerank: Rerank, calls: list[dict[str, Any]]) -> Rerank:
    """`rerank`; each of its calls is put into `calls`."""

    async def recorded(question: str, candidates: Sequence[SourceResult]) -> list[Judged]:
        call: dict[str, Any] = {"asked": as_candidates(question, candidates)}
        calls.append(call)
        try:
            with recorded_as_a_whole():
                judged = await rerank(question, candidates)
        except BaseException as error:
            call["error"] = recorded_error(error)
            raise
        call["judged"] = [[one.place, one.score] for one in judged]
        return judged

    return recorded


def as_candidates(question: str, candidates: Sequence[SourceResult]) -> dict[str, Any]:
    """What a reranker is asked, as a recording has it."""
    return {"question": question, "candidates": [f"{one.source_name}/{one.source_id}" for one in candidates]}


def recorded_extractor(extractor: Extractor, calls: list[dict[str, Any]]) -> Extractor:
    """`extractor`; each of its calls is put into `calls`. Those of a chat model are recorded anyway."""
    if isinstance(extractor, BaseChatModel):
        return extractor
    ask = AskExtractor(extractor)

    async def recorded(messages: Sequence[BaseMessage]) -> Any:
        call = {"step": "resolve_intent", "prompt": as_prompt(messages)}
        try:
            with recorded_as_a_whole():
                found = await ask(list(messages), {})
        except BaseException as error:
            calls.append({**call, "error": recorded_error(error)})
            raise
        calls.append({**call, "reply": {"text": _as_text(found)}})
        return found

    return recorded


def _as_text(found: Any) -> str:
    if isinstance(found, BaseMessage):
        return str(found.text)
    if isinstance(found, BaseModel):
        return found.model_dump_json()
    return found if isinstance(found, str) else json.dumps(jsonable(found), ensure_ascii=False)

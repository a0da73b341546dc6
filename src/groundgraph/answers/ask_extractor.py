"""Asking whatever extracts intents: a chat model by its structured output, or something of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from groundgraph.models.replies import QUIET, ask_for_object, in_turns, with_schema
from groundgraph.prompts import Prompts
from groundgraph.resilience.blocking import run_blocking

# What a function or Runnable of the user's is given: the messages of the prompt. It returns a mapping, a text that
# holds one, a message, or a Pydantic model.
ExtractorFunction = Callable[[Sequence[BaseMessage]], Any]
Extractor = BaseChatModel | Runnable[Any, Any] | ExtractorFunction


@dataclass
class AskExtractor:
    """Asks `extractor` for an object that fits a JSON schema.

    Args:
        extractor: a chat model is asked as its profile allows (`models/replies.py`); anything else is called with
            the messages, whose instructions then hold the schema.
        prompts: the prompt files.
    """

    extractor: Extractor
    prompts: Prompts

    async def __call__(self, messages: list[BaseMessage], schema: dict[str, Any]) -> Any:
        """The reply, unread."""
        if isinstance(self.extractor, BaseChatModel):
            return await ask_for_object(self.extractor, messages, schema, self.prompts)
        told = with_schema(in_turns(messages), schema, self.prompts)
        if isinstance(self.extractor, Runnable):
            return await self.extractor.ainvoke(told, QUIET)
        if inspect.iscoroutinefunction(self.extractor) or inspect.iscoroutinefunction(
            getattr(self.extractor, "__call__", None)  # noqa: B004 - an object whose call is a coroutine function
        ):
            return await self.extractor(told)
        found = await run_blocking(self.extractor, told)
        return await found if isinstance(found, Awaitable) else found

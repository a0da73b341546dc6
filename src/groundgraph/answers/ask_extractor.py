"""Asking whatever extracts intents: a chat model by its structured output, or something of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM

from groundgraph.core.model_reply import status_code
from groundgraph.models.in_turns import in_turns
from groundgraph.resilience.blocking import run_blocking

# What a function or Runnable of the user's is given: the messages of the prompt. It returns a mapping, a text that
# holds one, a message, or a Pydantic model.
ExtractorFunction = Callable[[Sequence[BaseMessage]], Any]
Extractor = BaseChatModel | Runnable[Any, Any] | ExtractorFunction

_CONFIG: Any = {"tags": [TAG_NOSTREAM]}


@dataclass
class AskExtractor:
    """Asks `extractor` for an object that fits a JSON schema.

    Args:
        extractor: a chat model is asked by its structured output where it has one, else by its text: the prompt holds
            the schema as well. Anything else is called with the messages.
    """

    extractor: Extractor
    _by_text: bool = field(default=False, repr=False, compare=False)

    async def __call__(self, messages: list[BaseMessage], schema: dict[str, Any]) -> Any:
        """The reply, unread."""
        messages = in_turns(messages)
        if isinstance(self.extractor, BaseChatModel):
            return await self._model_reply(self.extractor, messages, schema)
        if isinstance(self.extractor, Runnable):
            return await self.extractor.ainvoke(messages, _CONFIG)
        if inspect.iscoroutinefunction(self.extractor) or inspect.iscoroutinefunction(
            getattr(self.extractor, "__call__", None)  # noqa: B004 - an object whose call is a coroutine function
        ):
            return await self.extractor(messages)
        found = await run_blocking(self.extractor, messages)
        return await found if isinstance(found, Awaitable) else found

    async def _model_reply(
        self, model: BaseChatModel, messages: list[BaseMessage], schema: dict[str, Any]
    ) -> AIMessage:
        structured = None if self._by_text else _structured(model, schema)
        if structured is not None:
            try:
                found = await structured.ainvoke(messages, _CONFIG)
            except Exception as error:
                # Some models of a provider that has structured output refuse it, or some of the schema.
                if status_code(error) not in (400, 404, 405, 415, 422, 501):
                    raise
                reply = await model.ainvoke(messages, _CONFIG)
                # Otherwise it refuses this prompt, whatever is asked for, and the next one may be another matter.
                self._by_text = True
                return reply
            else:
                return found["raw"]  # type: ignore[no-any-return]
        return await model.ainvoke(messages, _CONFIG)


def _structured(model: BaseChatModel, schema: dict[str, Any]) -> Runnable[Any, Any] | None:
    """The model bound to `schema`, None when it cannot be."""
    try:
        return model.with_structured_output(schema, include_raw=True)
    except (NotImplementedError, TypeError, ValueError, AttributeError):
        return None

"""A chat model whose text passes a gate, token by token, before anyone sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models._compat_bridge import achunks_to_events
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import ConfigDict, PrivateAttr

from groundgraph.answers.answer_gate import AnswerGate, says_something
from groundgraph.core.characters import clean_text
from groundgraph.core.errors import ModelError
from groundgraph.models.replies import (
    begins_in_thought,
    finish_reason,
    in_turns,
    note_that_it_begins_in_thought,
    refusal_text,
    says_how_it_ended,
    unstreamed,
)
from groundgraph.resilience.blocking import run_blocking
from groundgraph.resilience.bounds import ready_to_emit

# A longer piece passes the gate beside the event loop; a token never is.
_LONG_PIECE = 4000

# What LangChain's callbacks are told; such a call is another model's, passed on.
GATED = "groundgraph-gated"


@dataclass
class Written:
    """What one call wrote: the text that passed, how much of it is the model's, and what the provider said about it.

    `order`, `removed`, `removed_links` and `missing` are those of the gate.
    """

    text: str = ""
    by_model: int = 0
    finish: str = "stop"
    refusal: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    order: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    removed_links: list[str] = field(default_factory=list)
    missing: str | None = None

    @property
    def refused(self) -> bool:
        """Whether the provider says that the model declined, in words of its own or without any."""
        return bool(self.refusal) or self.finish == "refusal"


class GatedChatModel(BaseChatModel):
    """Streams the inner model's text through an `AnswerGate`.

    The inner call is tagged so that LangGraph does not stream it; what LangGraph streams is this model. Usage is not
    forwarded, or the tokens would be counted twice; it is in `written`. One instance serves one call.

    Attributes:
        inner: the model that writes.
        gate: what the text passes.
        message_id: the id of the message, that of the final answer.
        prefix: text before the model's, already final.
        suffix: a listing behind the model's text, final but for the numbers of its labels.
        max_output_tokens: where the text is cut off, as the model wrote it, thoughts and defanged links among it; a
            token is counted as four characters.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    inner: BaseChatModel
    gate: AnswerGate
    message_id: str
    prefix: str = ""
    suffix: str = ""
    max_output_tokens: int = 100_000
    cache: bool = False
    _written: Written = PrivateAttr(default_factory=Written)
    _closed: bool = PrivateAttr(default=False)
    _read: int = PrivateAttr(default=0)
    # What has passed before the first letter or digit: labels and signs alone are no answer.
    _opening: str = PrivateAttr(default="")
    _has_ended: bool = PrivateAttr(default=False)
    # Set while the gate is read from a thread, and for good when nobody waited for that.
    _busy: bool = PrivateAttr(default=False)
    _rest: str | None = PrivateAttr(default=None)

    @property
    def written(self) -> Written:
        """What the call has written so far; complete also after the call failed."""
        self._written.removed, self._written.removed_links = self.gate.removed, self.gate.removed_links
        self._written.order, self._written.missing = list(self.gate.order), self.gate.missing
        return self._written

    def close(self) -> None:
        """Let nothing pass any more but what waits in the gate: the caller has given up on a call that may not have
        noticed."""
        self._closed = True
        self._after_failure()

    @property
    def _llm_type(self) -> str:
        return GATED

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise TypeError("A turn runs asynchronously; call ainvoke or astream.")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the inner call has its own
        **kwargs: Any,
    ) -> ChatResult:
        reply = await self.inner.ainvoke(in_turns(messages), unstreamed(), stop=stop, **kwargs)
        self._note(reply)
        text = await self._gated(reply.text, final=True)
        self._require_text()
        self._require_answer()
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text, id=self.message_id))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        # A thought that nothing announces is not shown a second time: what such a model writes waits for its end.
        waits, waiting = begins_in_thought(self.inner), ""
        try:
            async for piece in self._pieces(messages, stop, **kwargs):
                waits = waits and not self.gate.restarted
                waiting = waiting + piece if waits else ""
                if piece and not waits:
                    await ready_to_emit()
                    yield self._chunk(piece)
        except (Exception, asyncio.CancelledError):
            if rest := waiting + self._after_failure():
                yield self._chunk(rest)
            raise
        if self._closed:
            return
        last = waiting + await self._gated("", final=True)
        self._require_text()
        # Without a chunk marked as the last one LangChain adds an empty one, under an id that is not the answer's.
        yield self._chunk(last, position="last")
        self._require_answer()

    async def _pieces(self, messages: list[BaseMessage], stop: list[str] | None, **kwargs: Any) -> AsyncIterator[str]:
        """What passes of each chunk of the inner model, until that ends, is too long or is given up on."""
        async for chunk in self.inner.astream(in_turns(messages), unstreamed(), stop=stop, **kwargs):
            if self._closed:
                return
            self._note(chunk)
            yield await self._gated(chunk.text, final=False)
            if self._read > self._most:
                return
        if not self._has_ended:
            raise ConnectionResetError("the stream ended before the answer did")

    async def _astream_chat_model_events(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """The stream under LangGraph's version 3, under the id of the answer: by that id LangGraph knows that the
        message which the last step returns was streamed already."""
        chunks = self._astream(messages, stop=stop, run_manager=run_manager, **kwargs)
        async for event in achunks_to_events(chunks, message_id=self.message_id):
            yield event

    def _chunk(self, text: str, position: Literal["last"] | None = None) -> ChatGenerationChunk:
        message = AIMessageChunk(content=text, id=self.message_id, chunk_position=position)
        return ChatGenerationChunk(message=message)

    def _require_text(self) -> None:
        # A stream without a chunk is an error to LangChain; an empty chunk would count as the streamed answer.
        if not self._written.text:
            limit = " before its length limit (llm.max_tokens)" if self._written.finish == "length" else ""
            raise ModelError(f"it wrote nothing{limit}")

    def _require_answer(self) -> None:
        if self._written.finish == "calls":
            raise ModelError("it called a tool in place of answering")

    @property
    def _most(self) -> int:
        return self.max_output_tokens * 4

    async def _gated(self, text: str, *, final: bool) -> str:
        """What passes of the next piece, as far as the whole is not too long."""
        room = max(0, self._most - self._read)
        self._read += len(text)
        if len(text) > room:
            text, self._written.finish = text[:room], "length"
        if len(text) > _LONG_PIECE:
            self._busy = True
            piece = await run_blocking(self._passed, text, final=final)
            self._busy = False
            return piece
        return self._passed(text, final=final)

    def _after_failure(self) -> str:
        """What waited in the gate when the call failed: the end of what was written, unless nobody has seen any of it
        and the model can be asked again."""
        if self._rest is None and not self._busy:
            restarted = self.gate.restarted
            self._rest = self.gate.feed("", final=True).rstrip() if self._written.text else ""
            if self.gate.restarted and not restarted:
                self._written.text, self._written.by_model = "", 0
            self._written.by_model += len(self._rest)
            self._written.text += self._rest
        return self._rest or ""

    def _passed(self, text: str, *, final: bool) -> str:
        restarted = self.gate.restarted
        piece = self.gate.feed(clean_text(text), final=final)
        if self.gate.restarted and not restarted:
            note_that_it_begins_in_thought(self.inner)
            self._written.text, self._written.by_model, self._opening = "", 0, ""
        if not self._written.by_model:
            piece = self._begun((self._opening + piece).lstrip())
        self._written.by_model += len(piece)
        if final and self._written.by_model and not self._written.refused and self.gate.missing is None:
            piece += self.gate.below(self.suffix)
        self._written.text += piece
        return piece

    def _begun(self, piece: str) -> str:
        """`piece`, with which the answer begins, below its prefix; nothing until it says something."""
        says = says_something(piece)
        self._opening = "" if says else piece
        return self.prefix + piece if says else ""

    def _note(self, reply: AIMessage) -> None:
        self._written.finish = finish_reason(reply) or self._written.finish
        self._has_ended |= says_how_it_ended(reply, self.inner)
        self._written.refusal += clean_text(refusal_text(reply))
        usage = reply.usage_metadata
        if usage:
            self._written.input_tokens = (self._written.input_tokens or 0) + usage["input_tokens"]
            self._written.output_tokens = (self._written.output_tokens or 0) + usage["output_tokens"]

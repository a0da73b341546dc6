"""Models for tests: a chat model that replies by rule, and embeddings of character n-grams; neither needs a network."""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.output_parsers.openai_tools import make_invalid_tool_call, parse_tool_call
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from groundgraph.testing.script import (
    Answer,
    Prompt,
    Reply,
    ReplyLike,
    Rule,
    Script,
    as_forced_call,
    prompt_from_messages,
)
from groundgraph.text.words import stop_words, words

SIZES = (3, 4, 5)
# Words such as "the" and "of" would make unrelated questions look alike.
STOP_WORD_WEIGHT = 0.1


class NgramEmbeddings(Embeddings):
    """Texts as unit vectors of hashed character n-grams (3 to 5) of their folded words.

    The same text gives the same vector in every process. Inflected forms of a word are near each other; a
    synonym is not near, since nothing here knows what words mean.

    Args:
        dimensions: the length of a vector; fewer means more accidental likeness.
    """

    def __init__(self, dimensions: int = 256) -> None:
        if dimensions < 1:
            raise ValueError(f"dimensions must be 1 or more, not {dimensions}")
        self.dimensions = dimensions

    def embed_query(self, text: str) -> list[float]:
        """The unit vector of `text`."""
        vector = [0.0] * self.dimensions
        for word in words(text):
            weight = STOP_WORD_WEIGHT if word in stop_words() else 1.0
            for position, sign in _hashed(f"<{word}>", self.dimensions):
                vector[position] += sign * weight
        length = math.sqrt(sum(value * value for value in vector))
        return [value / length for value in vector] if length else self._without_words(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The unit vector of each text."""
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        """As `embed_query`; nothing here waits, so no thread is used."""
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """As `embed_documents`."""
        return self.embed_documents(texts)

    def _without_words(self, text: str) -> list[float]:
        # A vector of zeros has no direction; vector stores refuse it.
        position, sign = _place(text, self.dimensions)
        return [sign if index == position else 0.0 for index in range(self.dimensions)]


@lru_cache(maxsize=50_000)
def _hashed(word: str, dimensions: int) -> tuple[tuple[int, float], ...]:
    grams = {word[start : start + size] for size in SIZES for start in range(max(1, len(word) - size + 1))}
    return tuple(_place(gram, dimensions) for gram in sorted(grams))


def _place(gram: str, dimensions: int) -> tuple[int, float]:
    # BLAKE2b and not hash(), which differs from process to process. The sign keeps collisions from adding up.
    number = int.from_bytes(hashlib.blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    return (number >> 1) % dimensions, 1.0 if number & 1 else -1.0


# Seconds to wait, then the chunk to send, if any.
_Step = tuple[float, ChatGenerationChunk | None]


@dataclass(frozen=True)
class ScriptedCall:
    """One call of a `ScriptedChatModel`, recorded before it replies or fails."""

    prompt: Prompt
    messages: tuple[BaseMessage, ...]
    kwargs: dict[str, Any]
    streamed: bool

    @property
    def text(self) -> str:
        """The texts of all messages, one below the other."""
        return self.prompt.text

    @property
    def roles(self) -> list[str]:
        """The role of each message: `system`, `user`, `assistant`, `tool`."""
        return self.prompt.roles


class ScriptedChatModel(BaseChatModel):
    """A chat model whose replies are given by rules.

    ::

        ScriptedChatModel("always this")
        ScriptedChatModel(["first", "second"])
        ScriptedChatModel(rules=[Rule("search queries", "refunds"), Rule("<evidence>", "Yes [1].")])

    Args:
        replies: one reply for every prompt, or a list that is taken in order (not for parallel calls).
        rules: the first `Rule` that matches the prompt replies.
        default: the reply when no rule matches. Without one, an unmatched prompt raises `UnscriptedPrompt`.
        options: the fields of every LangChain chat model.

    Tokens are words: `usage_metadata` and `get_num_tokens` count them.
    """

    model_name: str = "scripted"

    _script: Script = PrivateAttr()
    _calls: list[ScriptedCall] = PrivateAttr(default_factory=list)

    def __init__(
        self,
        replies: ReplyLike | Sequence[ReplyLike] | None = None,
        /,
        *,
        rules: Sequence[Rule] = (),
        default: Answer | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._script = Script(replies, rules=rules, default=default)

    @property
    def calls(self) -> list[ScriptedCall]:
        """Every call so far, in the order of arrival."""
        return list(self._calls)

    @property
    def _llm_type(self) -> str:
        return "groundgraph-scripted"

    def get_num_tokens(self, text: str) -> int:
        """The number of words in `text`."""
        return len(text.split())

    def get_num_tokens_from_messages(
        self,
        messages: list[BaseMessage],
        tools: Sequence[Any] | None = None,  # noqa: ARG002 - the signature of the base class
    ) -> int:
        """The number of words in all messages; tools count nothing."""
        return prompt_from_messages(messages).words()

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with `tools` in each call's `kwargs`; `with_structured_output` builds on it."""
        bound = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=bound, tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        prompt, reply = self._receive(messages, stop, kwargs, streamed=False)
        time.sleep(reply.seconds())
        return self._result(prompt, reply)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        prompt, reply = self._receive(messages, stop, kwargs, streamed=False)
        await asyncio.sleep(reply.seconds())
        return self._result(prompt, reply)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        prompt, reply = self._receive(messages, stop, kwargs, streamed=True)
        for seconds, chunk in self._steps(prompt, reply):
            time.sleep(seconds)
            if chunk:
                yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        prompt, reply = self._receive(messages, stop, kwargs, streamed=True)
        for seconds, chunk in self._steps(prompt, reply):
            # Also for 0 seconds: a real stream lets other tasks run between two tokens.
            await asyncio.sleep(seconds)
            if chunk:
                yield chunk

    def _receive(
        self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any], *, streamed: bool
    ) -> tuple[Prompt, Reply]:
        prompt = prompt_from_messages(messages)
        seen = {**kwargs, "stop": stop} if stop else dict(kwargs)
        # `append` is atomic, so calls from several threads need no lock.
        self._calls.append(ScriptedCall(prompt, tuple(messages), seen, streamed))
        reply = self._script.reply_to(prompt)
        return prompt, as_forced_call(reply, kwargs.get("tools"), kwargs.get("tool_choice"))

    def _result(self, prompt: Prompt, reply: Reply) -> ChatResult:
        failure = reply.failure()
        if failure:
            raise failure
        valid, invalid = _parsed_calls(reply)
        message = AIMessage(
            content=reply.text if reply.blocks is None else reply.blocks,
            tool_calls=valid,
            invalid_tool_calls=invalid,
            additional_kwargs=_additional_kwargs(reply),
            response_metadata=self._response_metadata(reply),
            usage_metadata=_usage(prompt, reply),
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _steps(self, prompt: Prompt, reply: Reply) -> Iterator[_Step]:
        failure = reply.failure()
        yield reply.delay, None
        if failure and reply.error_after is None:
            raise failure
        for number, chunk in enumerate(_chunks(reply)):
            if failure and number == reply.error_after:
                raise failure
            yield reply.token_delay, ChatGenerationChunk(message=chunk)
        if failure:
            raise failure
        yield 0.0, ChatGenerationChunk(message=self._last_chunk(prompt, reply))

    def _last_chunk(self, prompt: Prompt, reply: Reply) -> AIMessageChunk:
        # Metadata comes once, at the end: adding chunks joins the texts of equal keys.
        return AIMessageChunk(
            content=[] if reply.blocks is not None else "",
            additional_kwargs=_additional_kwargs(reply),
            response_metadata=self._response_metadata(reply),
            usage_metadata=_usage(prompt, reply),
            chunk_position="last",
        )

    def _response_metadata(self, reply: Reply) -> dict[str, Any]:
        return {"finish_reason": reply.stop_reason(), "model_name": self.model_name}


def _additional_kwargs(reply: Reply) -> dict[str, Any]:
    refusal = {} if reply.refusal is None else {"refusal": reply.refusal}
    return {**reply.additional_kwargs, **refusal}


def _usage(prompt: Prompt, reply: Reply) -> UsageMetadata:
    sent, received = reply.counted(prompt.words())
    return UsageMetadata(input_tokens=sent, output_tokens=received, total_tokens=sent + received)


def _parsed_calls(reply: Reply) -> tuple[list[Any], list[Any]]:
    """The tool calls whose arguments are JSON, and those whose arguments are not."""
    valid: list[Any] = []
    invalid: list[Any] = []
    for call_id, name, arguments in reply.calls():
        raw = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        try:
            valid.append(parse_tool_call(raw, return_id=True))
        except Exception as error:
            invalid.append(make_invalid_tool_call(raw, str(error)))
    return valid, invalid


def _chunks(reply: Reply) -> Iterator[AIMessageChunk]:
    if reply.blocks is not None:
        yield AIMessageChunk(content=reply.blocks)
    else:
        yield from (AIMessageChunk(content=piece) for piece in reply.pieces())
    for index, (call_id, name, arguments) in enumerate(reply.calls()):
        yield _call_chunk(index, call_id, name, "")
        yield _call_chunk(index, None, None, arguments)


def _call_chunk(index: int, call_id: str | None, name: str | None, args: str) -> AIMessageChunk:
    part: Any = {"index": index, "id": call_id, "name": name, "args": args, "type": "tool_call_chunk"}
    return AIMessageChunk(content="", tool_call_chunks=[part])

"""Models for tests: a chat model that replies by rule, and embeddings of character n-grams; neither needs a network.

Rules lead from prompt to reply, through Python and over the wire of a stub alike. They are no sequence, so that
parallel calls get the same replies in whatever order they arrive.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ChatMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.output_parsers.openai_tools import make_invalid_tool_call, parse_tool_call
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from groundgraph.text.words import stop_words, words

# What a scripted model was asked, the same for messages in Python and for messages on the wire.

_BLOCK_END = re.compile(r"</(?:evidence-[\w-]+|conversation)>")

_ROLES = {"human": "user", "ai": "assistant", "developer": "system", "function": "tool"}


@dataclass(frozen=True)
class PromptMessage:
    """One message of a prompt.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`; `embedding` for the text of an embedding request.
        text: its text; images and other parts are left out.
        name: the name that the message carries.
    """

    role: str
    text: str
    name: str = ""


@dataclass(frozen=True)
class Prompt:
    """All messages of one call, in order."""

    messages: tuple[PromptMessage, ...]

    @property
    def text(self) -> str:
        """The texts of all messages, one below the other."""
        return "\n".join(message.text for message in self.messages)

    @property
    def roles(self) -> list[str]:
        """The role of each message."""
        return [message.role for message in self.messages]

    @property
    def evidence(self) -> str:
        """The blocks of evidence in all messages, from the first tag to the last; empty without one."""
        # Instructions name the tags.
        shown = "\n".join(message.text for message in self.messages if message.role != "system")
        start, end = shown.find("<evidence-"), shown.rfind("</evidence-")
        return shown[start:end] + shown[end:].partition(">")[0] + ">" if 0 <= start < end else ""

    @property
    def question(self) -> str:
        """What the user asks: the last message, without the blocks and the line that stand before it."""
        last = self.messages[-1].text if self.messages else ""
        *_, behind = _BLOCK_END.split(last)
        line, _, asked = behind.strip("\n").partition("\n\n")
        return last if behind == last else asked or line

    def words(self) -> int:
        """The number of words in all messages: the input tokens that a scripted model counts."""
        return sum(len(message.text.split()) for message in self.messages)


def role_name(role: str) -> str:
    """`role` in the words of the wire: `human` is `user`, `ai` is `assistant`."""
    return _ROLES.get(role, role)


def prompt_from_messages(messages: Sequence[BaseMessage]) -> Prompt:
    """The prompt that LangChain messages make."""
    return Prompt(
        tuple(PromptMessage(_role_of(message), str(message.text), message.name or "") for message in messages)
    )


def _role_of(message: BaseMessage) -> str:
    return role_name(message.role if isinstance(message, ChatMessage) else message.type)


def prompt_from_wire(messages: Sequence[Mapping[str, Any]]) -> Prompt:
    """The prompt in the `messages` of an OpenAI chat completion request."""
    return Prompt(
        tuple(
            PromptMessage(
                role_name(str(message.get("role"))),
                _text_of(message.get("content")),
                message.get("name") or "",
            )
            for message in messages
        )
    )


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type") == "text")
    return str(content or "")


# What a scripted model replies, through Python and over the wire alike.

# Short pieces, and punctuation apart, so that a label such as [12] or a long word is split by default.
_TOKEN = re.compile(r"\s*\w{1,6}|\s*[^\w\s]|\s+")


def tokens(text: str) -> list[str]:
    """`text` in small pieces, which joined give exactly `text`."""
    return _TOKEN.findall(text)


class ScriptedStatusError(Exception):
    """An HTTP status of 400 or more, as a chat model without a wire raises it.

    `status_code` and `response.headers` stand where the errors of vendors' SDKs have them.
    """

    def __init__(self, status_code: int, headers: Mapping[str, str]) -> None:
        self.status_code = status_code
        self.headers = dict(headers)
        self.response = SimpleNamespace(status_code=status_code, headers=self.headers)
        super().__init__(f"The scripted model replied with HTTP status {status_code}.")


@dataclass(frozen=True)
class Reply:
    """One reply of a scripted model.

    Attributes:
        text: the text, also bad or fenced JSON. When a tool call is forced (as by structured output) and
            `text` is a JSON object, it becomes the arguments of that call.
        chunks: the exact pieces in which the text streams; by default `tokens(text)`.
        tool_calls: each with `name` and `args` (a mapping, or a string that is sent as it is, even bad JSON).
        refusal: what the model says in place of an answer.
        finish_reason: `stop`, `length`, `content_filter`; calls turn `stop` into `tool_calls`.
        delay: seconds before the first token.
        token_delay: seconds before each token; a reply that does not stream takes as long in all.
        error: raised in place of the reply; over the wire, see `status`.
        error_after: break off after so many streamed tokens, by `error` or a `ConnectionError`; over the
            wire by closing the connection. A reply that does not stream fails as a whole.
        status: an HTTP status; 400 and above is an error, with `text` as its message. Without a status an
            `error` is 500 over the wire, and a `ConnectionError` closes the connection.
        headers: HTTP headers, for example `{"Retry-After": "2"}`.
        usage: input and output tokens; by default the words of prompt and reply are counted.
        blocks: content blocks in place of a plain text; over the wire their texts, and what `thoughts` are of them.
        additional_kwargs: further fields of the message.

    Raises:
        ValueError: `text` and `chunks` are both given and differ.
    """

    text: str = ""
    chunks: Sequence[str] | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    refusal: str | None = None
    finish_reason: str = "stop"
    delay: float = 0.0
    token_delay: float = 0.0
    error: BaseException | type[BaseException] | None = None
    error_after: int | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    usage: tuple[int, int] | None = None
    blocks: list[str | dict[str, Any]] | None = None
    additional_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.chunks is None:
            if self.blocks and not self.text:
                object.__setattr__(self, "text", AIMessage(self.blocks).text)
            return
        joined = "".join(self.chunks)
        if self.text and self.text != joined:
            raise ValueError(f"The chunks join to {joined!r}, which is not the text {self.text!r}.")
        object.__setattr__(self, "text", joined)

    @classmethod
    def json(cls, value: Any, **options: Any) -> Reply:
        """A reply whose text is `value` as JSON; `options` are the other attributes."""
        return cls(json.dumps(value, ensure_ascii=False), **options)

    @classmethod
    def of(cls, value: ReplyLike) -> Reply:
        """`value` as a reply: a text, a message, an exception (or its class), or a reply already."""
        if isinstance(value, Reply):
            return value
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, AIMessage):
            return _from_message(value)
        return cls(error=value)

    def pieces(self) -> list[str]:
        """The pieces in which the text streams."""
        return tokens(self.text) if self.chunks is None else list(self.chunks)

    @property
    def thoughts(self) -> str:
        """What `blocks` hold of reasoning."""
        blocks = [block for block in self.blocks or () if isinstance(block, dict)]
        return "".join(str(block.get("reasoning", "")) for block in blocks if block.get("type") == "reasoning")

    def seconds(self) -> float:
        """How long the whole reply takes when it does not stream."""
        return self.delay + self.token_delay * len(self.pieces())

    def failure(self) -> BaseException | None:
        """What is raised in place of the reply, or after `error_after` tokens."""
        if self.error is not None:
            return self.error() if isinstance(self.error, type) else self.error
        if self.status >= 400:
            return ScriptedStatusError(self.status, self.headers)
        if self.error_after is not None:
            return ConnectionError(f"The scripted reply broke off after {self.error_after} tokens.")
        return None

    def stop_reason(self) -> str:
        """The finish reason as it is sent."""
        return "tool_calls" if self.tool_calls and self.finish_reason == "stop" else self.finish_reason

    def counted(self, prompt_words: int) -> tuple[int, int]:
        """Input and output tokens."""
        return self.usage or (prompt_words, len(self.text.split()))

    def calls(self) -> list[tuple[str, str, str]]:
        """The tool calls as (id, name, arguments as text); an id depends on the call's content only."""
        found = []
        for number, call in enumerate(self.tool_calls):
            args = call.get("args", {})
            arguments = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
            content = f"{number} {call['name']} {arguments}".encode("utf-8", "replace")
            made = "call_" + hashlib.blake2b(content, digest_size=8).hexdigest()
            found.append((str(call.get("id") or made), str(call["name"]), arguments))
        return found


def text_response(text: str, **options: Any) -> Reply:
    """A reply of plain text, under the name that document 000 has for it; `options` are attributes of `Reply`."""
    return Reply(text, **options)


ReplyLike = str | Reply | AIMessage | BaseException | type[BaseException]


def _from_message(message: AIMessage) -> Reply:
    kwargs = dict(message.additional_kwargs)
    usage = message.usage_metadata
    return Reply(
        text=str(message.text),
        tool_calls=[dict(call) for call in message.tool_calls],
        refusal=kwargs.pop("refusal", None),
        finish_reason=message.response_metadata.get("finish_reason", "stop"),
        usage=(usage["input_tokens"], usage["output_tokens"]) if usage else None,
        blocks=None if isinstance(message.content, str) else list(message.content),
        additional_kwargs=kwargs,
    )


def as_forced_call(reply: Reply, tools: Sequence[Mapping[str, Any]] | None, tool_choice: Any) -> Reply:
    """`reply` as the call that the request forces, when its text is a JSON object; else `reply` itself.

    Args:
        reply: what the rule says.
        tools: the request's tools in OpenAI's form.
        tool_choice: `any`, `required`, the name of a tool, or OpenAI's mapping with that name.
    """
    name = _forced_tool(tools, tool_choice)
    if not name or reply.tool_calls or not _is_json_object(reply.text):
        return reply
    return replace(reply, text="", chunks=None, tool_calls=[{"name": name, "args": reply.text}])


def _forced_tool(tools: Sequence[Mapping[str, Any]] | None, tool_choice: Any) -> str | None:
    if not tools or tool_choice in (None, "auto", "none", False):
        return None
    if isinstance(tool_choice, Mapping):
        return str(tool_choice["function"]["name"])
    names = [str(tool["function"]["name"]) for tool in tools]
    return tool_choice if tool_choice in names else names[0]


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


Answer = ReplyLike | Callable[[Prompt], ReplyLike] | Sequence[ReplyLike]


class UnscriptedPrompt(AssertionError):
    """No rule matches a prompt and there is no default, or a list of replies is used up."""


@dataclass(frozen=True)
class Rule:
    """What to reply to which prompt.

    Attributes:
        pattern: a regular expression, searched in the text of the whole prompt or, with `role`, in each
            message of that role; `.` matches line breaks too. An empty pattern matches everything.
        reply: a text, a message, an exception, a `Reply`; a list of those, given one after the other, the
            last one again and again; or a function of the `Prompt`.
        role: `system`, `user`, `assistant`, `tool`, the name of a message, `evidence` for what stands between the
            tags of evidence, `question` for what the user asks behind it, or `embedding` for requests to the
            embeddings of the wire stub.
    """

    pattern: str | re.Pattern[str]
    reply: Answer
    role: str | None = None

    def matches(self, prompt: Prompt) -> bool:
        """Whether this rule answers `prompt`."""
        return any(re.search(self.pattern, text, *self._flags()) for text in self._texts(prompt))

    def _flags(self) -> tuple[re.RegexFlag, ...]:
        return (re.DOTALL,) if isinstance(self.pattern, str) else ()

    def _texts(self, prompt: Prompt) -> list[str]:
        if self.role is None:
            return [prompt.text]
        role = role_name(self.role)
        own = {"evidence": prompt.evidence, "question": prompt.question}.get(role)
        return [own] if own else [message.text for message in prompt.messages if role in (message.role, message.name)]


class Script:
    """Rules, then replies in order, then a default. Safe to use from several threads.

    Args:
        replies: one text for every prompt, or a list that is taken in order.
        rules: the first one that matches replies.
        default: the reply when no rule matches.
    """

    def __init__(
        self,
        replies: ReplyLike | Sequence[ReplyLike] | None = None,
        *,
        rules: Sequence[Rule] = (),
        default: Answer | None = None,
    ) -> None:
        in_order = replies if isinstance(replies, list | tuple) else ()
        if replies is not None and replies is not in_order:
            default = replies
        self._rules = list(rules)
        self._queue = deque(in_order)
        self._default = None if default is None else Rule("", default)
        self._used: Counter[int] = Counter()
        self._lock = threading.Lock()

    def reply_to(self, prompt: Prompt) -> Reply:
        """The reply to `prompt`.

        Raises:
            UnscriptedPrompt: nothing in the script answers it.
        """
        for rule in self._rules:
            if rule.matches(prompt):
                return self._answer(rule, prompt)
        if self._queue:
            return Reply.of(self._queue.popleft())
        if self._default is None:
            raise UnscriptedPrompt(self._complaint(prompt))
        return self._answer(self._default, prompt)

    def embedding_reply(self, prompt: Prompt) -> Reply | None:
        """The reply of a rule with the role `embedding`, when one matches; other rules are for chats."""
        for rule in self._rules:
            if rule.role == "embedding" and rule.matches(prompt):
                return self._answer(rule, prompt)
        return None

    def _answer(self, rule: Rule, prompt: Prompt) -> Reply:
        reply = rule.reply
        if isinstance(reply, list | tuple):
            reply = self._next_of(rule, reply)
        elif callable(reply) and not isinstance(reply, type):
            reply = reply(prompt)
        return Reply.of(reply)  # type: ignore[arg-type]

    def _next_of(self, rule: Rule, replies: Sequence[ReplyLike]) -> ReplyLike:
        with self._lock:
            used = self._used[id(rule)]
            self._used[id(rule)] += 1
        return replies[min(used, len(replies) - 1)]

    def __deepcopy__(self, memo: dict[int, Any]) -> Script:
        """The script itself: copies of a model go on where the model is."""
        return self

    def _complaint(self, prompt: Prompt) -> str:
        patterns = ", ".join(repr(str(getattr(rule.pattern, "pattern", rule.pattern))) for rule in self._rules)
        return (
            f"The script does not answer this prompt. Rules: {patterns or 'none'}; no replies are left and "
            f"there is no default. Add a rule, a reply or `default=`. The prompt:\n{prompt.text[:2000]}"
        )


# The chat model.

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


# The embeddings.

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

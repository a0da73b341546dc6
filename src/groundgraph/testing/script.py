"""Rules from prompt to reply, shared by the scripted chat model and the wire stub.

Rules and not a sequence, so that parallel calls get the same replies in whatever order they arrive.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage

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

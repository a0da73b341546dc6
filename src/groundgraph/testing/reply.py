"""What a scripted model replies, through Python and over the wire alike."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from langchain_core.messages import AIMessage

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
        blocks: content blocks in place of a plain text (not sent over the wire).
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

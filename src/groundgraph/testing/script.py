"""Rules from prompt to reply, shared by the scripted chat model and the wire stub.

Rules and not a sequence, so that parallel calls get the same replies in whatever order they arrive.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from groundgraph.testing.prompt import Prompt, role_name
from groundgraph.testing.reply import Reply, ReplyLike

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
        role: `system`, `user`, `assistant`, `tool`, the name of a message such as `evidence`, or `embedding`
            for requests to the embeddings of the wire stub.
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
        return [message.text for message in prompt.messages if role in (message.role, message.name)]


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

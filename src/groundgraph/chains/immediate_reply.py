"""Replies to what needs no retrieval: nothing at all, an empty or overlong message, small talk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groundgraph.core.errors import Problem, TemplateInvalid
from groundgraph.core.settings import Settings
from groundgraph.core.small_talk import small_talk
from groundgraph.core.templates import compile_template, render, unknown_variables
from groundgraph.core.turn_values import Draft
from groundgraph.prompts import Prompts

_VARIABLES = ("domain_context", "metadata")


class ImmediateReplies:
    """Recognises what needs no retrieval, without a model.

    Args:
        settings: the fast path and its greeting.
        prompts: the prompt files.
        sources: what can be searched, for a message that asks what the bot can do.

    Raises:
        TemplateInvalid: `greeting_template` does not compile, or uses a variable that it is not given.
    """

    def __init__(self, settings: Settings, prompts: Prompts, sources: Sequence[str]) -> None:
        self._settings = settings
        self._sources = list(sources)
        self._prompts = prompts
        template = settings.greeting_template
        self._template = compile_template(template, key="greeting_template") if template else None
        unknown = unknown_variables(template, _VARIABLES) if template else []
        if unknown:
            raise TemplateInvalid(
                [Problem("greeting_template", f"uses {', '.join(unknown)}; it is given {_VARIABLES}")]
            )

    def reply_to(
        self, question: str | None, language: str, metadata: Mapping[str, Any], *, rejected: int | None = None
    ) -> Draft:
        """The finished reply, or an empty draft for everything that has to be looked up.

        Args:
            question: the message; None when the run brought none.
            language: of the reply.
            metadata: of the session, for the greeting.
            rejected: how long the message was, when it was too long to be read.
        """
        text = self._text(question, language, metadata, rejected)
        return {"text": text.strip(), "outcome": "chat", "finish": "stop", "style": "fixed"} if text else {}

    def _text(self, question: str | None, language: str, metadata: Mapping[str, Any], rejected: int | None) -> str:
        if rejected:
            limit = self._settings.limits.message_chars
            return self._prompts.render("message_too_long", language=language, length=rejected, limit=limit)
        if question is None:
            return self._greeting(language, metadata)
        if not question.strip():
            return self._prompts.render("empty_message", language=language)
        fast = self._settings.fast_path
        kind = small_talk(question, fast.languages) if fast.enabled else None
        if kind == "greeting":
            return self._greeting(language, metadata)
        if kind == "about":
            domain = self._settings.intent.domain_context
            return self._prompts.render(kind, language=language, sources=self._sources, domain_context=domain)
        return self._prompts.render(kind, language=language) if kind else ""

    def _greeting(self, language: str, metadata: Mapping[str, Any]) -> str:
        domain = self._settings.intent.domain_context
        if self._template is None:
            return self._prompts.render("greeting", language=language, domain_context=domain)
        try:
            return render(self._template, {"domain_context": domain, "metadata": metadata}, key="greeting_template")
        except TemplateInvalid:
            # A name that this session's metadata lacks must not cost the turn.
            return self._prompts.render("greeting", language=language, domain_context=domain)

"""The words of a report, in the language of its turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundgraph.core.text import LANGUAGES
from groundgraph.prompts import Prompts

_DEFAULT = "en"


@dataclass(frozen=True)
class Words:
    """The macros of `prompts/report.LANGUAGE.jinja2`, which a user's folder of prompts may replace.

    Attributes:
        prompts: where the files are.
        language: one that has a file; English takes the place of any other.
    """

    prompts: Prompts
    language: str

    @classmethod
    def of(cls, prompts: Prompts, language: str) -> Words:
        """The words of `language`, or of English where there are none."""
        return cls(prompts, language if language in LANGUAGES else _DEFAULT)

    def __call__(self, kind: str, **variables: object) -> str:
        """The text of the macro `kind`: plain, so it is escaped where it is shown."""
        return self.prompts.told(f"report.{self.language}", kind, **variables)

    def named(self, group: str, name: str) -> str:
        """What `name` of the record is called: the macro `GROUP_NAME`; the name itself when there is none.

        Outcomes, statuses, steps and findings are open sets: a record may hold one that this version does not know.
        """
        return self(group, name=name) or name

    def reasons(self, steps: Sequence[str], label: int | None) -> str:
        """Why a result did not reach the answer.

        Args:
            steps: those that may have left it out.
            label: of the passage that it is part of.
        """
        names = [self.named("left_out_by", step) for step in steps]
        if label:
            return f"{'; '.join(names)} ({self('left_out_into', label=label)})"
        if len(names) > 1:
            return self("left_out_one_of", names="; ".join(names))
        return names[0] if names else self("left_out_unknown")

"""The budgets of a configuration (P9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundgraph.chains.budget import Budget
from groundgraph.chains.count_tokens import TokenCounter, estimated_tokens
from groundgraph.core.result_settings import ResultProcessingSettings
from groundgraph.core.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def budgets_of(
    settings: Settings, wanted: ResultProcessingSettings, counter: TokenCounter, model: BaseChatModel | None
) -> list[Budget]:
    """What a context may take up.

    The prompt's own limit cuts from the end, where a zigzag puts the second best result, so it holds here already.
    """
    return [
        *([Budget(wanted.max_kb_chars)] if wanted.max_kb_chars else []),
        *([Budget(wanted.max_kb_tokens, counter)] if wanted.max_kb_tokens else []),
        *([Budget(settings.limits.tokens // 2, estimated_tokens)] if wanted.reorder and model else []),
    ]

"""What about the chains of the settings contradicts the rest of them."""

from __future__ import annotations

from collections.abc import Iterator

from groundgraph.core.registry import nearest
from groundgraph.core.settings import ChainChoice, ChainSettings, Settings
from groundgraph.core.settings_keys import Location

_OWN = ("documents", "web_pages", "query")


def chain_conflicts(settings: Settings) -> Iterator[tuple[Location, str]]:
    """Where in the settings, and what: chains of no kind of data, a schema with the name of another section, two
    rerankers."""
    schemas = list(settings.knowledge_base.schemas) if settings.knowledge_base else []
    for name in settings.chains.model_extra or {}:
        if name not in schemas:
            known = [*_OWN, *schemas]
            yield (
                ("chains", name),
                f"is no kind of data.{nearest(name, known)} Known: {', '.join(known)}; "
                "further kinds are those of knowledge_base.schemas.",
            )
    for name in set(_OWN) & set(schemas):
        yield ("knowledge_base", "schemas", name), f"'{name}' is a section of `chains`; give the schema another name"
    if two_rerankers(settings.chains, merged=settings.reranker.enabled):
        yield (
            ("chains", "query", "reranker"),
            "there are two rerankers: this one, and the one that `reranker.enabled` runs after the merge. "
            "Set one of them to identity or to false.",
        )


def two_rerankers(chains: ChainSettings, *, merged: bool) -> bool:
    """Whether the query chains rerank although a reranker runs after the merge, as `merged` says (decision 4)."""
    return merged and chain_name(chains.query.reranker) != "identity"


def chain_name(choice: ChainChoice) -> str:
    """The name of the chain that is chosen; empty when a mapping names none."""
    return choice if isinstance(choice, str) else str(choice.get("name", ""))

"""Making a chain of one's own known to the configuration (K3)."""

from __future__ import annotations

from typing import Any

# Loaded first, so that nobody registers a name of groundgraph's own before it is reserved.
from groundgraph.chains import builtin_chains as _builtin_chains  # noqa: F401
from groundgraph.chains.chain_options import ChainOptions
from groundgraph.chains.chain_registries import REGISTRIES, ChainFactory, Kind
from groundgraph.chains.stand_in import stand_in
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest


def register_chain(
    kind: Kind,
    name: str,
    chain: Any = None,
    *,
    factory: ChainFactory | None = None,
    signature: str = "",
    generated: bool = True,
) -> None:
    """Make a chain known under `name`, so that `chains:` in a configuration can ask for it.

    Args:
        kind: which of the six it is; the word under which `chains:` names it.
        name: not that of a built-in chain.
        chain: a function, a coroutine function, an object with `__call__`, or a LangChain Runnable; see `stand_in`.
        factory: in place of `chain`, what makes one out of `ChainOptions`.
        signature: for chains of an ingest, what their output depends on; a hash of their code when it is empty.
            Documents are processed again when it changes.
        generated: for matching texts, whether they are of another form than the chunk, so that the filter of match
            scores makes sense.

    Raises:
        ConfigurationError: the name is taken or reserved, or there is no such kind.
    """
    if kind not in REGISTRIES:
        known = list(REGISTRIES)
        message = f"there is no kind of chain '{kind}'.{nearest(kind, known)} Known: {', '.join(known)}."
        raise ConfigurationError([Problem(name, message)])
    if (chain is None) == (factory is None):
        raise ConfigurationError([Problem(name, "register either a chain or a factory")])
    if factory is None:
        made = stand_in(kind, chain, name, signature=signature, generated=generated)

        def factory(entry: ChainOptions) -> Any:
            entry.refuse_options()
            return made

    REGISTRIES[kind].register(name, factory)

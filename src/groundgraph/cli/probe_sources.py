"""The sources of a configuration, and whether each of them answers."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass
from typing import Any

from groundgraph.core.deadline import within
from groundgraph.core.errors import ConfigurationError
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.secret_mask import mask
from groundgraph.core.settings import Settings
from groundgraph.graph.resources import Resources
from groundgraph.sources.ask import ask
from groundgraph.sources.contract import GroundedSource

LIMIT = 2.0
_PROBE = RetrievalIntent(text_queries=["groundgraph"])


@dataclass(frozen=True)
class ProbedSource:
    """One source.

    Attributes:
        name: its name.
        type: its kind.
        weight: its share when results are merged.
        fields: the fields that filters may name, with their types.
        documents: how many documents it holds, None when it cannot tell.
        chunks: how many pieces can be found, None when it cannot tell.
        answers: whether it answered a query within `LIMIT` seconds.
        milliseconds: how long that took.
        reason: why it did not answer.
        advice: what the owner of what it searches should change.
    """

    name: str
    type: str
    weight: int
    fields: dict[str, str]
    documents: int | None
    chunks: int | None
    answers: bool
    milliseconds: float
    reason: str = ""
    advice: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The source as `groundgraph sources --json` prints it; advice is for `groundgraph doctor`."""
        shown = asdict(self)
        del shown["advice"]
        return shown


async def probe_sources(settings: Settings) -> list[ProbedSource]:
    """Ask every source of `settings` one query, all at once.

    Raises:
        ConfigurationError: the settings cannot work.
    """
    resources = Resources.build(settings.without_models())
    weights = {entry.name: entry.weight for entry in settings.sources}
    try:
        probes = (_probed(source, weights.get(name, 1)) for name, source in resources.sources.items())
        return list(await asyncio.gather(*probes))
    finally:
        await resources.close()


async def _probed(source: GroundedSource, weight: int) -> ProbedSource:
    await _loaded(source)
    started = time.perf_counter()
    reason = await _why_silent(source)
    elapsed = (time.perf_counter() - started) * 1000
    schema = source.get_schema()
    fields = {name: str(spec.get("type", "")) for name, spec in schema.fields.items()} if schema else {}
    counts = {} if reason else await _counts(source)
    return ProbedSource(
        source.name,
        source.source_type,
        weight,
        fields,
        counts.get("documents"),
        counts.get("chunks"),
        not reason,
        round(elapsed, 1),
        reason,
        () if reason else await _advice(source),
    )


async def _advice(source: GroundedSource) -> tuple[str, ...]:
    """What the source advises; nothing when it cannot tell in time."""
    try:
        return tuple(await within(LIMIT, source.advice()))
    except Exception:
        return ()


async def _loaded(source: GroundedSource) -> None:
    """Load the client library of a source that has one; `load` is no part of the contract, nor of an answer's time."""
    load = getattr(source, "load", None)
    if load:
        await load()


async def _why_silent(source: GroundedSource) -> str:
    """Why `source` does not answer, an empty string when it does."""
    try:
        await within(LIMIT, ask(source, _PROBE, top_k=1, score_threshold=0.0))
    except TimeoutError:
        return f"it did not answer within {LIMIT:g} seconds"
    except Exception as error:  # any exception is a failure of the source, by contract
        # Readers are told less by a source than its owner, who has to mend the file.
        told = error.__cause__ if isinstance(error.__cause__, ConfigurationError) else error
        return mask(str(told).strip()) or type(error).__name__
    return ""


async def _counts(source: GroundedSource) -> dict[str, int]:
    """What the source tells about its size; `counts` is no part of the contract."""
    counts = getattr(source, "counts", None)
    try:
        return dict(await within(LIMIT, counts())) if counts else {}
    except Exception:  # a size that cannot be told is not worth an error
        return {}

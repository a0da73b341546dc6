"""Documents that readers drop on the page: into one folder, and from there into the knowledge base."""

from __future__ import annotations

import asyncio
import filecmp
import os
import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from groundgraph.core.document import MEDIA_TYPES, media_type_of
from groundgraph.core.errors import ConfigurationError, InputInvalid, Problem
from groundgraph.graph.ingest import ingest_graph
from groundgraph.graph.knowledge_base_files import knowledge_base_file
from groundgraph.ingest.ingest_report import IngestReport
from groundgraph.resilience.blocking import run_blocking
from groundgraph.serve.conversations import User
from groundgraph.serve.request import message_of
from groundgraph.settings.settings import Settings
from groundgraph.text.words import normalized

Ingest = Callable[[User, str], AsyncGenerator[tuple[str, Any]]]
"""Takes the file at a path in for a user; tells what the ingest graph streams in the modes `custom` and `values`."""
MOST_BYTES = 50_000_000
_MOST_NAME = 200
# Letters, digits, marks and a few signs, and a suffix; a name that begins with a dot is hidden, or leads out.
_NAME = re.compile(r"\w(?:[\w .,()\[\]&+'’–—-]*[\w)\]'’])?\.\w+")
# On some systems these are devices, whatever their suffix.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)\.", re.IGNORECASE)


@dataclass(frozen=True)
class Dropped:
    """A document in its folder, and whether it came there just now: what lay there before is never taken away."""

    place: Path
    new: bool


class Uploads:
    """Takes documents in, one after the other.

    Args:
        settings: of the graph that answers from them.
        folder: keeps their files, none of which is ever overwritten.
        ingest: takes them in; by default a graph of this process.

    Raises:
        ConfigurationError: it is no folder, the base to fill is none or several, or a scope hides parts of it, so that
            a document which is dropped would belong to nobody.
    """

    def __init__(self, settings: Settings, folder: Path, ingest: Ingest | None = None) -> None:
        if not folder.is_dir():
            raise ConfigurationError([Problem("uploads", f"'{folder}' is no folder; make it, or name another")])
        if scoped := settings.retrieval.scope_filters.get(knowledge_base_file(settings).name):
            told = f"whose documents they are is told by {', '.join(scoped)}, which a dropped file does not have"
            raise ConfigurationError([Problem("uploads", told)])
        self._ingest = ingest or own_ingest(settings)
        self._folder = folder.resolve()
        self._one = asyncio.Lock()

    @property
    def told(self) -> Mapping[str, Any]:
        """What the page says of it: the suffixes that are taken, and how large a file may be, in bytes."""
        return {"types": sorted(MEDIA_TYPES), "bytes": MOST_BYTES}

    async def keep(self, name: str, body: AsyncIterator[bytes]) -> Dropped:
        """The file of a document that was sent.

        Raises:
            InputInvalid: the name or type is none that is taken, or another document has the name.
        """
        place = self._folder / checked_name(name)
        part = self._folder / f".{secrets.token_hex(8)}.part"
        try:
            with await run_blocking(_opened, part) as file:
                async for piece in body:
                    await run_blocking(file.write, piece)
            async with self._one:
                return Dropped(place, new=await run_blocking(_is_new, part, place))
        finally:
            await run_blocking(part.unlink, missing_ok=True)

    async def take_in(self, user: User, dropped: Dropped) -> AsyncGenerator[Mapping[str, Any]]:
        """Takes the file in, and tells each stage, and last `taken`, the number of passages, or `failed`, the reason.

        A new file that cannot be taken in is not kept, nor one whose reader leaves before it is in the base.
        """
        report: IngestReport | None = None
        problem = ""
        try:
            async with self._one, aclosing(self._ingest(user, str(dropped.place))) as items:
                async for mode, item in items:
                    if mode == "values":
                        report = IngestReport.of(item.get("report", {}))
                    else:
                        yield {"stage": item.get("stage", "")}
        except Exception as error:  # whatever it is, the file is not in the base
            problem = message_of(error)
        except BaseException:  # the reader left, or the server ends
            if report is None or not report.documents:
                await asyncio.shield(_removed(dropped))
            raise
        told = _told(report, problem)
        if "failed" in told:
            await _removed(dropped)
        yield told


def _told(report: IngestReport | None, problem: str) -> Mapping[str, Any]:
    """What is told last: `taken`, or `failed` with the `problem` or that of the report."""
    if report and report.failed:
        problem = report.failed[0]["reason"]
    if report is None or problem:
        return {"failed": problem or "It could not be taken in. The server's log says why."}
    return {"taken": report.chunks, "warnings": [warning["reason"] for warning in report.warnings]}


def checked_name(name: str) -> str:
    """A name under which a document may stand in its folder.

    Raises:
        InputInvalid: it would lead elsewhere, hide the file, or is of no type that is read.
    """
    name = normalized("NFC", name)
    if media_type_of(name) is None:
        known = " ".join(sorted(MEDIA_TYPES))
        raise InputInvalid(f"Documents of this type are not read. These are: {known}.")
    plain = _NAME.fullmatch(name) and not _DEVICE.match(name)
    if not plain or len(name.encode("utf-8", "replace")) > _MOST_NAME:
        raise InputInvalid("A document cannot have this name here. Use letters, digits, spaces and . , - ( ).")
    return name


def own_ingest(settings: Settings) -> Ingest:
    """Takes documents in with a graph of this process, whoever gives them."""

    @cache
    def graph() -> Any:
        return ingest_graph(settings)

    async def ingest(user: User, path: str) -> AsyncGenerator[tuple[str, Any]]:  # noqa: ARG001 - of the contract
        async with aclosing(graph().astream({"paths": [path]}, stream_mode=["custom", "values"])) as items:
            async for item in items:
                yield item

    return ingest


def _opened(part: Path) -> BinaryIO:
    return open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _is_new(part: Path, place: Path) -> bool:
    """Whether the document came to its place; it did not where it stands there already.

    Raises:
        InputInvalid: another one does.
    """
    if not os.path.lexists(place):
        part.rename(place)
        return True
    if place.is_file() and not place.is_symlink() and filecmp.cmp(part, place, shallow=False):
        return False
    raise InputInvalid("There is another document of this name. Give this one a name of its own.")


async def _removed(dropped: Dropped) -> None:
    if dropped.new:
        with suppress(OSError):
            await run_blocking(dropped.place.unlink)

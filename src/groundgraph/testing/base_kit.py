"""Does a knowledge base give back what it was given, whatever its chains, its store and its models are?

::

    (await check_base(KnowledgeBase.open(settings), source)).raise_for_failures()
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from groundgraph.core.document import MARKDOWN, Document
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.graph.knowledge_base import KnowledgeBase
from groundgraph.sources.conformance import Check, ConformanceReport, outcomes, require
from groundgraph.sources.contract import GroundedSource, ask

_NAMES = ["kit/otter.md", "kit/heron.md", "kit/badger.md"]
_VERSIONS = 5


@dataclass
class _Filled:
    """A base that is written to, and the source that reads it."""

    base: KnowledgeBase
    source: GroundedSource

    async def add(self, *documents: Document) -> None:
        report = await self.base.aadd_documents(documents)
        require(not report.failed, f"documents with nothing wrong were not added: {report.failed}")

    async def found(self, question: str, top_k: int = 10, **filters: str) -> list[SourceResult]:
        intent = RetrievalIntent([question], {self.source.name: filters} if filters else {})
        return await ask(self.source, intent, top_k=top_k, score_threshold=0.0)


def _about(name: str, more: str = "") -> Document:
    """A document in which the animal that gives its name to `name` stands, and in no other one."""
    animal = name.removeprefix("kit/").removesuffix(".md")
    home, food = f"The {animal} lives beside the river.{more}", f"The {animal} eats in the evening.{more}"
    return Document(name, f"# The {animal}\n\n{home}\n\n## Food\n\n{food}", MARKDOWN)


async def _added(filled: _Filled) -> None:
    report = await filled.base.aadd_documents([_about(name) for name in _NAMES])
    told = (report.written, report.failed)
    require(told == (len(_NAMES), []), f"the report of {len(_NAMES)} new documents says {told}")
    listed = [row.name for row in await filled.base.adocuments() if row.name in _NAMES]
    require(listed == sorted(_NAMES), f"documents() lists {listed}, not what was added, by name")


async def _unchanged(filled: _Filled) -> None:
    report = await filled.base.aadd_documents([_about(name) for name in _NAMES])
    told = (report.written, report.unchanged)
    require(told == (0, len(_NAMES)), f"(written, unchanged) is {told} for documents that did not change")


async def _read_back(filled: _Filled) -> None:
    for name in _NAMES:
        document = await filled.base.adocument(name)
        require(document is not None and document.text == _about(name).text, f"{name} comes back as {document!r}")
        chunks = await filled.base.achunks(name)
        require(bool(chunks), f"{name} has no chunk")
        for one in chunks:
            at_its_place = _about(name).text[one.chunk.start : one.chunk.end]
            exact = one.chunk.derived or at_its_place == one.chunk.text
            require(exact, f"a chunk of {name} is {one.chunk.text!r}, and at its place stands {at_its_place!r}")
            require(bool(one.matching_texts), f"a chunk of {name} has no text by which it is found")


async def _found(filled: _Filled) -> None:
    for name in _NAMES:
        results = await filled.found(f"Where does the {_about(name).text.split()[2]} live?")
        require(bool(results), f"nothing is found of {name}")
        best = results[0].metadata.get("document")
        require(best == name, f"a question about {name} finds {best} first")
        texts = {one.chunk.text for one in await filled.base.achunks(name)}
        require(results[0].content in texts, f"what is found of {name} is none of its chunks: {results[0].content!r}")


async def _filtered(filled: _Filled) -> None:
    results = await filled.found("Who lives beside the river?", document=_NAMES[0])
    documents = {result.metadata.get("document") for result in results}
    require(documents == {_NAMES[0]}, f"the filter document = {_NAMES[0]!r} gives {documents}")


async def _one_version(filled: _Filled) -> None:
    """While a document is replaced, a reader finds one version of it, and never two or none."""
    done, seen = asyncio.Event(), []
    versions = [f" It is known as version{number}." for number in range(_VERSIONS)]

    async def read() -> None:
        while not done.is_set():
            found = await filled.found("Where does the otter live beside the river?", 50, document=_NAMES[0])
            seen.append({text for text in versions for result in found if text in result.content})
            await asyncio.sleep(0)

    await filled.add(_about(_NAMES[0], versions[0]))
    reader = asyncio.ensure_future(read())
    try:
        for version in versions[1:]:
            await filled.add(_about(_NAMES[0], version))
            before = len(seen)
            while len(seen) < before + 2 and not reader.done():
                await asyncio.sleep(0.001)
    finally:
        done.set()
        await reader
    wrong = [found for found in seen if len(found) != 1]
    require(not wrong, f"while a document was replaced a reader found these versions at once: {wrong[:3]}")
    require(seen[-1] == {versions[-1]}, f"after the last version a reader finds {seen[-1]}")


async def _removed(filled: _Filled) -> None:
    name = _NAMES[1]
    require(await filled.base.aremove(name), f"remove({name!r}) says that it was not there")
    require(not await filled.base.aremove(name), f"remove({name!r}) says a second time that it was there")
    left = (await filled.base.adocument(name), await filled.base.achunks(name))
    require(left == (None, []), f"of {name}, which was removed, there is {left!r}")
    found = [result.metadata.get("document") for result in await filled.found("Where does the heron live?", 50)]
    require(name not in found, f"{name} was removed, and is found")
    require(_NAMES[2] in found, f"{_NAMES[2]} was not removed, and is not found")


CHECKS: dict[str, Check[_Filled]] = {
    "added": _added,
    "unchanged": _unchanged,
    "read_back": _read_back,
    "found": _found,
    "filtered": _filtered,
    "one_version": _one_version,
    "removed": _removed,
}


async def check_base(base: KnowledgeBase, source: GroundedSource, *, timeout: float = 120.0) -> ConformanceReport:
    """Make every check on `base`, into which the kit writes documents called `kit/…`.

    Args:
        base: the writing side, best with nothing else in it.
        source: the reading side; it stays open. Its filters know the field `document`.
        timeout: the longest that one check may take, in seconds.
    """
    filled = _Filled(base, source)
    return ConformanceReport(str(source.name), await outcomes(CHECKS, filled, timeout), "knowledge base")

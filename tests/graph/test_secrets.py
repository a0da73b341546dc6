"""A secret that somebody else's error repeats: nowhere in what a reader, a record, a file or a log gets (F5, F20)."""

from __future__ import annotations

import base64
import logging
from urllib.parse import quote

import pytest
from turns import QUESTION, ask, build, docs
from written_source import Written

from groundgraph import Context, GroundedSource, SourceResult, load_settings, open_graph
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.report.turn_page import turn_page
from groundgraph.testing import FaultySource, InMemorySource, Reply, openai_stub

KEY = "sk-CANARY7Q/+9xZ_pL3vR8mW2kd"
# Any run of so many characters of the key would do to look it up.
RUN = 8
FORMS = {
    "plain": KEY,
    "base64": base64.b64encode(KEY.encode()).decode(),
    "basic": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "url": quote(KEY, safe=""),
    "cut": f"{KEY[:11]}***{KEY[-6:]}",
    "first": KEY[:14],
}


def shown(text: str, form: str) -> list[str]:
    """The pieces of the key in that form which stand in `text`."""
    pieces = {form[at : at + RUN] for at in range(len(form) - RUN + 1) if "*" not in form[at : at + RUN]}
    return sorted(piece for piece in pieces if piece in text and piece != base64.b64encode(b"user:x").decode()[:RUN])


@pytest.mark.covers("F5", "fault 91")
@pytest.mark.parametrize("status", [401, 400, 500])
@pytest.mark.parametrize("form", FORMS)
async def test_a_key_that_the_provider_repeats_is_nowhere(form, status, tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    told = f"Incorrect API key provided; it was {FORMS[form]} which is wrong."
    with openai_stub(default=Reply(told, status=status)) as stub:
        settings = load_settings(
            {
                "llm": {"provider": "openai", "model": "m", "base_url": stub.base_url},
                "limits": {"attempts": 1},
                "checkpointer": {"type": "sqlite", "path": str(tmp_path / "threads.sqlite")},
                "store": {"type": "sqlite", "path": str(tmp_path / "evidence.sqlite")},
            }
        )
        async with open_graph(settings, sources=[docs()]) as graph:
            output = await graph.ainvoke({"messages": [("user", QUESTION)]}, {"configurable": {"thread_id": "t"}})
        assert stub.requests
    page = turn_page(output["provenance"])
    files = "".join(file.read_bytes().decode("latin-1") for file in sorted(tmp_path.iterdir()))
    assert "wrong" in str(output["provenance"]["models"]), "the record has the provider's words, without the key"
    for text in (str(output), page, files, caplog.text):
        assert not shown(text, FORMS[form])
    note = next(note for note in output["notes"] if note.startswith("The language model could not answer"))
    assert str(status) in note
    assert "Error" in note
    assert "Incorrect" not in str(output["notes"])


def graph_over(*sources: GroundedSource, **settings: object):
    given = {"intent": {"mode": "static"}, "synthesis": {"style": "structured"}, **settings}
    return build(base=given, sources=list(sources))


@pytest.mark.covers("F20", "fault 101")
@pytest.mark.parametrize(
    "error",
    [RuntimeError, KeyError, TypeError, AttributeError, ValueError, type("OfTheirOwn", (Exception,), {})],
)
async def test_a_bug_of_a_source_is_told_as_one_and_its_traceback_logged_once(error, monkeypatch, caplog):
    monkeypatch.setenv("CUSTOM_PASSWORD", "CANARY-of-the-custom-source")
    graph = graph_over(Written(error("boom secret=abc123 CANARY-of-the-custom-source"), "custom"), docs())
    first = await ask(graph, QUESTION)
    second = await ask(graph, QUESTION)
    for output in (first, second):
        [note] = output["notes"]
        assert note == (
            f'The source "custom" could not be searched: {error.__name__}: an error in the source\'s own code'
        )
        assert "abc123" not in str(output)
        assert "CANARY" not in str(output)
        assert "boom secret=***" in output["provenance"]["sources"]["custom"]["error"]
    assert caplog.text.count("Traceback (most recent call last)") == 1
    assert "raise self.answer" in caplog.text
    assert "abc123" not in caplog.text
    assert "CANARY" not in caplog.text


@pytest.mark.covers("F20", "fault 101")
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionError("refused by 10.0.0.7"), "ConnectionError: it cannot be reached"),
        (TimeoutError("10.0.0.7"), "TimeoutError: no answer in time"),
        (type("ServiceError", (Exception,), {"status_code": 503})("10.0.0.7"), "ServiceError 503: it has a failure"),
        (type("ServiceError", (Exception,), {"status_code": 403})("10.0.0.7"), "ServiceError 403: it refused access"),
    ],
)
async def test_an_outage_is_told_as_one_without_its_text_or_a_traceback(error, words, caplog):
    graph = graph_over(FaultySource(docs(), error=error), InMemorySource(["Grants."], name="b"), limits={"attempts": 1})
    output = await ask(graph, QUESTION)
    assert words in output["notes"][0]
    assert "10.0.0.7" not in str(output["notes"])
    assert "10.0.0.7" in output["provenance"]["sources"]["docs"]["error"]
    assert "Traceback" not in caplog.text


@pytest.mark.covers("F11")
async def test_a_reply_that_the_models_client_cannot_decode_is_told_without_the_errors_text():
    error = RecursionError("maximum recursion depth exceeded while decoding a JSON array from a unicode string")
    output = await ask(build(error, sources=[docs()]), QUESTION)
    [note] = [note for note in output["notes"] if "RecursionError" in note]
    assert "its answer cannot be read" in note
    assert "recursion depth" not in str(output["notes"])


@pytest.mark.covers("F20")
async def test_notes_in_russian_name_the_class_in_russian():
    output = await ask(graph_over(Written(KeyError("x")), docs()), "Какие есть типы грантов OAuth?")
    assert any("KeyError: ошибка в собственном коде источника" in note for note in output["notes"])


class Tenants(GroundedSource):
    """Serves every tenant but one, or is down altogether."""

    name = "tenants"
    source_type = "custom"
    down = False

    def get_schema(self) -> SourceSchema:
        return SourceSchema("tenants", {"tenant": {}})

    async def query(self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0) -> list:
        tenant = intent.filters["tenants"]["tenant"]
        if self.down:
            raise ConnectionError("no route")
        if tenant == "suspended":
            raise PermissionError("this account is suspended")
        return [SourceResult("OAuth has four grant types.", "a", self.name, self.source_type, 0.9)]

    async def close(self) -> None:
        return None


@pytest.mark.covers("F15", "fault 95")
async def test_one_tenants_failures_leave_the_source_open_for_the_others():
    source = Tenants()
    scoped = {"retrieval": {"scope_filters": {"tenants": {"tenant": "context.tenant"}}}, "limits": {"attempts": 1}}
    graph = graph_over(source, **scoped)

    async def outcome(tenant: str) -> dict:
        asked = {"messages": [("user", QUESTION)]}
        return await graph.ainvoke(asked, context=Context(scope={"tenant": tenant}))

    for _ in range(6):
        suspended = await outcome("suspended")
    assert suspended["provenance"]["sources"]["tenants"]["error_type"] == "CircuitOpen"
    assert (await outcome("acme"))["outcome"] == "answered"
    source.down = True
    for tenant in ("acme", "globex", "acme", "globex", "acme"):
        await outcome(tenant)
    source.down = False
    told = await outcome("initech")
    assert told["provenance"]["sources"]["tenants"]["error_type"] == "CircuitOpen", "the service itself failed"

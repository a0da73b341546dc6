from __future__ import annotations

import asyncio
import builtins
from itertools import pairwise
from time import monotonic

import pytest
from web_site import Site, answer, fetching, html, redirect, refusal, refused

from groundgraph.core.errors import PageNotLoaded
from groundgraph.ingest import fetch_page
from groundgraph.ingest.fetch_page import MAX_PAUSE, MAX_ROBOTS_BYTES, PageTime, Robots

pytestmark = pytest.mark.covers("K2")

ORIGIN = "http://site.example"


class Served:
    """A robots.txt that counts how often it is fetched."""

    def __init__(self, status=200, body="", error=None):
        self.status, self.body, self.error, self.fetched = status, body, error, []

    async def __call__(self, url, time):
        self.fetched.append(url)
        await asyncio.sleep(0)
        if self.error:
            raise self.error
        return self.status, self.body.encode()


async def allowed(served, path="/page", agent="groundgraph"):
    try:
        await Robots(served, agent).pause(ORIGIN, ORIGIN + path, PageTime(5))
    except PageNotLoaded as error:
        return False if error.reason == "robots" and "web.obey_robots" in str(error) else error.reason
    return True


RULES = """
User-agent: *
Disallow: /private/
Allow: /private/but-not-this
Disallow: /*.cgi$

User-agent: groundgraph
Disallow: /no-machines
Crawl-delay: 2

User-agent: otherbot
Disallow: /
"""


@pytest.mark.parametrize(
    ("path", "agent", "expected"),
    [
        ("/private/x", "someone", False),
        ("/private/but-not-this", "someone", True),
        ("/run.cgi", "someone", False),
        ("/run.cgi?x", "someone", True),
        ("/no-machines", "groundgraph", False),
        ("/no-machines", "GroundGraph/1.2 (+http://us.example)", False),
        ("/page", "otherbot", False),
        ("/page", "notherotherbot", True),
    ],
)
async def test_robots_rules_are_obeyed(path, agent, expected):
    assert await allowed(Served(body=RULES), path, agent) is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [(200, True), (204, True), (400, True), (401, True), (403, True), (404, True), (410, True)]
    + [(429, False), (500, False), (503, False)],
)
async def test_a_missing_robots_txt_allows_and_one_that_cannot_be_had_forbids(status, expected):
    assert await allowed(Served(status)) is expected


@pytest.mark.parametrize("reason", ["timeout", "redirects", "content"])
async def test_a_robots_txt_that_fails_forbids(reason):
    assert not await allowed(Served(error=PageNotLoaded(reason, "what went wrong", url=ORIGIN)))


async def test_a_site_that_is_not_there_is_told_as_such():
    served = Served(error=PageNotLoaded("connection", "the host cannot be resolved", url=ORIGIN))
    assert await allowed(served) == "connection"


async def test_each_robots_txt_is_fetched_once_in_a_run():
    served = Served(body=RULES)
    rules = Robots(served, "groundgraph")
    await asyncio.gather(*(rules.pause(ORIGIN, f"{ORIGIN}/{number}", PageTime(5)) for number in range(5)))
    await rules.pause("https://site.example", "https://site.example/x", PageTime(5))
    assert served.fetched == [f"{ORIGIN}/robots.txt", "https://site.example/robots.txt"]


async def test_what_failed_in_too_little_time_is_tried_again_and_a_dead_site_is_not():
    served = Served(error=PageNotLoaded("timeout", "too late", url=ORIGIN))
    rules = Robots(served, "groundgraph")
    late, fresh = PageTime(10), PageTime(10)
    late.left = 1
    for time, fetched in ((late, 1), (fresh, 2), (fresh, 2)):
        with pytest.raises(PageNotLoaded):
            await rules.pause(ORIGIN, ORIGIN, time)
        assert len(served.fetched) == fetched


@pytest.mark.parametrize(
    ("delay", "pause"), [("2", 2.0), ("0.5", 0.5), ("86400", MAX_PAUSE), ("-3", 0.0), ("soon", 0.0), ("nan", 0.0)]
)
async def test_the_pause_that_a_site_asks_for_is_kept_up_to_a_bound(delay, pause):
    rules = Robots(Served(body=f"User-agent: *\nCrawl-delay: {delay}\n"), "groundgraph")
    assert await rules.pause(ORIGIN, ORIGIN, PageTime(5)) == pause


@pytest.mark.parametrize("body", ["", "\x00\x01", "<html>no rules</html>", "Disallow: /", "User-agent: *\nDisallow:\n"])
async def test_odd_files_forbid_nothing(body):
    assert await allowed(Served(body=body)) is True


async def test_a_missing_package_is_named(monkeypatch):
    real = builtins.__import__

    def without_protego(name, *args, **kwargs):
        if name == "protego":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_protego)
    with pytest.raises(PageNotLoaded, match=r'pip install "groundgraph\[web\]"'):
        await Robots(Served(), "groundgraph").pause(ORIGIN, ORIGIN, PageTime(5))
    assert fetch_page.NEEDS_EXTRA


@pytest.fixture
def site():
    made = Site({"/start": html("<p>hello</p>"), "/open": html("<p>open</p>")})
    yield made
    made.close()


def forbid(path: str) -> tuple:
    return 200, {"Content-Type": "text/plain"}, f"User-agent: *\nDisallow: {path}\n".encode()


async def test_a_forbidden_page_is_not_asked_for(site):
    site.pages["/robots.txt"] = forbid("/start")
    async with fetching(site) as fetcher:
        error = await refused(fetcher)
        assert (error.reason, "does not allow 'groundgraph'" in str(error)) == ("robots", True)
        assert (await fetcher.fetch("http://site.example/open")).status == 200
    assert site.paths == ["/open"]
    assert [path for _, path in site.asked].count("/robots.txt") == 1
    async with fetching(site, obey_robots=False) as fetcher:
        assert (await fetcher.fetch("http://site.example/start")).status == 200


async def test_a_redirect_obeys_the_robots_txt_of_the_host_that_it_leads_to(site):
    def by_host(handler):
        rules = b"User-agent: *\nDisallow: /\n" if handler.headers["Host"] == "shy.example" else b""
        answer(handler, rules)

    site.pages["/robots.txt"] = by_host
    site.pages["/start"] = redirect("http://shy.example/open")
    error = await refusal(site)
    assert (error.reason, error.hop) == ("robots", "http://shy.example/open")
    assert site.paths == ["/start"]


async def test_a_robots_txt_beyond_the_bound_is_read_up_to_it(site):
    rules = b"User-agent: *\nDisallow: /start\n"
    filler = b"# nothing\n" * (MAX_ROBOTS_BYTES // 10 + 10)
    site.pages["/robots.txt"] = (200, {}, rules + filler)
    assert (await refusal(site)).reason == "robots"
    site.pages["/robots.txt"] = (200, {}, filler + rules)
    async with fetching(site) as fetcher:
        assert (await fetcher.fetch("http://site.example/start")).status == 200


async def test_the_pause_that_a_site_asks_for_lies_between_two_requests(site):
    times = []

    def timed(handler):
        times.append(monotonic())
        answer(handler)

    site.pages["/robots.txt"] = (200, {}, b"User-agent: *\nCrawl-delay: 0.7\n")
    site.pages["/open"] = timed
    async with fetching(site, timeout=0.6) as fetcher:
        # The time of a page does not run while it waits.
        await asyncio.gather(*(fetcher.fetch("http://site.example/open") for _ in range(3)))
    assert all(later - earlier >= 0.7 for earlier, later in pairwise(times))
    assert len(times) == 3

from __future__ import annotations

import asyncio
import gzip
import ssl
import threading

import httpcore
import pytest
from web_site import PUBLIC, START, PublicNetwork, Site, answer, fetching, html, redirect, refusal, refused

from groundgraph.ingest.fetch_page import PageFetcher, page_url
from groundgraph.ingest.guarded_network import resolve_host
from groundgraph.settings.knowledge_base import WebSettings

pytestmark = pytest.mark.covers("K2")


@pytest.fixture
def site():
    made = Site({"/start": html("<p>hello</p>")})
    yield made
    made.close()


# ---- addresses --------------------------------------------------------------------------------------------------

URLS = {
    "file:///etc/passwd": "url",
    "ftp://site.example/x": "url",
    "data:text/html,<p>x": "url",
    "javascript:alert(1)": "url",
    "site.example/start": "url",
    "http://": "url",
    "http://[::1": "url",
    "http://site.example:99999/": "url",
    "": "url",
    "http://user:secret@site.example/": "url",
    "http://user@127.0.0.1/": "url",
    "http://127.0.0.1/": "address",
    "http://127.1/": "address",
    "http://2130706433/": "address",
    "http://0x7f000001/": "address",
    "http://0177.0.0.1/": "address",
    "http://localhost/": "address",
    "http://[::1]/": "address",
    "http://[::]/": "address",
    "http://0.0.0.0/": "address",
    "http://[::ffff:127.0.0.1]/": "address",
    "http://[fe80::1]/": "address",
    "http://169.254.169.254/latest/meta-data/": "address",
    "http://0xa9fea9fe/": "address",
    "http://2852039166/": "address",
    "http://192.168.0.1/": "address",
    "https://127.0.0.1/": "address",
    "http://１２７.0.0.1/": "address",
    "http://127。0。0。1/": "address",
}


@pytest.mark.covers("fault 61")
@pytest.mark.parametrize(("url", "reason"), URLS.items(), ids=list(URLS))
async def test_what_must_not_be_asked_is_refused_before_a_connection(site, url, reason):
    # The system's own resolver, which is what reads the odd spellings.
    network = PublicNetwork(site.port)
    async with PageFetcher(WebSettings(), resolve=resolve_host, dial=network) as fetcher:
        error = await refused(fetcher, url)
    # A spelling that the resolver of this system does not know is refused all the same.
    assert error.reason == reason or (error.reason in ("url", "connection") and reason == "address")
    assert network.dialled == []
    assert site.asked == []
    assert "secret" not in str(error)


@pytest.mark.covers("fault 61")
@pytest.mark.parametrize(
    ("addresses", "allow_private", "told"),
    [
        ([PUBLIC, "10.0.0.1"], False, "'site.example' has the private address 10.0.0.1"),
        # What tells of a machine's keys stays closed.
        (["169.254.169.254"], True, "169.254.169.254"),
    ],
)
async def test_a_name_with_one_bad_address_among_good_ones_is_refused(site, addresses, allow_private, told):
    async with fetching(site, {"site.example": [addresses]}, allow_private=allow_private) as fetcher:
        error = await refused(fetcher)
        assert error.reason == "address"
        assert told in str(error)
        assert ("allow_private" in str(error)) != allow_private
        assert fetcher.network.dialled == []


@pytest.mark.covers("fault 61")
async def test_a_real_server_on_loopback_sees_no_connection():
    touched = threading.Event()
    site = Site({"/start": lambda handler: touched.set()})
    site.verify_request = lambda *args: touched.set() or True
    try:
        async with PageFetcher(WebSettings()) as fetcher:
            error = await refused(fetcher, f"http://127.0.0.1:{site.port}/start")
        assert error.reason == "address"
        assert "web.allow_private" in str(error)
        assert not touched.is_set()
    finally:
        site.close()


async def test_allow_private_fetches_from_this_machine(site):
    async with PageFetcher(WebSettings(allow_private=True)) as fetcher:
        page = await fetcher.fetch(f"http://127.0.0.1:{site.port}/start#part")
    assert page.url == f"http://127.0.0.1:{site.port}/start"
    assert b"hello" in page.body
    assert site.asked == [(f"127.0.0.1:{site.port}", "/robots.txt"), (f"127.0.0.1:{site.port}", "/start")]


@pytest.mark.covers("fault 61")
async def test_a_name_that_answers_differently_the_second_time_reaches_nothing_private(site):
    """DNS rebinding: each connection goes to the address that was checked for it."""
    site.pages["/start"] = (302, {"Location": "/inner", "Connection": "close"}, b"")
    site.pages["/inner"] = html("<p>inner</p>")
    rebinding = {"site.example": [[PUBLIC], ["127.0.0.1"]]}
    async with fetching(site, rebinding, obey_robots=False) as fetcher:
        error = await refused(fetcher)
        assert (error.reason, error.hop) == ("address", "http://site.example/inner")
        # One look-up for each connection, and a connection only to the address that passed.
        assert fetcher.network.names == ["site.example", "site.example"]
        assert fetcher.network.dialled == [(PUBLIC, 80)]
    assert site.paths == ["/start"]


async def test_the_next_address_is_tried_when_one_does_not_answer(site):
    class FirstIsDown(PublicNetwork):
        async def connect_tcp(self, host, port, *args):
            if host == "8.8.8.8":
                self.dialled.append((host, port))
                raise httpcore.ConnectError("refused")
            return await super().connect_tcp(host, port, *args)

    network = FirstIsDown(site.port, {"site.example": [["8.8.8.8", PUBLIC]]})
    async with PageFetcher(WebSettings(obey_robots=False), resolve=network.resolve, dial=network) as fetcher:
        assert (await fetcher.fetch(START)).status == 200
    assert network.dialled == [("8.8.8.8", 80), (PUBLIC, 80)]


async def test_proxies_of_the_environment_play_no_part(site, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with fetching(site) as fetcher:
        assert (await fetcher.fetch(START)).status == 200


async def test_tls_checks_the_name_and_not_the_address(tmp_path):
    """The connection goes to an address; the server is told the name, and its certificate must be for that."""
    context, seen = _certificate_for("site.example", tmp_path), []
    context.sni_callback = lambda connection, name, _: seen.append(name)
    site = Site({"/start": html("<p>secret</p>")})
    site.socket = context.wrap_socket(site.socket, server_side=True, do_handshake_on_connect=False)
    site.handle_error = lambda *args: None
    try:
        async with fetching(site, obey_robots=False) as fetcher:
            error = await refused(fetcher, "https://site.example/start")
            assert fetcher.network.dialled == [(PUBLIC, 443)]
    finally:
        site.close()
    assert error.reason == "connection"
    assert "certificate verify failed" in str(error)
    assert seen == ["site.example"]
    assert site.asked == []


def _certificate_for(name, folder):
    """A server context with a certificate for `name` that nobody trusts."""
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ) + certificate.public_bytes(serialization.Encoding.PEM)
    (folder / "server.pem").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context


# ---- redirects --------------------------------------------------------------------------------------------------

REDIRECTS = {
    "http://127.0.0.1/secret": "address",
    "http://169.254.169.254/latest/meta-data/": "address",
    "http://[::1]/secret": "address",
    "//192.168.1.1/secret": "address",
    "file:///etc/passwd": "url",
    "ftp://site.example/x": "url",
    "data:text/html,<p>x": "url",
    "http://user:secret@site.example/start": "url",
    "http://[bad": "url",
}


@pytest.mark.covers("fault 62")
@pytest.mark.parametrize(("target", "reason"), REDIRECTS.items(), ids=list(REDIRECTS))
async def test_a_redirect_to_what_must_not_be_asked_is_refused_at_the_hop(site, target, reason):
    site.pages["/start"] = redirect(target)

    async def resolve(host, port):
        return [PUBLIC] if host == "site.example" else await resolve_host(host, port)

    network = PublicNetwork(site.port)
    async with PageFetcher(WebSettings(), resolve=resolve, dial=network) as fetcher:
        error = await refused(fetcher)
    assert error.reason == reason
    assert error.url == START
    assert "secret@" not in str(error)
    assert {address for address, _ in network.dialled} == {PUBLIC}
    assert site.paths == ["/start"]


@pytest.mark.covers("fault 62")
async def test_the_message_names_the_page_and_the_hop(site):
    site.pages["/start"] = redirect("http://other.example/next")
    site.pages["/next"] = redirect("http://10.9.8.7/in")
    error = await refusal(site, {"10.9.8.7": [["10.9.8.7"]]})
    assert (error.url, error.hop) == (START, "http://10.9.8.7/in")
    assert "redirected to http://10.9.8.7/in: refused, because '10.9.8.7' is a private address" in str(error)


@pytest.mark.covers("fault 62")
async def test_robots_txt_does_not_lead_to_a_private_address_either(site):
    site.pages["/robots.txt"] = redirect("http://10.9.8.7/robots.txt")
    async with fetching(site, {"10.9.8.7": [["10.9.8.7"]]}) as fetcher:
        error = await refused(fetcher)
        assert error.reason == "address"
        assert "http://site.example/robots.txt redirects to http://10.9.8.7/robots.txt: refused" in str(error)
        assert {address for address, _ in fetcher.network.dialled} == {PUBLIC}
    assert site.paths == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_and_the_final_url_is_told(site, status):
    site.pages["/start"] = redirect("there?x=1#part", status)
    site.pages["/there?x=1"] = html("<p>there</p>")
    async with fetching(site) as fetcher:
        page = await fetcher.fetch(START)
    assert page.url == "http://site.example/there?x=1"
    assert b"there" in page.body


async def test_redirects_end(site):
    for number in range(10):
        site.pages[f"/{number}"] = redirect(f"/{number + 1}")
    site.pages["/circle"] = redirect("/back")
    site.pages["/back"] = redirect("/circle#again")
    async with fetching(site, max_redirects=3) as fetcher:
        error = await refused(fetcher, "http://site.example/0")
        assert (error.reason, error.hop) == ("redirects", "http://site.example/4")
        assert site.paths == ["/0", "/1", "/2", "/3"]
        error = await refused(fetcher, "http://site.example/circle")
        assert "in a circle" in str(error)
    async with fetching(site, max_redirects=0) as fetcher:
        assert (await refused(fetcher, "http://site.example/0")).reason == "redirects"


# ---- size and time ----------------------------------------------------------------------------------------------


def begin(handler, header, value):
    handler.send_response(200)
    handler.send_header(header, value)
    handler.end_headers()


@pytest.mark.covers("fault 63")
async def test_a_body_without_end_is_aborted_at_the_cap(site):
    sent = 0

    def endless(handler):
        nonlocal sent
        begin(handler, "Transfer-Encoding", "chunked")
        while True:
            handler.wfile.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
            sent += 1024

    site.pages["/start"] = endless
    error = await refusal(site, max_bytes=100_000)
    assert error.reason == "too_large"
    assert "web.max_bytes" in str(error)


@pytest.mark.covers("fault 63")
async def test_a_body_that_says_it_is_too_large_is_not_read(site):
    def announced(handler):
        begin(handler, "Content-Length", "6000000")
        handler.wfile.flush()
        site.wait(30)

    site.pages["/start"] = announced
    error = await refusal(site)
    assert (error.reason, "6000000 bytes" in str(error)) == ("too_large", True)


async def test_gzip_is_asked_for_and_read(site):
    status, headers, body = html("<p>" + "many words in a long page " * 1000 + "</p>")
    site.pages["/start"] = (status, {**headers, "Content-Encoding": "gzip"}, gzip.compress(body))
    async with fetching(site, user_agent="probe/1.0") as fetcher:
        assert (await fetcher.fetch(START)).body == body
    assert site.headers["Accept-Encoding"] == "gzip"
    assert site.headers["User-Agent"] == "probe/1.0"
    assert site.headers["Host"] == "site.example"


@pytest.mark.parametrize("where", ["headers", "body"])
async def test_one_time_limit_holds_for_the_whole_page(site, where):
    def drips(handler):
        if where == "body":
            begin(handler, "Transfer-Encoding", "chunked")
        for _ in range(200):
            handler.wfile.write(b"1\r\nx\r\n" if where == "body" else b"")
            handler.wfile.flush()
            site.wait(0.05)

    site.pages["/start"] = redirect("/slow")
    site.pages["/slow"] = drips
    error = await refusal(site, timeout=1.5)
    assert (error.reason, error.hop) == ("timeout", "http://site.example/slow")


async def test_a_look_up_that_hangs_is_cut_off(site):
    async def never(host, port):
        await asyncio.sleep(60)
        return [PUBLIC]

    async with PageFetcher(WebSettings(timeout=0.2, obey_robots=False), resolve=never) as fetcher:
        assert (await refused(fetcher)).reason == "timeout"


# ---- answers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [204, 301, 401, 404, 410, 429, 500, 503])
async def test_a_status_other_than_200_is_told(site, status):
    site.pages["/start"] = (status, {}, b"")
    error = await refusal(site)
    assert (error.reason, f"status {status}" in str(error)) == ("status", True)


@pytest.mark.parametrize("sent", [b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", b"this is no HTTP\r\n\r\n", b""])
async def test_a_server_that_breaks_off_is_told(site, sent):
    def breaks_off(handler):
        handler.wfile.write(sent)
        handler.close_connection = True

    site.pages["/start"] = breaks_off
    assert (await refusal(site)).reason == "connection"


async def test_an_unknown_host_is_told():
    async def unknown(host, port):
        raise OSError("Name or service not known")

    async with PageFetcher(WebSettings(), resolve=unknown) as fetcher:
        error = await refused(fetcher)
    assert "'site.example' cannot be resolved" in str(error)


async def test_a_host_is_asked_one_request_at_a_time(site):
    running, most = 0, 0

    def counted(handler):
        nonlocal running, most
        running += 1
        most = max(most, running)
        site.wait(0.02)
        running -= 1
        answer(handler)

    paths = [f"/{number}" for number in range(6)]
    site.pages.update(dict.fromkeys(paths, counted))
    async with fetching(site) as fetcher:
        await asyncio.gather(*(fetcher.fetch(f"http://site.example{path}") for path in paths))
        assert most == 1
        await asyncio.gather(*(fetcher.fetch(f"http://{number}.example{path}") for number, path in enumerate(paths)))
        assert most > 1


async def test_waiting_for_ones_turn_costs_a_page_no_time(site):
    def slow(handler):
        site.wait(0.3)
        answer(handler)

    site.pages["/start"] = slow
    async with fetching(site, timeout=1.5, obey_robots=False) as fetcher:
        pages = await asyncio.gather(*(fetcher.fetch(START) for _ in range(6)))
    assert [page.status for page in pages] == [200] * 6


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("HTTP://Site.Example:80/a/../b#part", "http://site.example/b"),
        ("https://site.example", "https://site.example/"),
        (" https://site.example:443/?q=a b ", "https://site.example/?q=a%20b"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
        ("http://[2606:4700::1111]:8080/", "http://[2606:4700::1111]:8080/"),
    ],
)
def test_equal_addresses_have_one_plain_form(given, plain):
    assert str(page_url(given)) == plain
    assert str(page_url(plain)) == plain

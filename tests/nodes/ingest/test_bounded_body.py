from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.ingest.fetch_page import MAX_RATIO, BodyRefused, bounded_body

pytestmark = pytest.mark.covers("K2")


async def chunks(data: bytes, size: int = 1000):
    for start in range(0, len(data), size):
        yield data[start : start + size]


def bomb(size: int) -> bytes:
    """A gzip of `size` zeros, made without holding them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    block = bytes(1_000_000)
    return b"".join(packer.compress(block) for _ in range(size // len(block))) + packer.flush()


@given(st.binary(max_size=3000), st.integers(1, 700))
async def test_a_body_comes_back_as_it_was(data, size):
    assert await bounded_body(chunks(data, size), max_bytes=3000) == data
    packed = gzip.compress(data)
    assert await bounded_body(chunks(packed, size), encoding="gzip", max_bytes=4000) == data


@given(st.lists(st.binary(max_size=500), min_size=1, max_size=4), st.integers(1, 90))
async def test_gzip_in_several_members_is_one_body(parts, size):
    packed = b"".join(gzip.compress(part) for part in parts) + b"\0" * 7
    assert await bounded_body(chunks(packed, size), encoding="x-gzip", max_bytes=5000) == b"".join(parts)


async def test_a_long_body_in_one_piece_comes_back_whole():
    data = b"".join(b"line %d of a long text\n" % number for number in range(100_000))
    packed = gzip.compress(data)
    assert await bounded_body(chunks(packed, len(packed)), encoding="gzip", max_bytes=len(data)) == data


@pytest.mark.covers("fault 63")
async def test_a_gzip_bomb_is_aborted_early_and_bounded():
    packed = bomb(200_000_000)
    taken = 0

    async def counted():
        nonlocal taken
        async for chunk in chunks(packed, 4096):
            taken += len(chunk)
            yield chunk

    tracemalloc.start()
    try:
        with pytest.raises(BodyRefused, match=f"more than {MAX_RATIO} times") as caught:
            await bounded_body(counted(), encoding="gzip", max_bytes=10**9)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.reason == "too_large"
    assert taken <= 8192
    assert peak < 5_000_000


@pytest.mark.covers("fault 63")
async def test_a_bomb_in_one_chunk_is_bounded_too():
    packed = bomb(100_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(BodyRefused, match="bytes"):
            await bounded_body(chunks(packed, len(packed)), encoding="gzip", max_bytes=1_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000


@pytest.mark.covers("fault 63")
async def test_more_than_the_cap_is_refused_and_exactly_the_cap_is_not():
    assert await bounded_body(chunks(bytes(5000)), max_bytes=5000) == bytes(5000)
    with pytest.raises(BodyRefused, match="more than 4999 bytes"):
        await bounded_body(chunks(bytes(5000)), max_bytes=4999)


@pytest.mark.covers("fault 63")
async def test_gzip_that_never_gives_a_byte_is_bounded():
    async def empty_blocks():
        yield gzip.compress(b"")[:10]
        while True:
            yield b"\x00\x00\x00\xff\xff" * 100  # a stored block of no bytes

    with pytest.raises(BodyRefused, match="more than 20000 bytes"):
        await bounded_body(empty_blocks(), encoding="gzip", max_bytes=20_000)


async def test_a_short_page_of_one_repeated_line_is_no_bomb():
    data = b"x" * 60_000
    assert await bounded_body(chunks(gzip.compress(data)), encoding="gzip", max_bytes=10**6) == data


async def test_a_cut_body_ends_at_the_cap():
    assert await bounded_body(chunks(b"abc" * 1000), max_bytes=1001, cut=True) == (b"abc" * 1000)[:1001]


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (gzip.compress(b"text" * 100, mtime=0)[:-9], "gzip", "ends too early"),
        (b"no gzip at all", "gzip", "damaged gzip"),
        (b"text", "br", "'br', which was not asked for"),
        (b"", "gzip", "ends too early"),
    ],
)
async def test_damaged_and_unknown_encodings_are_refused(data, encoding, message):
    with pytest.raises(BodyRefused, match=message) as caught:
        await bounded_body(chunks(data), encoding=encoding, max_bytes=1000)
    assert caught.value.reason == "content"

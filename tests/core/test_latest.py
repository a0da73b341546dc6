"""What was used last is kept, by whichever thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from groundgraph.core.latest import Latest


def test_the_value_used_longest_ago_gives_way() -> None:
    kept: Latest[str, int] = Latest(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert ("a" in kept, "b" in kept, "c" in kept) == (True, False, True)
    assert sorted(kept.values()) == [1, 3]


def test_a_value_is_made_once_and_also_kept_when_it_is_false() -> None:
    kept: Latest[str, list[int]] = Latest(2)
    made = kept.get_or_make("a", list)
    assert kept.get_or_make("a", lambda: [1]) is made
    kept.drop("a")
    assert kept.get_or_make("a", lambda: [1]) == [1]
    kept.clear()
    assert kept.get("a") is None


def test_what_could_not_be_made_is_not_kept() -> None:
    kept: Latest[str, int] = Latest(2)
    with pytest.raises(ZeroDivisionError):
        kept.get_or_make("a", lambda: 1 // 0)
    assert kept.get_or_make("a", lambda: 2) == 2


def test_threads_that_use_few_places_at_once_see_whole_values_only() -> None:
    kept: Latest[int, tuple[int, int]] = Latest(3)

    def use(start: int) -> bool:
        found = [kept.get_or_make(n % 7, lambda n=n: (n % 7, n % 7)) for n in range(start, start + 2000)]
        return all(pair == (n % 7, n % 7) for n, pair in enumerate(found, start))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(8)))
    assert len(kept.values()) == 3

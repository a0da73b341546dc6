"""Two recordings side by side: what differs, file by file, a line for each thing that moved."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from golden.canonical import SKIPPED

# The last decimal may be rounded the other way when sums are taken in another order.
_AS_EQUAL = 1.5e-6
_LONGEST = 160
# Of what two long texts have in common before they differ.
_KEPT = 20
# What may stand behind the id of a result.
_OF_A_RESULT = ("relevance", "score", "content", "metadata")


def compare(old: Path, new: Path, *, at_most: int = 40) -> int:
    """Print what differs, at most so many lines of one file; 1 when anything does, 2 when one is no recording."""
    for folder in (old, new):
        if not (folder / SKIPPED).is_file():
            print(f"{folder} holds no complete recording")
            return 2
    skipped = {**_skipped(old, "old"), **_skipped(new, "new")}
    print("".join(f"not compared, skipped in {reason}\n" for reason in skipped.values()), end="")
    names = {name for name in _files(old) | _files(new) if name.partition(".")[0] not in skipped}
    differing = 0
    for name in sorted(names):
        lines = list(_differences(old / name, new / name))
        differing += bool(lines)
        if lines:
            print(f"{name}: {len(lines)} difference{'s' * (len(lines) > 1)}")
            print("".join(f"  {line}\n" for line in lines[:at_most]), end="")
            if len(lines) > at_most:
                print(f"  ... and {len(lines) - at_most} more")
    print(f"{len(names)} files compared, {differing} differ")
    return 1 if differing else 0


def _files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file() and file.name != SKIPPED}


def _skipped(folder: Path, when: str) -> dict[str, str]:
    """What a recording left out, by name, with a sentence for the reader."""
    given = json.loads((folder / SKIPPED).read_text("utf-8"))
    return {name: f"the {when} recording: {name} ({reason})" for name, reason in given.items()}


def _differences(old: Path, new: Path) -> Iterator[str]:
    """What is to be said about one file."""
    for file, told in ((old, "only in the new recording"), (new, "only in the old recording")):
        if not file.is_file():
            yield told
            return
    before, after = old.read_text("utf-8"), new.read_text("utf-8")
    if before == after:
        return
    if old.suffix == ".jsonl":
        yield from _of_questions(before, after)
    elif old.suffix == ".json":
        yield from _of_values("", json.loads(before), json.loads(after))
    else:
        yield from _of_lines(before, after)


def _of_lines(before: str, after: str) -> Iterator[str]:
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""):
        if not line.startswith(("---", "+++")) or line[3:4] not in (" ", ""):
            yield _short(line)


def _of_questions(before: str, after: str) -> Iterator[str]:
    old, new = _by_question(before), _by_question(after)
    for question in (*old, *(one for one in new if one not in old)):
        if question not in old or question not in new:
            yield f"{question}: only in the {'old' if question in old else 'new'} recording"
            continue
        moved = list(_of_found(old[question], new[question]))
        if moved:
            yield f"{question}: {'; '.join(moved)}"


def _by_question(text: str) -> dict[str, dict[str, Any]]:
    rows = map(json.loads, text.splitlines())
    return {row["question"] if isinstance(row["question"], str) else json.dumps(row["question"], ensure_ascii=False):
            row for row in rows}  # fmt: skip


def _of_found(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """What moved among the results of one question: places, then numbers, then what else a result holds."""
    if old.get("refused") != new.get("refused"):
        yield f"refused {old.get('refused')!r} -> {new.get('refused')!r}"
    before, after = _places(old), _places(new)
    for key in (*before, *(one for one in after if one not in before)):
        if key not in after:
            yield f"{key} gone (was {before[key][0]})"
        elif key not in before:
            yield f"{key} new at {after[key][0]}"
        else:
            (was, old_values), (now, new_values) = before[key], after[key]
            if was != now:
                yield f"{key} {was} -> {now}"
            for name, one, other in zip(_OF_A_RESULT, old_values, new_values, strict=False):
                yield from _of_values(f"{key} {name}", one, other)


def _places(row: Mapping[str, Any]) -> dict[str, tuple[int, list[Any]]]:
    """Place from 1 and values of each result; one that comes twice under one id is told apart."""
    found: dict[str, tuple[int, list[Any]]] = {}
    for place, (key, *values) in enumerate(row.get("found", ()), 1):
        found[key if key not in found else f"{key}#{place}"] = (place, values)
    return found


def _of_values(where: str, old: Any, new: Any) -> Iterator[str]:
    """Every value that differs, by its path."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old | new):
            place = f"{where}.{name}" if where else name
            if name not in old or name not in new:
                yield f"{place} {'is new' if name in new else 'is gone'}: {_shown((new if name in new else old)[name])}"
            else:
                yield from _of_values(place, old[name], new[name])
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_lists(where, old, new)
    elif not _same(old, new):
        start = _same_begin(old, new)
        yield f"{where} {_shown(old, start)} -> {_shown(new, start)}"


def _of_lists(where: str, old: list[Any], new: list[Any]) -> Iterator[str]:
    """Item by item; where there are more or fewer of them, those that are between what both begin and end with."""
    if len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _of_values(f"{where}[{number}]", one, other)
        return
    shorter = min(len(old), len(new))
    begin = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    end = next((n for n in range(shorter - begin) if old[-1 - n] != new[-1 - n]), shorter - begin)
    for told, items in (("is gone", old), ("is new", new)):
        for number in range(begin, len(items) - end):
            yield f"{where}[{number}] {told}: {_shown(items[number])}"


def _same(old: Any, new: Any) -> bool:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (old, new))
    return abs(old - new) <= _AS_EQUAL if numbers else bool(old == new)


def _same_begin(old: Any, new: Any) -> int:
    """How much of the beginning of two long texts is not worth showing."""
    if not isinstance(old, str) or not isinstance(new, str) or max(len(old), len(new)) <= _LONGEST:
        return 0
    same = next(
        (n for n, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new))
    )
    return max(0, same - _KEPT)


def _shown(value: Any, start: int = 0) -> str:
    return _short(("…" if start else "") + json.dumps(value[start:] if start else value, ensure_ascii=False))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"

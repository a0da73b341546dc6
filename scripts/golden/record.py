"""Runs the recordings one after the other and writes what they give."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from golden.canonical import SKIPPED
from golden.pictures import pictures
from golden.searches import Task, searches
from golden.special import special
from golden.turns import turns
from golden.workshop import CannotRun, Places, workshop


def all_tasks() -> dict[str, Task]:
    """Every recording by its name."""
    return {**pictures(), **turns(), **searches(), **special()}


def record(folder: Path, places: Places, *, only: Sequence[str] = ("*",)) -> None:
    """Write the recordings whose names fit one of the patterns `only` into `folder`, one file or more for each.

    What cannot run here is listed in `skipped.json` with the reason.

    Raises:
        SystemExit: no name fits, or `folder` holds something else than a recording.
    """
    target = folder.resolve()
    chosen = {name: task for name, task in all_tasks().items() if any(fnmatch(name, one) for one in only)}
    if not chosen:
        raise SystemExit(f"no recording is called so; there are {', '.join(all_tasks())}")
    if target.is_dir() and any(target.iterdir()) and not (target / SKIPPED).is_file():
        raise SystemExit(f"{folder} holds something else than a recording; name another folder")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    skipped: dict[str, str] = {}
    with workshop(places) as shared:
        for name, task in chosen.items():
            began = time.perf_counter()
            try:
                files = asyncio.run(task(shared))
            except CannotRun as error:
                skipped[name] = str(error)
                print(f"{name}: skipped, {error}")
                continue
            for ending, text in files.items():
                file = target / f"{name}{ending}"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
            print(f"{name}: {time.perf_counter() - began:.1f} s", flush=True)
    (target / SKIPPED).write_text(json.dumps(skipped, indent=1, sort_keys=True) + "\n", "utf-8")

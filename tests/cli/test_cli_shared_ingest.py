"""`groundgraph ingest --workers` and `--shard`, as far as they go without a Weaviate server."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.covers("K16")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--workers", "0"], "is a number from 1 to 1024, or ray"),
        (["--workers", "dask"], "is a number from 1 to 1024, or ray"),
        (["--shard", "4"], "is I/N"),
        (["--shard", "4/4"], "is I/N"),
        (["--shard", "0/65"], "is I/N"),
        (["--shard", "0/4", "--workers", "2"], "goes without --workers"),
        (["--workers", "2", "--rebuild"], "goes with neither"),
        (["--shard", "1/2", "--encoding", "cp1251"], "goes with neither"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused(call, tmp_path, options, told) -> None:
    (tmp_path / "a.md").write_text("The pump needs oil.")
    ran = call("ingest", "a.md", *options)
    assert ran.code == 2
    assert told in " ".join(ran.err.replace("│", " ").split())


@pytest.mark.parametrize("options", [["--shard", "0/4"], ["--workers", "ray"]], ids=" ".join)
def test_a_base_in_a_file_has_one_writer_so_it_has_no_shards(call, tmp_path, options) -> None:
    (tmp_path / "a.md").write_text("The pump needs oil.")
    ran = call("ingest", "a.md", *options)
    assert ran.code == 2
    assert "backend: weaviate" in ran.err


@pytest.mark.covers("K15")
def test_the_number_of_processes_that_read_changes_nothing_in_a_base_in_a_file(run, call, tmp_path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.md").write_text(f"Pump {number} needs oil.")
    ran = run("ingest", "0.md", "1.md", "2.md", "--workers", "2", "--json")
    assert (ran.code, ran.json["written"]) == (0, 3)
    assert call("ingest", "0.md", "1.md", "2.md", "--json").json["unchanged"] == 3

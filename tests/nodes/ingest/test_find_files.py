"""Which files an ingest takes in (K2)."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from groundgraph.core.characters import clean_text
from groundgraph.ingest.find_files import LEADS_OUT, LEADS_UP, find_files

pytestmark = pytest.mark.covers("K2")


def files_in(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text")


def test_a_folder_is_read_with_everything_below_sorted_and_without_what_is_hidden(tmp_path):
    files_in(tmp_path, "docs/b.md", "docs/a.txt", "docs/sub/c.RST", "docs/.hidden.md", "docs/.git/d.md")
    found = find_files(["docs"], tmp_path)
    assert [file.name for file in found.files] == ["docs/a.txt", "docs/b.md", "docs/sub/c.RST"]
    assert found.folders == [tmp_path / "docs"]
    assert not found.failed


def test_other_documents_in_a_folder_are_reported_and_other_files_counted(tmp_path):
    files_in(tmp_path, "docs/a.md", "docs/b.ppt", "docs/c.PNG", "docs/d.png", "docs/LICENSE")
    found = find_files(["docs"], tmp_path)
    [(name, reason)] = found.failed
    assert name == "docs/b.ppt"
    assert ".ppt files are not supported; supported: .csv, .docx, .htm, .html, .jsonl, .markdown, .md" in reason
    assert dict(found.ignored) == {".png": 2, "(no suffix)": 1}


def test_any_file_named_explicitly_that_cannot_be_taken_in_is_a_failure(tmp_path):
    files_in(tmp_path, "a.png", "b")
    found = find_files(["a.png", "b", "missing.md"], tmp_path)
    assert [name for name, _ in found.failed] == ["a.png", "b", "missing.md"]
    assert "no such file" in found.failed[2][1]


def test_a_file_found_twice_is_taken_once_and_its_name_does_not_depend_on_how_it_was_given(tmp_path):
    files_in(tmp_path, "docs/a.md")
    found = find_files(["docs/../docs", tmp_path / "docs", "./docs/a.md"], tmp_path)
    assert [file.name for file in found.files] == ["docs/a.md"]


def test_a_file_outside_of_the_base_folder_has_its_absolute_path_as_name(tmp_path):
    files_in(tmp_path, "other/a.md")
    found = find_files([tmp_path / "other"], tmp_path / "project")
    assert [file.name for file in found.files] == [(tmp_path / "other/a.md").as_posix()]


def test_documents_and_tables_of_every_supported_kind_are_taken(tmp_path):
    names = ["a.md", "b.TXT", "c.rst", "d.html", "e.PDF", "f.docx", "g.csv", "h.tsv", "i.jsonl", "j.ndjson", "k.xlsx"]
    names += ["l.pptx", "m.rest"]
    files_in(tmp_path, *names)
    assert [file.name for file in find_files(["."], tmp_path).files] == names


def test_kinds_of_documents_that_are_not_read_are_all_reported(tmp_path):
    names = ["a.ppt", "b.doc", "c.xls", "d.xlsm", "e.odt", "f.epub"]
    files_in(tmp_path, *names)
    assert [name for name, _ in find_files(["."], tmp_path).failed] == names


def test_a_link_to_a_folder_elsewhere_is_followed_when_asked_for_and_a_circle_is_not(tmp_path):
    files_in(tmp_path, "docs/a.md", "docs/sub/b.md", "elsewhere/c.md", "elsewhere/deep/d.md")
    (tmp_path / "docs" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "docs")
    (tmp_path / "docs" / "again").symlink_to(tmp_path / "docs" / "sub")
    (tmp_path / "docs" / "loop").symlink_to(".")
    found = find_files(["docs"], tmp_path, follow_links=True)
    names = ["docs/a.md", "docs/linked/c.md", "docs/linked/deep/d.md", "docs/sub/b.md"]
    assert sorted(file.name for file in found.files) == names
    assert not found.ignored


def test_whatever_cannot_be_looked_at_is_listed_with_its_reason_and_the_rest_is_taken(tmp_path):
    files_in(tmp_path, "docs/a.md")
    (tmp_path / "docs/gone.md").symlink_to("nowhere.md")
    (tmp_path / "docs/unmounted").symlink_to("/nowhere/at/all")
    (tmp_path / "docs/round.md").symlink_to("round.md")
    os.mkfifo(tmp_path / "docs/pipe.md")
    long = "long" * 100
    found = find_files(["docs", long, f"{long}/a.md", "docs/a.md/b.md", "null\0.md"], tmp_path)
    assert [file.name for file in found.files] == ["docs/a.md"]
    assert dict(found.failed) == {
        "docs/gone.md": "a link to what is not there",
        "docs/unmounted": "a link to what is not there",
        "docs/round.md": "it cannot be looked at: Too many levels of symbolic links",
        "docs/pipe.md": "not a regular file",
        long: "it cannot be looked at: File name too long",
        f"{long}/a.md": "it cannot be looked at: File name too long",
        "docs/a.md/b.md": f"there is no such file or folder in {tmp_path}/docs/a.md",
        clean_text("null\0.md"): f"there is no such file or folder in {tmp_path}",
    }


@pytest.mark.parametrize("name", ["a\nb.md", "a\tb.md", "a\u2028b.md", "sub\r/a.md"])
def test_a_name_that_would_begin_a_line_of_its_own_in_lists_and_citations_is_refused(tmp_path, name):
    files_in(tmp_path, "docs/a.md", f"docs/{name}")
    found = find_files(["docs"], tmp_path)
    assert [file.name for file in found.files] == ["docs/a.md"]
    ((shown, reason),) = found.failed
    assert shown.isprintable()
    assert "line break or another control character" in reason


def test_a_folder_and_a_file_that_may_not_be_looked_at_are_listed(tmp_path, monkeypatch):
    files_in(tmp_path, "docs/a.md", "docs/shut/b.md", "docs/seen/c.md")
    scandir, stat = os.scandir, Path.stat

    def no_list(path):
        if str(path).endswith("shut"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    def no_status(path, **options):
        if path.name == "c.md":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path, **options)

    monkeypatch.setattr(os, "scandir", no_list)
    monkeypatch.setattr(Path, "stat", no_status)
    found = find_files(["docs"], tmp_path)
    assert [file.name for file in found.files] == ["docs/a.md"]
    assert dict(found.failed) == {
        "docs/shut": "the folder cannot be read: Permission denied",
        "docs/seen/c.md": "it cannot be looked at: Permission denied",
    }


@pytest.mark.covers("F10", "fault 100")
def test_links_that_lead_out_of_the_folder_are_skipped_and_listed(tmp_path):
    files_in(tmp_path, "docs/a.md", "docs/in/b.md", "secret/id.md", "secret/key.md")
    for name, target in (("id.md", "secret/id.md"), ("out", "secret"), ("up", "."), ("in.md", "docs/in/b.md")):
        (tmp_path / "docs" / name).symlink_to(tmp_path / target)
    found = find_files(["docs"], tmp_path)
    assert [file.name for file in found.files] == ["docs/a.md", "docs/in.md", "docs/in/b.md"]
    assert (found.failed, found.ignored) == ([], {})
    assert dict(found.skipped) == {"docs/id.md": LEADS_OUT, "docs/out": LEADS_OUT, "docs/up": LEADS_UP}
    followed = find_files(["docs"], tmp_path, follow_links=True)
    assert {file.name for file in followed.files} == {
        *("docs/a.md", "docs/id.md", "docs/in.md", "docs/in/b.md", "docs/out/id.md", "docs/out/key.md"),
    }
    assert followed.skipped == [("docs/up", LEADS_UP)]


@pytest.mark.covers("F10", "fault 100")
def test_a_link_that_is_named_itself_is_followed(tmp_path):
    files_in(tmp_path, "secret/id.md", "secret/deep/key.md")
    (tmp_path / "folder").symlink_to(tmp_path / "secret")
    (tmp_path / "file.md").symlink_to(tmp_path / "secret" / "id.md")
    (tmp_path / "secret" / "again.md").symlink_to(tmp_path / "secret" / "id.md")
    found = find_files(["folder", "file.md"], tmp_path)
    assert {file.name for file in found.files} == {"folder/again.md", "folder/id.md", "folder/deep/key.md", "file.md"}
    assert found.skipped == []


def test_the_name_does_not_depend_on_the_way_to_the_folder(tmp_path):
    files_in(tmp_path, "real/docs/a.md")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for base, given in (("link", "real/docs"), ("real", "link/docs")):
        assert [file.name for file in find_files([tmp_path / given], tmp_path / base).files] == ["docs/a.md"]


def test_a_file_whose_name_is_not_utf_8_is_reported_in_legible_form(tmp_path):
    files_in(tmp_path, "docs/a.md")
    try:
        Path(os.fsdecode(os.fsencode(tmp_path / "docs") + b"/caf\xe9.md")).write_text("text")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    found = find_files(["docs"], tmp_path)
    assert [file.name for file in found.files] == ["docs/a.md"]
    [(name, reason)] = found.failed
    assert name == "docs/caf\ufffd.md"
    assert "not UTF-8" in reason

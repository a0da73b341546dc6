"""Which files an ingest takes in (K2)."""

from __future__ import annotations

from pathlib import Path

from groundgraph.nodes.ingest.find_files import find_files


def files_in(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text")


def test_k2_a_folder_is_read_with_everything_below_sorted_and_without_what_is_hidden(tmp_path):
    files_in(tmp_path, "docs/b.md", "docs/a.txt", "docs/sub/c.RST", "docs/.hidden.md", "docs/.git/d.md")
    found = find_files(["docs"], tmp_path)
    assert [file.name for file in found.files] == ["docs/a.txt", "docs/b.md", "docs/sub/c.RST"]
    assert found.folders == [tmp_path / "docs"]
    assert not found.failed


def test_k2_other_documents_in_a_folder_are_reported_and_other_files_counted(tmp_path):
    files_in(tmp_path, "docs/a.md", "docs/b.pdf", "docs/c.PNG", "docs/d.png", "docs/LICENSE")
    found = find_files(["docs"], tmp_path)
    [(name, reason)] = found.failed
    assert name == "docs/b.pdf"
    assert ".pdf files are not supported; supported: .htm, .html, .markdown, .md" in reason
    assert dict(found.ignored) == {".png": 2, "(no suffix)": 1}


def test_k2_any_file_named_explicitly_that_cannot_be_taken_in_is_a_failure(tmp_path):
    files_in(tmp_path, "a.png", "b")
    found = find_files(["a.png", "b", "missing.md"], tmp_path)
    assert [name for name, _ in found.failed] == ["a.png", "b", "missing.md"]
    assert "no such file" in found.failed[2][1]


def test_k2_a_file_found_twice_is_taken_once_and_its_name_does_not_depend_on_how_it_was_given(tmp_path):
    files_in(tmp_path, "docs/a.md")
    found = find_files(["docs/../docs", tmp_path / "docs", "./docs/a.md"], tmp_path)
    assert [file.name for file in found.files] == ["docs/a.md"]


def test_k2_a_file_outside_of_the_base_folder_has_its_absolute_path_as_name(tmp_path):
    files_in(tmp_path, "other/a.md")
    found = find_files([tmp_path / "other"], tmp_path / "project")
    assert [file.name for file in found.files] == [(tmp_path / "other/a.md").as_posix()]

"""The knowledge files of a source together (C1): any number of categories, read again only when they change."""

from __future__ import annotations

import errno
import logging
import os
import unicodedata
from pathlib import Path

import pytest

from groundgraph.core.errors import ConfigurationError, KnowledgeFileInvalid, SourceUnavailable
from groundgraph.sources.cascade import knowledge as knowledge_module
from groundgraph.sources.cascade.knowledge import KnowledgeFiles
from groundgraph.sources.cascade.read_file import read_file

pytestmark = pytest.mark.covers("C1")


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """The names of the files that are read, in order."""
    names: list[str] = []

    def counted(path: Path):
        names.append(path.name)
        return read_file(path)

    monkeypatch.setattr(knowledge_module, "read_file", counted)
    return names


def ids(files: KnowledgeFiles) -> list[str]:
    return [section.id for section in files.current().sections]


def touch_later(path: Path, text: str) -> None:
    """Writes `text` so that the time of the file differs, whatever the clock of the file system."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text, "utf-8")
    os.utime(path, ns=(before + 1_000_000_000, before + 1_000_000_000))


def test_the_files_of_a_folder_and_of_those_below_it_are_read(shop):
    (shop / "more").mkdir()
    (shop / "more" / "regions.yml").write_text("sections: {north: {facts: x}}")
    (shop / ".hidden.yaml").write_text("no: yaml")
    (shop / "notes.txt").write_text("no yaml either")
    found = KnowledgeFiles([shop]).current()
    assert list(found.categories) == ["faq", "pricing", "regions"]
    assert found.files == 3
    assert found.categories["faq"].sections == 4


def test_any_number_of_categories(write):
    folder = write(**{f"category{number}": f"sections: {{a: {{facts: fact {number}}}}}" for number in range(60)})
    assert len(KnowledgeFiles([folder]).current().categories) == 60


def test_one_category_may_have_several_files_and_each_key_once(write):
    folder = write(
        en="category: faq\nsections: {trial_en: {facts: Two weeks}}",
        ru="category: faq\ntitle: Вопросы\nsections: {trial_ru: {facts: Две недели}}",
    )
    files = KnowledgeFiles([folder])
    assert ids(files) == ["faq/trial_en", "faq/trial_ru"]
    touch_later(folder / "ru.yaml", "category: faq\nsections:\n  trial_en: {facts: Две недели}\n")
    with pytest.raises(KnowledgeFileInvalid) as caught:
        KnowledgeFiles([folder]).current()
    [problem] = caught.value.problems
    assert (problem.file, problem.line, problem.key) == (str(folder / "ru.yaml"), 3, "sections.trial_en")
    assert f"{folder / 'en.yaml'}:2" in problem.message


def test_the_name_of_a_category_is_written_in_one_way(write):
    folder = write(a="category: FAQ\nsections: {x: {facts: y}}", b="category: faq\nsections: {z: {facts: y}}")
    with pytest.raises(KnowledgeFileInvalid, match="writes the category 'faq' as 'FAQ'; use one spelling"):
        KnowledgeFiles([folder]).current()


def test_a_path_may_be_a_file_or_several(shop):
    assert ids(KnowledgeFiles([shop / "pricing.yaml"])) == ["pricing/monthly_rate"]
    assert len(ids(KnowledgeFiles([shop / "pricing.yaml", shop / "faq.yaml"]))) == 5


def test_nothing_is_read_again_while_no_file_changes(shop, reads):
    files = KnowledgeFiles([shop])
    first = files.current()
    assert reads == ["faq.yaml", "pricing.yaml"]
    assert files.current() is first
    assert reads == ["faq.yaml", "pricing.yaml"]


def test_only_a_changed_file_is_read_again(shop, reads):
    files = KnowledgeFiles([shop])
    files.current()
    reads.clear()
    touch_later(shop / "faq.yaml", "sections: {new: {facts: A new fact}}")
    assert ids(files) == ["faq/new", "pricing/monthly_rate"]
    assert reads == ["faq.yaml"]


def test_new_and_removed_files_are_noticed(shop):
    files = KnowledgeFiles([shop])
    files.current()
    (shop / "regions.yaml").write_text("sections: {north: {facts: x}}")
    assert "regions/north" in ids(files)
    (shop / "faq.yaml").unlink()
    assert ids(files) == ["pricing/monthly_rate", "regions/north"]


def test_a_section_that_becomes_sensitive_is_gone_with_the_next_question(shop):
    files = KnowledgeFiles([shop / "faq.yaml"])
    assert "faq/trial" in ids(files)
    text = (shop / "faq.yaml").read_text("utf-8")
    touch_later(shop / "faq.yaml", text.replace("    keywords: [free]\n", "    sensitive: true\n"))
    assert "faq/trial" not in ids(files)


def test_a_file_that_an_edit_broke_leaves_the_last_good_state_and_says_so(shop, caplog):
    files = KnowledgeFiles([shop])
    before = ids(files)
    touch_later(shop / "faq.yaml", "sections:\n  a: {facts: x, priorty: 1}\n")
    with caplog.at_level(logging.WARNING, "groundgraph"):
        assert ids(files) == before
    stale = files.current().stale
    assert stale == "faq.yaml, line 2, is wrong", "a reader of the answer need not know where the files are"
    assert ": sections.a.priorty: is not a known key. Did you mean 'priority'?" in caplog.text
    touch_later(shop / "faq.yaml", "sections: {a: {facts: x}}")
    assert ids(files) == ["faq/a", "pricing/monthly_rate"]
    assert files.current().stale == ""


def test_a_section_that_becomes_sensitive_is_gone_although_another_file_is_broken(shop):
    files = KnowledgeFiles([shop])
    before = files.current().categories["faq"].sections
    text = (shop / "faq.yaml").read_text("utf-8")
    touch_later(shop / "faq.yaml", text.replace("    keywords: [free]\n", "    sensitive: true\n"))
    touch_later(shop / "pricing.yaml", "sections: [")
    assert "faq/trial" not in ids(files)
    assert "pricing/monthly_rate" in ids(files), "the last good state of the rest stays"
    assert files.current().categories["faq"].sections == before - 1
    touch_later(shop / "faq.yaml", "sections: {only: {facts: x, sensitive: true}}")
    assert "faq/trial" not in ids(files)


def test_a_category_of_which_all_is_hidden_is_not_listed_although_another_file_is_broken(write):
    folder = write(a="sections: {x: {facts: y}}", b="sections: {x: {facts: y}}")
    files = KnowledgeFiles([folder])
    files.current()
    touch_later(folder / "a.yaml", "sections: {x: {facts: y, sensitive: true}}")
    touch_later(folder / "b.yaml", "sections: [")
    assert list(files.current().categories) == ["b"]


def test_what_is_wrong_with_a_sensitive_section_is_not_told_to_readers(shop):
    files = KnowledgeFiles([shop])
    files.current()
    secret = "sections:\n  boss_pay: {facts: x, sensitive: true, urls: ['intranet/?pw=4711']}\n"
    touch_later(shop / "faq.yaml", secret)
    assert files.current().stale == "faq.yaml, line 2, is wrong"


def test_two_sections_never_have_one_id(write):
    folder = write(a="category: a/b\nsections: {c: {facts: x}}", b="category: a\nsections: {b/c: {facts: x}}")
    with pytest.raises(KnowledgeFileInvalid, match="has a section of this key already"):
        KnowledgeFiles([folder]).current()


def test_the_name_of_a_file_makes_a_category_that_can_be_asked_for(tmp_path):
    (tmp_path / f"{unicodedata.normalize('NFD', 'акций')}.yaml").write_text("sections: {x: {facts: y}}")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.yaml")).write_text("sections: {x: {facts: y}}")
    assert set(KnowledgeFiles([tmp_path]).current().categories) == {"акций", "\ufffd"}


def test_what_is_no_file_is_told_and_never_waited_for(shop):
    os.mkfifo(shop / "pipe.yaml")
    (shop / "endless.yaml").symlink_to("/dev/zero")
    (shop / "round.yaml").symlink_to(shop / "round.yaml")
    (shop / "gone.yaml").symlink_to(shop / "nothing.yaml")
    with pytest.raises(KnowledgeFileInvalid) as caught:
        KnowledgeFiles([shop]).current()
    told = {Path(problem.file).stem: problem.message for problem in caught.value.problems}
    assert set(told) == {"pipe", "endless", "round", "gone"}
    assert told["gone"] == "cannot be read: No such file or directory", "a link is not removed with what it leads to"
    assert told["pipe"] == told["endless"] == "is no regular file"
    assert "symbolic links" in told["round"]


@pytest.fixture
def unreadable(monkeypatch):
    """The folders that cannot be listed, by error number: the user of a test may be allowed everything."""
    errors: dict[Path, int] = {}
    scandir = os.scandir

    def refusing(path):
        # pytest, which clears away, lists an open folder by its number.
        if not isinstance(path, int) and (number := errors.get(Path(path))):
            raise OSError(number, os.strerror(number), str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    return errors


@pytest.mark.covers("fault 34")
@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE])
def test_a_folder_below_that_cannot_be_read_is_a_typed_error_that_names_it(shop, unreadable, number):
    (shop / "more").mkdir()
    unreadable[shop / "more"] = number
    for _ in range(2):
        with pytest.raises(KnowledgeFileInvalid) as caught:
            KnowledgeFiles([shop]).current()
        [problem] = caught.value.problems
        assert problem.file == str(shop / "more")
        assert problem.message == f"the folder cannot be read: {os.strerror(number)}"
    del unreadable[shop / "more"]
    assert "pricing/monthly_rate" in ids(KnowledgeFiles([shop]))


@pytest.mark.covers("fault 34")
def test_a_folder_that_cannot_be_read_any_more_leaves_the_last_good_state_and_says_so(shop, unreadable):
    (shop / "more").mkdir()
    (shop / "more" / "regions.yaml").write_text("sections: {north: {facts: x}}")
    files = KnowledgeFiles([shop])
    before = ids(files)
    unreadable[shop / "more"] = errno.EACCES
    assert ids(files) == before
    assert files.current().stale == "the folder more cannot be read"
    unreadable.clear()
    assert ids(files) == before
    assert files.current().stale == ""


@pytest.mark.covers("fault 34")
def test_a_folder_that_is_removed_while_it_is_looked_for_is_no_failure(shop, unreadable):
    (shop / "more").mkdir()
    unreadable[shop / "more"] = errno.ENOENT
    assert "pricing/monthly_rate" in ids(KnowledgeFiles([shop]))


@pytest.mark.covers("fault 34")
def test_the_given_folder_may_be_the_one_that_cannot_be_read(shop, unreadable, tmp_path):
    unreadable[shop] = errno.EACCES
    with pytest.raises(KnowledgeFileInvalid, match="the folder cannot be read: Permission denied"):
        KnowledgeFiles([shop]).current()
    (tmp_path / "round").symlink_to(tmp_path / "round")
    for path in (tmp_path / "round", tmp_path / ("long" * 100)):
        with pytest.raises(SourceUnavailable, match="cannot be looked at"):
            KnowledgeFiles([path]).current()


def test_a_file_that_was_never_right_is_an_error_with_every_problem(write):
    files = KnowledgeFiles([write(a="sections: {x: {facts: []}}", b="sections: 3")])
    for _ in range(2):
        with pytest.raises(KnowledgeFileInvalid) as caught:
            files.current()
        assert [Path(problem.file).name for problem in caught.value.problems] == ["a.yaml", "b.yaml"]
    assert isinstance(caught.value, ConfigurationError)


@pytest.mark.covers("fault 34")
def test_a_path_that_is_not_there_and_a_folder_without_files_are_typed_errors(tmp_path):
    with pytest.raises(SourceUnavailable, match="There is no file or folder"):
        KnowledgeFiles([tmp_path / "nowhere"]).current()
    with pytest.raises(SourceUnavailable, match="no knowledge file"):
        KnowledgeFiles([tmp_path]).current()


@pytest.mark.covers("fault 34")
def test_a_source_whose_files_come_later_is_well_again(tmp_path):
    files = KnowledgeFiles([tmp_path])
    with pytest.raises(SourceUnavailable):
        files.current()
    (tmp_path / "a.yaml").write_text("sections: {x: {facts: y}}")
    assert ids(files) == ["a/x"]

"""Folders: what counts as a file of theirs, and what a change of it asks an ingest to do."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.errors import FolderUnavailable
from worker.sources import Plan, SourceFile, content_hash, list_files, plan


@dataclass(frozen=True)
class Known:
    """A stored document, as far as a plan looks at it."""

    content_hash: str
    size: int = 1
    modified_ns: int = 1


def names(folder: Path) -> list[str]:
    return [file.name for file in list_files(folder)]


def write(path: Path, content: str = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


# --- listing -----------------------------------------------------------------------------------


def test_files_are_named_by_their_path_below_the_folder(tmp_path):
    write(tmp_path / "b" / "c.txt", "hello")
    write(tmp_path / "a.md")
    write(tmp_path / "picture.png")
    first, second, third = list_files(tmp_path)
    assert [first.name, second.name, third.name] == ["a.md", "b/c.txt", "picture.png"]
    assert (second.size, second.path) == (5, (tmp_path / "b" / "c.txt").resolve())
    assert second.modified_ns == second.path.stat().st_mtime_ns


def test_hidden_and_temporary_files_are_left_out(tmp_path):
    for name in (".DS_Store", "~$report.docx", "Thumbs.db", "draft.txt~", "a.tmp", ".git/config", "kept.txt"):
        write(tmp_path / name)
    assert names(tmp_path) == ["kept.txt"]


def test_links_are_followed_inside_the_folder_and_never_out_of_it(tmp_path):
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    write(folder / "real.txt")
    write(outside / "secret.txt")
    (folder / "inside.txt").symlink_to(folder / "real.txt")
    (folder / "leak.txt").symlink_to(outside / "secret.txt")
    (folder / "leaks").symlink_to(outside, target_is_directory=True)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "broken.txt").symlink_to(folder / "missing.txt")
    assert names(folder) == ["inside.txt", "real.txt"]


def test_what_is_no_regular_file_is_left_out(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    assert names(tmp_path) == []


def test_a_name_that_is_no_unicode_becomes_one_that_can_be_shown(tmp_path):
    with open(os.fsencode(tmp_path) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"text")
    (listed,) = list_files(tmp_path)
    assert listed.name == "caf\\xe9.txt"
    assert content_hash(listed.path) == hashlib.sha256(b"text").hexdigest()


def test_a_name_that_would_break_or_reorder_a_line_is_made_visible(tmp_path):
    write(tmp_path / "a\nb\u202etxt.pdf")
    write(tmp_path / "résumé of “Ann”.txt")
    assert names(tmp_path) == ["a\\nb\\u202etxt.pdf", "résumé of “Ann”.txt"]


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_folder_that_is_missing_or_none_is_unavailable(tmp_path, kind):
    write(tmp_path / "file")
    with pytest.raises(FolderUnavailable, match="check the path and the mount"):
        list_files(tmp_path / kind)


def test_a_hash_is_that_of_the_bytes(tmp_path):
    path = write(tmp_path / "a.txt", "x" * 1_000_000)
    assert content_hash(path) == hashlib.sha256(b"x" * 1_000_000).hexdigest()


# --- planning ----------------------------------------------------------------------------------


def file(name: str, *, size: int = 1, modified_ns: int = 1) -> SourceFile:
    return SourceFile(name, Path(name), size, modified_ns)


def hash_by(contents: dict[str, str]):
    return lambda path: contents[str(path)]


def test_a_file_of_known_size_and_time_is_unchanged_without_being_opened():
    def never(path: Path) -> str:
        raise AssertionError(path)

    result = plan([file("a")], {"a": Known("1")}, hash_file=never)
    assert result == Plan(unchanged=[file("a")])


def test_a_new_time_alone_changes_nothing_but_the_time():
    result = plan([file("a", modified_ns=2)], {"a": Known("1")}, hash_file=hash_by({"a": "1"}))
    assert [change.file.name for change in result.touched] == ["a"]
    assert (result.change, result.remove) == ([], [])


def test_new_changed_and_removed_files_are_told_apart():
    stored = {"kept": Known("1"), "edited": Known("2"), "gone": Known("3")}
    files = [file("kept"), file("edited", size=2), file("new")]
    result = plan(files, stored, hash_file=hash_by({"edited": "4", "new": "5"}))
    assert [change.file.name for change in result.add] == ["new"]
    assert [(change.file.name, change.content_hash) for change in result.change] == [("edited", "4")]
    assert (result.remove, [one.name for one in result.unchanged]) == (["gone"], ["kept"])


def test_a_renamed_file_is_recognised_by_its_bytes():
    result = plan([file("new")], {"old": Known("1")}, hash_file=hash_by({"new": "1"}))
    assert [(one.old_name, one.file.name) for one in result.renamed] == [("old", "new")]
    assert (result.add, result.remove) == ([], [])


def test_a_copy_of_a_document_that_stays_is_new():
    result = plan([file("a"), file("copy")], {"a": Known("1")}, hash_file=hash_by({"copy": "1"}))
    assert [change.file.name for change in result.add] == ["copy"]


def test_one_vanished_document_is_renamed_once():
    result = plan([file("b"), file("c")], {"a": Known("1")}, hash_file=hash_by({"b": "1", "c": "1"}))
    assert [one.file.name for one in result.renamed] == ["b"]
    assert [one.file.name for one in result.add] == ["c"]


def test_a_file_that_cannot_be_opened_is_reported_and_not_removed():
    def denied(path: Path) -> str:
        raise PermissionError(13, "Permission denied")

    result = plan([file("a", size=2)], {"a": Known("1")}, hash_file=denied)
    assert [(one.file.name, one.reason) for one in result.unreadable] == [
        ("a", "cannot be opened: Permission denied")
    ]
    assert result.remove == []


NAMES = st.sampled_from("abcdef")
FILES = st.dictionaries(NAMES, st.tuples(st.sampled_from("123"), st.integers(1, 2), st.integers(1, 2)))


@given(folder=FILES, stored=FILES)
def test_every_file_and_every_stored_name_is_in_exactly_one_list(folder, stored):
    known = {name: Known(*values) for name, values in stored.items()}
    files = [file(name, size=size, modified_ns=time) for name, (_, size, time) in folder.items()]
    result = plan(files, known, hash_file=hash_by({name: values[0] for name, values in folder.items()}))
    listed = [one.name for one in result.unchanged] + [
        one.file.name for group in (result.add, result.change, result.renamed, result.touched) for one in group
    ]
    assert sorted(listed) == sorted(folder)
    assert sorted(result.remove + [one.old_name for one in result.renamed]) == sorted(set(stored) - set(folder))

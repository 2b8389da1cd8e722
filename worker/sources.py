"""A folder of files, compared with what is stored, becomes a plan: what to add, change and remove."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from worker.errors import FolderUnavailable

# Files that programs leave behind: nobody wrote them, nobody asks about them.
_TEMPORARY_NAMES = {"thumbs.db", "desktop.ini"}
_TEMPORARY_STARTS = (".", "~$", "~")
_TEMPORARY_ENDS = ("~", ".tmp", ".bak", ".swp", ".part", ".crdownload")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a folder."""

    name: str
    """Its path below the folder, with forward slashes: the document's name."""
    path: Path
    size: int
    modified_ns: int


class Stored(Protocol):
    """What a plan needs to know of a stored document."""

    @property
    def content_hash(self) -> str:
        """SHA-256 of the file's bytes, as hex."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def modified_ns(self) -> int:
        """Nanoseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file to read, with the hash of its bytes as they were when the plan was made."""

    file: SourceFile
    content_hash: str


@dataclass(frozen=True, slots=True)
class Rename:
    """A file whose bytes are already stored under a name that the folder has no longer."""

    file: SourceFile
    content_hash: str
    old_name: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that is there and cannot be read: what is stored of it stays."""

    file: SourceFile
    reason: str


@dataclass(slots=True)
class Plan:
    """What one ingest has to do; every listed file and every stored name is in exactly one of these."""

    add: list[Change] = field(default_factory=list)
    change: list[Change] = field(default_factory=list)
    renamed: list[Rename] = field(default_factory=list)
    remove: list[str] = field(default_factory=list)
    """Names of stored documents that the folder has no longer."""
    unchanged: list[SourceFile] = field(default_factory=list)
    touched: list[Change] = field(default_factory=list)
    """Same bytes under a new time: store the new time, and the next night needs no hash."""
    unreadable: list[Unreadable] = field(default_factory=list)


def list_files(folder: Path) -> list[SourceFile]:
    """Return the folder's files, sorted by name, also those of formats that cannot be read.

    Hidden and temporary files are left out, and so are symbolic links that lead out of the folder and what is
    no regular file. Raises FolderUnavailable where the folder or one below it cannot be listed: a file that
    was not seen must not be taken for a file that was removed.
    """
    root = Path(os.path.realpath(folder))
    if not root.is_dir():
        raise FolderUnavailable(f"the folder {folder} is missing or is no folder; check the path and the mount")
    files = (_source_file(root, entry) for entry in _entries(root, root))
    return sorted((file for file in files if file), key=lambda file: file.name)


def _entries(folder: Path, root: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise FolderUnavailable(
            f"the folder {folder} cannot be listed ({error.strerror}); check its rights"
        ) from error
    for entry in entries:
        if not _is_temporary(entry.name) and (not entry.is_symlink() or _stays_inside(entry, root)):
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(Path(entry.path), root)
            elif entry.is_file():
                yield entry


def _is_temporary(name: str) -> bool:
    lower = name.lower()
    return lower in _TEMPORARY_NAMES or lower.startswith(_TEMPORARY_STARTS) or lower.endswith(_TEMPORARY_ENDS)


def _stays_inside(entry: os.DirEntry[str], root: Path) -> bool:
    return Path(os.path.realpath(entry.path)).is_relative_to(root)


def _source_file(root: Path, entry: os.DirEntry[str]) -> SourceFile | None:
    try:
        status = entry.stat()
    except OSError:  # removed since it was listed
        return None
    name = str(PurePosixPath(Path(entry.path).relative_to(root)))
    return SourceFile(_visible(name), Path(entry.path), status.st_size, status.st_mtime_ns)


def _visible(name: str) -> str:
    """Return the name with everything visible that could break a line, reorder it or not be encoded at all."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in name)


def content_hash(path: Path) -> str:
    """Return the SHA-256 of the file's bytes, as hex, read in pieces. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def plan(
    files: Iterable[SourceFile],
    stored: Mapping[str, Stored],
    *,
    hash_file: Callable[[Path], str] = content_hash,
) -> Plan:
    """Return what has to be done so that what is stored equals the folder.

    Two gates: a file whose size and time are as stored is unchanged without being opened; of the others the
    hash decides. A new file with the bytes of a document that has gone is a rename.
    """
    result = Plan()
    gone = dict(stored)
    for file in files:
        known = gone.pop(file.name, None)
        if known and (known.size, known.modified_ns) == (file.size, file.modified_ns):
            result.unchanged.append(file)
        else:
            _compare(result, file, known, hash_file)
    _find_renames(result, gone)
    result.remove = sorted(gone)
    return result


def _compare(result: Plan, file: SourceFile, known: Stored | None, hash_file: Callable[[Path], str]) -> None:
    try:
        change = Change(file, hash_file(file.path))
    except OSError as error:
        result.unreadable.append(Unreadable(file, f"cannot be opened: {error.strerror or 'input/output error'}"))
        return
    if known is None:
        result.add.append(change)
    elif known.content_hash == change.content_hash:
        result.touched.append(change)
    else:
        result.change.append(change)


def _find_renames(result: Plan, gone: dict[str, Stored]) -> None:
    """Turn additions into renames; takes the old names out of `gone`.

    Another ending makes another document of the same bytes: it is read in another way.
    """
    names = {(one.content_hash, _ending(name)): name for name, one in sorted(gone.items(), reverse=True)}
    added, result.add = result.add, []
    for change in added:
        old_name = names.pop((change.content_hash, _ending(change.file.name)), None)
        if old_name is None:
            result.add.append(change)
        else:
            result.renamed.append(Rename(change.file, change.content_hash, old_name))
            del gone[old_name]


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()

"""Zip-based files are looked at before any library unpacks them."""

from __future__ import annotations

import io
import zipfile
import zlib

from worker.documents.limits import Limits
from worker.errors import DocumentRefused

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_FLAG = 0x1
_MAX_PARTS = 20_000


def open_archive(data: bytes, limits: Limits) -> zipfile.ZipFile:
    """Return the archive; its parts are only ever read by name, never written to a disk.

    Raises DocumentRefused where it is none, is encrypted, or would unpack to more than `max_unpacked_bytes`.
    """
    if data.startswith(_OLE):
        raise DocumentRefused("is encrypted, or in an old format under a new name; save it anew without a password")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise DocumentRefused("is damaged: not the zip archive that its type should be") from error
    parts = archive.infolist()
    if any(part.flag_bits & _ENCRYPTED_FLAG for part in parts):
        raise DocumentRefused("is encrypted; save it without a password")
    if len(parts) > _MAX_PARTS or sum(part.file_size for part in parts) > limits.max_unpacked_bytes:
        raise DocumentRefused(f"unpacks to more than {limits.max_unpacked_bytes:,} bytes; it may be a zip bomb")
    return archive


def read_part(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return one part's bytes. Raises DocumentRefused where it is missing or damaged."""
    try:
        return archive.read(name)
    # zipfile's RuntimeError means: encrypted, or packed in a way that it does not know.
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise DocumentRefused(f"is damaged: its part {name!r} cannot be read") from error

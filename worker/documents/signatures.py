"""What a file is by its bytes, whatever its name says."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable

import olefile

from worker.errors import DocumentRefused

# A part that tells the format of a zip archive, a stream that tells that of an OLE file.
_ZIP_PARTS = (
    ("word/document.xml", ".docx"),
    ("xl/workbook.xml", ".xlsx"),
    ("ppt/presentation.xml", ".pptx"),
)
_OLE_STREAMS = (
    ("__properties_version1.0", ".msg"),
    ("WordDocument", ".doc"),
    ("Workbook", ".xls"),
    ("Book", ".xls"),
    ("PowerPoint Document", ".ppt"),
)
_MIME_TYPES = {
    "application/epub+zip": ".epub",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
}
_WEB_PAGE = (b"<!doctype html", b"<html", b"<table", b"<head", b"<body")
# Formats that are never text: what is text under their name came from a program that exports under a wrong one.
_BINARY = {".doc", ".docx", ".xls", ".xlsx", ".xlsm", ".ppt", ".pptx", ".pdf", ""}
_TABLES = {".xls", ".xlsx", ".xlsm"}
_SAMPLE = 4096


def format_of(data: bytes, suffix: str) -> str:
    """Return the suffix of the format that the bytes are in, `suffix` itself where they do not tell.

    Raises DocumentRefused for an office file that a password protects.
    """
    start = data[:_SAMPLE].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(b"%pdf-"):
        return ".pdf"
    if start.startswith(b"{\\rtf"):
        return ".rtf"
    if data.startswith(b"PK\x03\x04"):
        return _zipped(data) or suffix
    if data.startswith(olefile.MAGIC):
        return _ole(data) or suffix
    if suffix in _BINARY and start.startswith(_WEB_PAGE):
        return ".html"
    if suffix in _TABLES and _is_delimited(start):
        return ".csv"
    return suffix


def _is_delimited(start: bytes) -> bool:
    line = start.partition(b"\n")[0]
    return b"\0" not in start and not start.startswith(b"<") and any(sign in line for sign in (b"\t", b";", b","))


def _zipped(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            with_type = archive.open("mimetype").read(100) if "mimetype" in names else b""
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError):
        return ""  # the reader says what is wrong with it
    kind = _MIME_TYPES.get(with_type.decode("ascii", "replace").strip().removesuffix("-template"), "")
    return kind or _first(_ZIP_PARTS, names)


def _ole(data: bytes) -> str:
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            names = {entry[0] for entry in file.listdir()}
    except (OSError, ValueError, TypeError, IndexError):
        return ""
    if "EncryptedPackage" in names:
        raise DocumentRefused("is encrypted; save it without a password")
    return _first(_OLE_STREAMS, names)


def _first(markers: Iterable[tuple[str, str]], names: Iterable[str]) -> str:
    found = set(names)
    return next((kind for marker, kind in markers if marker in found), "")

"""One file becomes one Document in this process: the reader is chosen by the file's content and name."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from worker.documents.blocks import assemble
from worker.documents.books import read_epub
from worker.documents.delimited import read_csv
from worker.documents.jsonfiles import read_json, read_jsonl
from worker.documents.limits import Limits
from worker.documents.mail import read_eml, read_mht, read_msg
from worker.documents.markdown import read_markdown
from worker.documents.markup import read_html
from worker.documents.nesting import Container, Reader, guarded
from worker.documents.opendocument import read_odt
from worker.documents.pdf import read_pdf
from worker.documents.richtext import read_rtf
from worker.documents.sheets import read_calamine, read_xlsx
from worker.documents.signatures import format_of
from worker.documents.slides import read_pptx
from worker.documents.text import read_text
from worker.documents.word import read_docx
from worker.errors import DocumentRefused, NothingToIndex
from worker.records import Document

FORMATS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        ".txt": read_text,
        ".text": read_text,
        ".md": read_markdown,
        ".markdown": read_markdown,
        ".html": read_html,
        ".htm": read_html,
        ".xhtml": read_html,
        ".pdf": read_pdf,
        ".docx": read_docx,
        ".docm": read_docx,
        ".dotx": read_docx,
        ".dotm": read_docx,
        ".xlsx": read_xlsx,
        ".xlsm": read_xlsx,
        ".xltx": read_xlsx,
        ".xltm": read_xlsx,
        ".xls": read_calamine,
        ".ods": read_calamine,
        ".csv": read_csv,
        ".tsv": read_csv,
        ".pptx": read_pptx,
        ".pptm": read_pptx,
        ".ppsx": read_pptx,
        ".ppsm": read_pptx,
        ".potx": read_pptx,
        ".eml": read_eml,
        ".mht": read_mht,
        ".mhtml": read_mht,
        ".msg": read_msg,
        ".rtf": read_rtf,
        ".odt": read_odt,
        ".ott": read_odt,
        ".odp": read_odt,
        ".epub": read_epub,
        ".json": read_json,
        ".jsonl": read_jsonl,
        ".ndjson": read_jsonl,
    }
)
_CONVERT: Final = {
    ".doc": ".docx or .pdf",
    ".dot": ".docx or .pdf",
    ".fodt": ".odt or .pdf",
    ".mbox": "one .eml a message",
    ".ppt": ".pptx or .pdf",
    ".xlsb": ".xlsx",
    ".pages": ".docx or .pdf",
    ".numbers": ".xlsx",
    ".wpd": ".docx or .pdf",
}


def read_document(path: Path, *, limits: Limits | None = None) -> Document:
    """Return what the file holds: its text with a place for every part of it.

    limits: what reading may cost; time and memory are kept by `read_isolated` alone. Raises NothingToIndex where
    there is no text, DocumentRefused for everything else; both say why, for the ingest report. What was lost of a
    file that could be read otherwise is in the document's `warnings`.
    """
    limits = limits or Limits()
    data = _bytes(path, limits)
    container = Container(limits, choose)
    try:
        blocks = guarded(choose(path.name, data), data, container)
        return assemble(blocks, limits=limits, losses=container.losses)
    except MemoryError as error:
        raise DocumentRefused("needs more memory to read than the limit allows; split the file") from error


def choose(name: str, data: bytes) -> Reader:
    """Return the reader for a file. Raises NothingToIndex for an empty one, DocumentRefused for an unknown format."""
    if not data.strip():
        raise NothingToIndex("is empty")
    suffix = format_of(data, os.path.splitext(name)[1].lower())
    if suffix in FORMATS:
        return FORMATS[suffix]
    if suffix in _CONVERT:
        raise DocumentRefused(f"unsupported old format {suffix}: open it and save it as {_CONVERT[suffix]}")
    raise DocumentRefused(f"unsupported format: {suffix or 'no suffix'}; convert it to .pdf, .docx or .txt")


def _bytes(path: Path, limits: Limits) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DocumentRefused("is not a regular file")
        if status.st_size > limits.max_bytes:
            raise DocumentRefused(f"is larger than {limits.max_bytes:,} bytes; split it or raise the limit")
        return path.read_bytes()
    except OSError as error:
        raise DocumentRefused(f"cannot be opened: {error.strerror or 'input/output error'}") from error

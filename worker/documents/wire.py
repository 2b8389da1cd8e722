"""A Document, or why there is none, as one line of JSON between the reading process and the worker."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from worker.documents.limits import Limits
from worker.errors import DocumentError, DocumentRefused, NothingToIndex
from worker.records import Document, Section

READY: Final = b"ready\n"
"""The child's first line."""
_ERRORS: dict[str, type[DocumentError]] = {"refused": DocumentRefused, "nothing": NothingToIndex}


def encode_request(path: Path, limits: Limits) -> bytes:
    """Return the line that asks for one file."""
    return _line({"path": str(path), "limits": asdict(limits)})


def decode_request(line: bytes) -> tuple[Path, Limits]:
    """Return what `encode_request` was given."""
    request = json.loads(line)
    return Path(request["path"]), Limits(**request["limits"])


def encode_document(document: Document) -> bytes:
    """Return the line that answers with a document."""
    sections = [[one.start, one.end, one.page, one.heading, one.kind, one.location] for one in document.sections]
    answer = {"text": document.text, "title": document.title, "sections": sections, "warnings": document.warnings}
    return _line(answer)


def encode_error(error: DocumentError) -> bytes:
    """Return the line that answers with a reason."""
    kind = "nothing" if isinstance(error, NothingToIndex) else "refused"
    return _line({"error": kind, "reason": error.reason})


def decode_answer(line: bytes) -> Document:
    """Return the document, or raise the DocumentError that the reading process raised."""
    answer = json.loads(line)
    if "error" in answer:
        raise _ERRORS[answer["error"]](answer["reason"])
    sections = (
        Section(start, end, page, tuple(heading), kind, location)
        for start, end, page, heading, kind, location in answer["sections"]
    )
    return Document(answer["text"], tuple(sections), answer["title"], tuple(answer["warnings"]))


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"

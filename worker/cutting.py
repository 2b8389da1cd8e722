"""A file or a stored document in; its chunks, and what is known of it, out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from worker.chunking import VERSION, chunk_document
from worker.documents import read_isolated
from worker.errors import DocumentError, NothingToIndex
from worker.pipeline import Reading
from worker.records import Chunk, Document, Section
from worker.stored import DocumentInfo


class Cutter:
    """Cuts documents to what an embedder takes.

    count_tokens, max_tokens: as in `chunking.chunk_document`.
    """

    def __init__(self, count_tokens: Callable[[str], int], max_tokens: int) -> None:
        self._count = count_tokens
        self._max = max_tokens
        self.name = f"{VERSION}-{max_tokens}"

    def file(self, path: Path, info: DocumentInfo) -> Reading:
        """Return what a file holds now, be it nothing: then the reason says why."""
        try:
            document = read_isolated(path)
            chunks = self._cut(document)
            if not chunks:
                raise NothingToIndex("it holds no text")
        except DocumentError as error:
            state: Literal["empty", "refused"] = "empty" if isinstance(error, NothingToIndex) else "refused"
            return Reading(replace(info, state=state, reason=error.reason, ingested_at=time.time()))
        partly = "; ".join(document.warnings)
        return Reading(replace(info, chunks=len(chunks), reason=partly, ingested_at=time.time()), chunks)

    def again(self, stored: Iterable[Chunk], info: DocumentInfo) -> Reading:
        """Return a document whose file is not at hand, out of its stored chunks; those that are too long are cut."""
        chunks = [piece for chunk in stored for piece in self._pieces(chunk)]
        return Reading(replace(info, chunks=len(chunks)), chunks)

    def _cut(self, document: Document) -> list[Chunk]:
        return chunk_document(document, count_tokens=self._count, max_tokens=self._max)

    def _pieces(self, chunk: Chunk) -> list[Chunk]:
        if self._count(chunk.embedded_text) <= self._max:
            return [chunk]
        section = Section(0, len(chunk.text), chunk.page, chunk.heading, location=chunk.location)
        pieces = self._cut(Document(chunk.text, (section,)))
        return [replace(piece, start=chunk.start + piece.start, end=chunk.start + piece.end) for piece in pieces]

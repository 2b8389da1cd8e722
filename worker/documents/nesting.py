"""Files inside files: attachments of mails and PDFs, and what Word files embed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from worker.documents.blocks import Block, ordered
from worker.documents.limits import Limits
from worker.errors import DocumentError, DocumentRefused

Reader = Callable[[bytes, "Container"], Iterator[Block]]
"""Turns a file's bytes into blocks; `Container` gives the limits and reads the files inside."""


@dataclass(frozen=True, slots=True)
class Container:
    """The file that is being read, as its reader sees it."""

    limits: Limits
    choose: Callable[[str, bytes], Reader]
    """Returns the reader for a name and bytes. Raises DocumentRefused for what no reader takes."""
    depth: int = 0
    losses: list[str] = field(default_factory=list)
    """What of the file could not be read while the rest could, for the ingest report; never its text."""

    def inside(self, name: str, data: bytes) -> Iterator[Block]:
        """Yield the blocks of an embedded file; one that cannot be read is a loss, the rest goes on."""
        inner = replace(self, depth=self.depth + 1, losses=[])
        try:
            if inner.depth > self.limits.max_depth:
                raise DocumentRefused("files inside files are nested too deeply")
            if len(data) > self.limits.max_bytes:
                raise DocumentRefused(f"is larger than {self.limits.max_bytes:,} bytes")
            yield from ordered(guarded(self.choose(name, data), data, inner), inner.losses)
        except DocumentError as error:
            inner.losses.append(f"left out, {error.reason}")
        self.losses.extend(f'"{" ".join(name.split())}" inside it: {loss}' for loss in inner.losses)

    def attachments(self, files: Iterator[tuple[str, bytes]]) -> Iterator[Block]:
        """Yield the blocks of attached files, each located by its name."""
        for count, (name, data) in enumerate(files):
            if count >= self.limits.max_attachments:
                self.losses.append(f"more than {self.limits.max_attachments} attachments: the others were left out")
                return
            for block in self.inside(name, data):
                where = f'attachment "{" ".join(name.split())}"'
                yield replace(block, page=None, location=f"{where}, {_place(block)}".rstrip(", "))


def guarded(reader: Reader, data: bytes, container: Container) -> Iterator[Block]:
    """Yield what the reader yields; whatever a parser raises on a damaged file becomes DocumentRefused."""
    try:
        yield from reader(data, container)
    except (DocumentError, MemoryError):
        raise
    except RecursionError as error:
        raise DocumentRefused("is nested too deeply to be read") from error
    except Exception as error:  # parsers raise anything at all
        raise DocumentRefused(f"is damaged: reading it failed ({type(error).__name__})") from error


def _place(block: Block) -> str:
    return block.location or (f"page {block.page}" if block.page else "")

"""Files inside files: attachments of mails and PDFs, and what Word files embed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from worker.documents.blocks import Block
from worker.documents.limits import Limits
from worker.errors import DocumentError

Reader = Callable[[bytes, "Container"], Iterator[Block]]
"""Turns a file's bytes into blocks; `Container` gives the limits and reads the files inside."""


@dataclass(frozen=True, slots=True)
class Container:
    """The file that is being read, as its reader sees it."""

    limits: Limits
    choose: Callable[[str, bytes], Reader]
    """Returns the reader for a name and bytes. Raises DocumentRefused for what no reader takes."""
    depth: int = 0

    def inside(self, name: str, data: bytes) -> Iterator[Block]:
        """Yield the blocks of an embedded file; one that cannot be read is left out, the rest goes on."""
        if self.depth >= self.limits.max_depth or len(data) > self.limits.max_bytes:
            return
        try:
            reader = self.choose(name, data)
            yield from reader(data, replace(self, depth=self.depth + 1))
        except DocumentError:
            return

    def attachments(self, files: Iterator[tuple[str, bytes]]) -> Iterator[Block]:
        """Yield the blocks of attached files, each located by its name."""
        for count, (name, data) in enumerate(files):
            if count >= self.limits.max_attachments:
                return
            for block in self.inside(name, data):
                where = f'attachment "{" ".join(name.split())}"'
                yield replace(block, page=None, location=f"{where}, {_place(block)}".rstrip(", "))


def _place(block: Block) -> str:
    return block.location or (f"page {block.page}" if block.page else "")

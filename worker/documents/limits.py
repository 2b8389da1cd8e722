"""What one file may cost: a file beyond any of these is refused, whatever its format."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings for reading one file; the defaults leave room for a 5,000-page PDF."""

    max_bytes: int = 256 * MIB
    """The size of the file itself."""
    max_unpacked_bytes: int = 512 * MIB
    """The sum of the parts of a zip-based file, unpacked: what a zip bomb exceeds."""
    max_loaded_bytes: int = 16 * MIB
    """A workbook of more, unpacked, is read row by row: in memory it takes 50 times that. Merged cells are lost."""
    max_pages: int = 5_000
    max_characters: int = 20_000_000
    """The text of one document: about 7,000 dense pages."""
    max_attachments: int = 100
    max_depth: int = 3
    """How deep files inside files are followed: a PDF attached to a mail attached to a mail."""
    seconds: float = 120.0
    """Wall time; only `read_isolated` can keep it."""
    memory_bytes: int = 2048 * MIB
    """Address space of the reading process; only `read_isolated` can keep it, and only on Linux."""

"""What binds each cell of the tables in a plain text: the label of its row and the header of its column.

A header stands above its column, or in the cell itself: readers of documents write a row as `2023: 1,284 | 2022: 7`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SEPARATOR = re.compile(r"[ ]*\|[ ]*|\t+")
_RULE = re.compile(r"[\s|:=-]+")
_HEADER = re.compile(r"[^\W\d_]|^[*\s]*(?:FY ?)?(?:19|20)\d{2}\b.{0,12}$")

# A cell that names its own column.
_KEYED = re.compile(r"\s*([^:|]{1,120}):[ \t]")
_LONGEST_SECTION = 200


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a row that is cut by `|` or tabs."""

    start: int
    end: int
    label: str
    """The first worded or dated cell to its left."""
    header: str
    """The worded or dated cells above it, from the top."""
    section: str
    """The last line above it that holds one cell alone: what a part of the table, or all of it, is about."""


class Tables:
    """The cells of one text, found by position."""

    def __init__(self, text: str) -> None:
        self._cells = tuple(_cells(text))
        self._starts = [cell.start for cell in self._cells]

    def at(self, position: int) -> Cell | None:
        """The cell at a position, or None outside tables."""
        place = bisect_right(self._starts, position) - 1
        cell = self._cells[place] if place >= 0 else None
        return cell if cell and position < cell.end else None


def _cells(text: str) -> Iterator[Cell]:
    headers: list[str] = []
    section, start = "", 0
    for line in text.splitlines(keepends=True):
        row = [(start + first, start + last) for first, last in _row(line.rstrip("\n"))]
        if len(row) > 1 and not _RULE.fullmatch(line):
            keys = [_KEYED.match(text, first, last) for first, last in row]
            if len(row) != len(headers) or any(keys):
                headers = [""] * len(row)
            label = ""
            section = _alone([text[first:last] for first, last in row]) or section
            for column, ((first, last), key) in enumerate(zip(row, keys, strict=True)):
                words = text[first:last].strip()
                yield Cell(first, last, label, key[1] if key else headers[column], section)
                if column and not key and _HEADER.search(words):
                    headers[column] = f"{headers[column]} {words}".strip()[-200:]
                label = label or (words if re.search(r"[^\W\d_]", words) else "")
        elif len(row) <= 1:
            headers, section = [], line.strip()[-_LONGEST_SECTION:] or section
        start += len(line)


def _alone(cells: Sequence[str]) -> str:
    """What a row says that holds its first cell alone."""
    first, *rest = (cell.strip() for cell in cells)
    return first if first and not any(rest) else ""


def _row(line: str) -> Iterator[tuple[int, int]]:
    position = 0
    for separator in _SEPARATOR.finditer(line):
        yield position, separator.start()
        position = separator.end()
    yield position, len(line)

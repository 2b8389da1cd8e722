"""Lines of cells on a PDF page become a table: columns by where the cells stand, names by the lines on top."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from worker.documents.blocks import Block
from worker.documents.glyphs import Fragment
from worker.documents.grids import signs_joined
from worker.documents.layout import Line
from worker.documents.tables import is_number, table_block

_LEAST_ROWS = 3
_MOST_HEADER_ROWS = 6
_LONGEST_CELL = 40

Interval = tuple[float, float]


def is_table(run: Sequence[Line]) -> bool:
    """Tell whether neighbouring lines are rows: several lines of several short cells."""
    rows = [line for line in run if len(line.cells) > 1]
    lengths = sorted(len(cell.text) for line in rows for cell in line.cells)
    return len(rows) >= _LEAST_ROWS and lengths[len(lengths) // 2] <= _LONGEST_CELL


def page_table(run: Sequence[Line]) -> Block:
    """Return the rows, one a line, each figure with the name of its column where the page tells it."""
    columns = _columns(run)
    grid = [signs_joined(_placed(line, columns)) for line in run]
    headers = next((number for number, row in enumerate(grid) if any(map(is_number, row[1:]))), 0)
    if len(columns) < 2 or not 0 < headers <= _MOST_HEADER_ROWS:
        return table_block([[cell.text for cell in line.cells] for line in run], headers=0)
    names = [[_above(line, column) for column in columns] for line in run[:headers]]
    return table_block([*names, *grid[headers:]], headers=headers)


def _columns(run: Sequence[Line]) -> list[Interval]:
    """Return the columns' extents, taken from the rows that have the usual number of cells or more."""
    counts = Counter(len(line.cells) for line in run if len(line.cells) > 1)
    usual = max(counts, key=lambda number: (counts[number], number))
    columns: list[Interval] = []
    for cell in sorted((cell for line in run if len(line.cells) >= usual for cell in line.cells), key=_left):
        if columns and cell.left < columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], cell.right))
        else:
            columns.append((cell.left, cell.right))
    return columns


def _left(cell: Fragment) -> float:
    return cell.left


def _placed(line: Line, columns: Sequence[Interval]) -> list[str]:
    row = [""] * len(columns)
    for cell in line.cells:
        best = max(range(len(columns)), key=lambda number: _overlap(cell, columns[number]))
        row[best] = f"{row[best]} {cell.text}".strip()
    return row


def _above(line: Line, column: Interval) -> str:
    return " ".join(cell.text for cell in line.cells if _overlap(cell, column) > 0)


def _overlap(cell: Fragment, column: Interval) -> float:
    """Return how far a cell lies over a column; negative is the distance to it."""
    return min(cell.right, column[1]) - max(cell.left, column[0])

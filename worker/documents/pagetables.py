"""Lines of cells on a PDF page become a table: columns by where the cells stand, names by the lines on top."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from worker.documents.blocks import Block
from worker.documents.glyphs import Fragment
from worker.documents.grids import signs_joined
from worker.documents.layout import Line
from worker.documents.tables import column_names, is_number, table_block

_LEAST_ROWS = 3
_MOST_HEADER_ROWS = 6
_LONGEST_CELL = 40
# What stands above a larger share of the columns than this is the title of the whole table.
_MOST_COVERED = 0.6

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
    while headers and not any(grid[headers - 1][1:]):  # a group's name, right above its first row
        headers -= 1
    if len(columns) < 2 or not 0 < headers <= _MOST_HEADER_ROWS:
        return table_block([[cell.text for cell in line.cells] for line in run], headers=0)
    body = grid[headers:]
    figures = [columns[place] for place in range(1, len(columns)) if any(is_number(row[place]) for row in body)]
    names, titles = _names(run[:headers], columns, figures)
    return table_block([names, *body], headers=1, heading=titles)


def _names(
    lines: Sequence[Line], columns: Sequence[Interval], figures: Sequence[Interval]
) -> tuple[list[str], tuple[str, ...]]:
    """Return a name a column, and what belongs to no single one or group of them: the title of all.

    Columns that would share a name get none: a figure without a name is better than one with another's.
    """
    # Right above the figures, what covers several of them are names that stand too close to be told apart.
    most = [*[max(2, int(_MOST_COVERED * len(columns)))] * (len(lines) - 1), 1]
    titles = [
        cell for line, limit in zip(lines, most, strict=True) for cell in line.cells if _covers(cell, figures) > limit
    ]
    cells = [[cell for cell in line.cells if cell not in titles] for line in lines]
    rows = [[_above(line, column) for column in columns] for line in cells]
    names = column_names(rows)
    if len(set(names)) < len(names):
        groups = [_spread(row, columns, line) for row, line in zip(rows[:-1], cells, strict=False)]
        names = column_names([*groups, rows[-1]])
    often = Counter(names)
    return [name if often[name] == 1 else "" for name in names], tuple(cell.text for cell in titles)


def _above(cells: Sequence[Fragment], column: Interval) -> str:
    return " ".join(cell.text for cell in cells if _overlap(cell, column) > 0)


def _covers(cell: Fragment, columns: Sequence[Interval]) -> int:
    return sum(_overlap(cell, column) > 0 for column in columns)


def _spread(row: list[str], columns: Sequence[Interval], line: Sequence[Fragment]) -> list[str]:
    """Return the groups' names above all of their columns, where every group has as many; else the row as it is."""
    cells = [cell for cell in line if _overlap(cell, columns[0]) <= 0]
    if len(cells) < 2:
        return row
    nearest = [min(cells, key=lambda cell: abs(cell.left + cell.right - sum(column))).text for column in columns[1:]]
    return [row[0], *nearest] if len(set(Counter(nearest).values())) == 1 else row


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


def _overlap(cell: Fragment, column: Interval) -> float:
    """Return how far a cell lies over a column; negative is the distance to it."""
    return min(cell.right, column[1]) - max(cell.left, column[0])

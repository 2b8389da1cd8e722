"""Table cells that span columns and rows become a plain grid of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from worker.documents.tables import header_rows, rows_of_words

_BEFORE = {"$", "€", "£", "¥", "(", "$(", "($"}
_AFTER = {")", "%", ")%", "%)", "*"}
# Cells may claim to span any number of columns.
_MOST_COLUMNS = 500


class Cell(NamedTuple):
    """A cell as the file has it."""

    text: str
    header: bool = False
    columns: int = 1
    rows: int = 1


def expand(rows: Sequence[Sequence[Cell]]) -> tuple[list[list[str]], int]:
    """Return the grid of texts, without empty columns, and how many of its first rows name the columns.

    A name stands in each column that it spans, other text only in the first: a figure is one figure. Where no
    row is marked as a header, rows of words at the top are tried as names.
    """
    marked = 0
    while marked < len(rows) and rows[marked] and all(cell.header or not cell.text for cell in rows[marked]):
        marked += 1
    if marked == len(rows):
        marked = min(1, marked)
    headers = marked or rows_of_words([[cell.text for cell in row] for row in rows])
    grid = _grid(rows, headers)
    if marked or header_rows(grid) == headers:
        return grid, headers
    grid = _grid(rows, 0)
    return grid, header_rows(grid)


def _grid(rows: Sequence[Sequence[Cell]], headers: int) -> list[list[str]]:
    grid = _placed(rows, headers)
    body = [signs_joined(row) if number >= headers else row for number, row in enumerate(grid)]
    width = max(map(len, body), default=0)
    body = [row + [""] * (width - len(row)) for row in body]
    kept = [column for column in range(width) if any(row[column] for row in body[headers:])]
    return [[row[column] for column in kept] for row in body]


def _placed(rows: Sequence[Sequence[Cell]], headers: int) -> list[list[str]]:
    grid: list[dict[int, str]] = [{} for _ in rows]
    for number, row in enumerate(rows):
        column = 0
        for cell in row:
            while column in grid[number]:
                column += 1
            if column >= _MOST_COLUMNS:
                break
            for below in range(number, min(number + cell.rows, len(rows))):
                for offset in range(cell.columns):
                    repeated = offset == 0 or cell.header or number < headers
                    grid[below][column + offset] = cell.text if repeated else ""
            column += cell.columns
    return [[row.get(column, "") for column in range(max(row, default=-1) + 1)] for row in grid]


def signs_joined(row: Sequence[str]) -> list[str]:
    """Join signs that a typesetter put into cells of their own to their figures: `$ | 12 | )` is `$12)`."""
    cells = list(row)
    for column, cell in enumerate(cells):
        step = 1 if cell in _BEFORE else -1 if cell in _AFTER else 0
        other = column + step
        while step and 0 <= other < len(cells) and not cells[other]:
            other += step
        if step and 0 <= other < len(cells) and any(map(str.isdigit, cells[other])):
            cells[other] = cell + cells[other] if step > 0 else cells[other] + cell
            cells[column] = ""
    return cells

"""A grid of cells becomes lines of text that each carry their own column names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from worker.documents.blocks import Block

Grid = Sequence[Sequence[str]]

_NUMBER = re.compile(r"[\s$€£¥(+\-–—*]*\d[\d.,\s]*(%|percent|[kKmM])?[\s)*]*")
_YEAR = re.compile(r"(FY\s*)?(19|20)\d\d[EA]?")
_BLANK = {"", "-", "–", "—", "n/a", "N/A"}
_LONGEST_NAME = 120
_MOST_HEADER_ROWS = 4
# A text-only table of three columns or more has this share of its cells filled; ragged lists have less.
_LEAST_FILLED = 0.6
_LONGEST_FIRST_NAME = 30


def table_block(
    grid: Grid, *, headers: int | None = None, heading: tuple[str, ...] = (), location: str = ""
) -> Block:
    """Return one line a row, `Age: 73 | Years: 26.5`: no cut between lines can part a figure from its column.

    headers: how many rows at the top name the columns; None where the format does not tell, and the cells must.
    A long name above the first column is the table's title, and joins the `heading`.
    """
    rows = [[" ".join(cell.split()) for cell in row] for row in grid]
    blank = sum(not any(row) for row in rows[:headers]) if headers else 0
    rows = [row for row in rows if any(row)]
    count = header_rows(rows) if headers is None else headers - blank
    heading = (*heading, *_whole_table_names(rows[:count]))
    names = column_names(rows[:count])
    if names and len(names[0]) > _LONGEST_FIRST_NAME:
        heading, names[0] = (*heading, names[0]), ""
    lines = list(_lines(rows[count:], names)) or [_line(row, []) for row in rows]
    return Block("\n".join(lines), kind="table", heading=heading, location=location)


def _lines(body: Grid, names: Sequence[str]) -> Iterator[str]:
    """Yield the rows with the names of their columns, which a row of other names in the middle replaces."""
    figures = [place for place in range(1, len(names)) if names[place] and _mostly_numbers(_column(body, place))]
    for row in body:
        renamed = [row[place] for place in figures if place < len(row)]
        if len(figures) > 1 and _are_other_names(renamed, [names[place] for place in figures]):
            names = ["", *(cell for cell in row[1:])]
            yield _line(row, [])
        else:
            yield _line(row, names)


def _are_other_names(cells: Sequence[str], names: Sequence[str]) -> bool:
    named = len(cells) == len(names) and len(set(cells)) == len(cells) and not set(cells) & set(names)
    return named and not any(cell in _BLANK or is_number(cell) for cell in cells)


def _column(body: Grid, place: int) -> Iterator[str]:
    return (row[place] for row in body if place < len(row))


def _whole_table_names(rows: list[list[str]]) -> list[str]:
    """Take out of the upper header rows a lone name right of the first column: `Year ended` heads them all.

    Not where the first column has a name above its name as well: then both head groups of columns.
    """
    lone = []
    for number, row in enumerate(rows[:-1]):
        places = [column for column, cell in enumerate(row) if cell and column]
        grouped = row[0] and any(below[0] for below in rows[number + 1 :])
        if len(places) == 1 and not grouped:
            lone.append(row[places[0]])
            row[places[0]] = ""
    return lone


def compact(grid: Grid) -> list[list[str]]:
    """Return the grid without the columns in which nothing stands."""
    width = max(map(len, grid), default=0)
    kept = [column for column in range(width) if any(row[column] for row in grid if column < len(row))]
    return [[row[column] for column in kept if column < len(row)] for row in grid]


def column_names(rows: Grid) -> list[str]:
    """Return a name a column from header rows: what stands above each other is one name."""
    width = max(map(len, rows), default=0)
    names = []
    for column in range(width):
        stack = dict.fromkeys(row[column].rstrip(":") for row in rows if column < len(row) and row[column])
        names.append(" ".join(stack))
    return names


def _line(row: Sequence[str], names: Sequence[str]) -> str:
    cells = []
    for column, cell in enumerate(row):
        name = names[column] if column < len(names) else ""
        if cell:
            cells.append(f"{name}: {cell}" if name and name != cell else cell)
    return " | ".join(cells)


def header_rows(rows: Grid) -> int:
    """Return how many rows at the top name the columns, told by what stands in them; 0 where none does.

    They do where words stand above mostly numbers, or one row of words above three columns or more.
    """
    count = rows_of_words(rows)
    columns = range(max(map(len, rows), default=0))
    if 0 < count < len(rows) and _could_name(column_names(rows[:count])):
        body = rows[count:]
        if any(_mostly_numbers(_column(body, column)) for column in columns):
            return count
    if len(rows) < 2 or not _could_name(rows[0]):
        return 0
    body = rows[1:]
    filled = sum(bool(cell) for row in body for cell in row) / (len(body) * len(columns))
    return int(len(columns) > 2 and len(body) > 1 and filled > _LEAST_FILLED and _differs(rows[0], body))


def _differs(names: Sequence[str], body: Grid) -> bool:
    """Tell whether no name looks like what stands below it: `Client 1` above `Client 2` is a row like the others."""
    pairs = ((name, row[place]) for row in body for place, name in enumerate(names[: len(row)]) if name)
    return not any(_shape(name) == _shape(cell) for name, cell in pairs)


def _shape(cell: str) -> str:
    return re.sub(r"\d+", "#", cell.lower())


def rows_of_words(rows: Grid) -> int:
    """Return how many rows at the top hold words alone; a row of one word after the first is a group's name."""
    count = 0
    while count < min(len(rows), _MOST_HEADER_ROWS) and not any(map(is_number, rows[count])):
        if count and sum(map(bool, rows[count])) < 2:
            break
        count += 1
    return count


def _could_name(row: Sequence[str]) -> bool:
    names = [cell for cell in row if cell]
    return (
        len(names) >= max(2, len(row) - 1)
        and len(set(names)) == len(names)
        and all(len(name) <= _LONGEST_NAME and not is_number(name) for name in names)
    )


def _mostly_numbers(cells: Iterable[str]) -> bool:
    filled = [cell for cell in cells if cell not in _BLANK]
    return bool(filled) and sum(map(is_number, filled)) > 0.6 * len(filled)


def is_number(cell: str) -> bool:
    """Tell whether a cell holds a figure; a year alone may be a column's name and is none."""
    return bool(_NUMBER.fullmatch(cell)) and not _YEAR.fullmatch(cell.strip())

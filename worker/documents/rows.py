"""Numbered rows of a sheet or a CSV file become table blocks that know their row numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from worker.documents.blocks import Block
from worker.documents.tables import compact, header_rows, is_number, table_block

# A block's place is its rows; the fewer rows in it, the nearer a citation leads to the figure.
_ROWS_A_BLOCK = 20
# Lines of one cell above a table are its titles, if they are few and short.
_MOST_TITLES = 4
_LONGEST_TITLE = 120


class Row(NamedTuple):
    """A row as a person counts it, from 1."""

    number: int
    cells: list[str]

    @property
    def texts(self) -> list[str]:
        """What stands in the row; a text that was repeated for merged cells counts once."""
        return list(dict.fromkeys(cell.strip() for cell in self.cells if cell.strip()))

    @property
    def is_names(self) -> bool:
        """Whether words alone stand here, as in a row of column names."""
        return len(self.texts) > 1 and not any(map(is_number, self.texts))


def table_blocks(rows: Iterable[Row], *, sheet: str = "") -> Iterator[Block]:
    """Yield the tables that blank rows part, each cut into blocks of some rows that all know the column names.

    Lines of one cell above a table become its heading, below the sheet's name; other such lines are text.
    """
    place = f'sheet "{sheet}", ' if sheet else ""
    heading = (sheet,) if sheet else ()
    titles: list[Row] = []
    for group in _joined(_groups(rows)):
        first = next((index for index, row in enumerate(group) if len(row.texts) > 1), len(group))
        titles += group[:first]
        table = group[first:]
        if not table:
            continue
        if _are_titles(titles):
            yield from _table(table, place, (*heading, *(row.texts[0] for row in titles)))
        else:
            yield from _lines(titles, place, heading)
            yield from _table(table, place, heading)
        titles = []
    yield from _lines(titles, place, heading)


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    for row in rows:
        if row.texts:
            if group and row.number > group[-1].number + 1:
                yield group
                group = []
            group.append(row)
    if group:
        yield group


def _joined(groups: Iterator[list[Row]]) -> Iterator[list[Row]]:
    """Join column names to the rows below them where one blank row parts the two."""
    names: list[Row] = []
    for group in groups:
        if names and group[0].number - names[-1].number == 2 and not group[0].is_names:
            group = names + group
        elif names:
            yield names
        names = group if all(row.is_names for row in group) else []
        if not names:
            yield group
    if names:
        yield names


def _are_titles(rows: list[Row]) -> bool:
    return len(rows) <= _MOST_TITLES and all(len(row.texts[0]) <= _LONGEST_TITLE for row in rows)


def _lines(rows: list[Row], place: str, heading: tuple[str, ...]) -> Iterator[Block]:
    for row in rows:
        yield Block(row.texts[0], heading=heading, location=f"{place}row {row.number}")


def _table(table: list[Row], place: str, heading: tuple[str, ...]) -> Iterator[Block]:
    grid = compact([row.cells for row in table])
    count = header_rows(grid)
    for start in range(count, len(grid), _ROWS_A_BLOCK):
        end = min(start + _ROWS_A_BLOCK, len(grid))
        first, last = table[start].number, table[end - 1].number
        where = f"{place}row {first}" if first == last else f"{place}rows {first}-{last}"
        cells = [*grid[:count], *grid[start:end]]
        yield table_block(cells, headers=count, heading=heading, location=where)

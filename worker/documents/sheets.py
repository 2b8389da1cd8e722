"""Workbooks (xlsx, xls, ods) become blocks: one a run of rows, every row with its column names."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import openpyxl
import python_calamine
from openpyxl.cell.cell import Cell, MergedCell
from openpyxl.utils.exceptions import InvalidFileException

from worker.documents.archives import open_archive
from worker.documents.blocks import Block
from worker.documents.nesting import Container
from worker.documents.rows import Row, table_blocks
from worker.errors import DocumentRefused

_MOST_MERGED = 10_000
_COLUMNS = 1_000
_SYMBOL = re.compile(r"[$€£¥]")
_DECIMALS = re.compile(r"\.(0+)")


def read_xlsx(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the rows of an Excel workbook as a person sees them: `4.5%`, not 0.045; results, not formulas."""
    with open_archive(data, container.limits) as archive:
        size = sum(part.file_size for part in archive.infolist())
    streamed = size > container.limits.max_loaded_bytes
    try:
        workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=streamed, data_only=True, keep_links=False)
    except (InvalidFileException, KeyError) as error:
        raise DocumentRefused("is damaged: not an Excel workbook") from error
    try:
        for sheet in workbook.worksheets:
            if sheet.sheet_state == "visible":
                rows = _streamed_rows(sheet) if streamed else _loaded_rows(sheet)
                yield from table_blocks(rows, sheet=sheet.title)
    finally:
        workbook.close()


def read_calamine(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the rows of an old Excel workbook or an OpenDocument spreadsheet."""
    try:
        workbook = python_calamine.load_workbook(io.BytesIO(data))
    except python_calamine.PasswordError as error:
        raise DocumentRefused("is encrypted; save it without a password") from error
    except python_calamine.CalamineError as error:
        raise DocumentRefused("is damaged: not a workbook") from error
    for name in workbook.sheet_names:
        sheet = workbook.get_sheet_by_name(name)
        first = sheet.start[0] + 1 if sheet.start else 1
        rows = (
            Row(number, [_plain(value) for value in values[:_COLUMNS]])
            for number, values in enumerate(sheet.to_python(skip_empty_area=True), start=first)
        )
        yield from table_blocks(rows, sheet=name)


def _streamed_rows(sheet: Any) -> Iterator[Row]:
    sheet.reset_dimensions()  # a file may claim a million rows and have three
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        yield Row(number, [_shown(cell) for cell in cells[:_COLUMNS]])


def _loaded_rows(sheet: Any) -> Iterator[Row]:
    repeated = _merged_headers(sheet)
    # Only the cells that are there: `iter_rows` would make all those between them.
    for number, row in groupby(sorted(sheet._cells.items()), key=lambda item: item[0][0]):
        texts: list[str] = []
        for place, cell in row:
            column = min(place[1], _COLUMNS)
            texts += [""] * (column - len(texts))
            texts[column - 1] = repeated.get(place) or _shown(cell)
        yield Row(number, texts)


def _merged_headers(sheet: Any) -> dict[tuple[int, int], str]:
    """Return the text of cells merged across columns for each column: they head a group of columns."""
    texts = {}
    for merged in list(sheet.merged_cells.ranges)[:_MOST_MERGED]:
        text = _shown(sheet.cell(merged.min_row, merged.min_col))
        for column in range(merged.min_col, min(merged.max_col, merged.min_col + _COLUMNS) + 1):
            texts[merged.min_row, column] = text
    return texts


def _shown(cell: Cell | MergedCell | Any) -> str:
    value = cell.value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return format_number(value, cell.number_format or "General")
    return _plain(value)


def format_number(value: float, number_format: str) -> str:
    """Return a figure as its Excel format shows it: percent, thousands, decimals and the currency sign."""
    shown = number_format.split(";")[0]
    shown = re.sub(r'"([^"]*)"|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]', lambda match: match[1] or match[2] or "", shown)
    decimals = _DECIMALS.search(shown)
    places = len(decimals[1]) if decimals else 0
    if "%" in shown:
        return f"{value * 100:.{places}f}%"
    if "0" not in shown or "E" in shown or "/" in shown:
        return _plain(value)
    symbol = _SYMBOL.search(shown)
    text = f"{abs(value):{',' if ',' in shown else ''}.{places}f}"
    return f"{'-' if value < 0 and float(text.replace(',', '')) else ''}{symbol[0] if symbol else ''}{text}"


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.12g}"
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.isoformat(" ", "minutes")
    return str(value)

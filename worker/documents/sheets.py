"""Workbooks (xlsx, xls, ods) become blocks: one a run of rows, every row with its column names."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import openpyxl
import python_calamine
from openpyxl.cell.cell import Cell, MergedCell

from worker.documents.archives import open_archive, read_part
from worker.documents.blocks import Block
from worker.documents.nesting import Container
from worker.documents.rows import Row, table_blocks
from worker.errors import DocumentRefused

_MOST_MERGED = 10_000
_COLUMNS = 1_000
_NO_RESULT = re.compile(rb"</f>\s*(?:<v\s*/>|<v></v>|</c>)")
_SYMBOL = re.compile(r"[$€£¥]")
_DECIMALS = re.compile(r"\.(0+)")


def read_xlsx(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the rows of an Excel workbook as a person sees them: `4.5%`, not 0.045; results, not formulas."""
    with open_archive(data, container.limits) as archive:
        size = sum(part.file_size for part in archive.infolist())
        streamed = size > container.limits.max_loaded_bytes
        if not streamed and (count := _without_result(archive)):
            container.losses.append(f"formulas without a stored result: {count}; open it in Excel and save it")
    try:
        workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=streamed, data_only=True, keep_links=False)
    except Exception as error:  # noqa: BLE001  # it stumbles over parts that hold no cell: filters, styles, drawings
        yield from _plainly(data, container, error)
        return
    try:
        _report_hidden((sheet.title for sheet in workbook.worksheets if sheet.sheet_state != "visible"), container)
        for sheet in workbook.worksheets:
            if sheet.sheet_state == "visible":
                rows = _streamed_rows(sheet) if streamed else _loaded_rows(sheet)
                yield from table_blocks(rows, sheet=sheet.title)
    finally:
        workbook.close()


def _plainly(data: bytes, container: Container, cause: Exception) -> Iterator[Block]:
    """Yield the rows by the library that looks at cells alone. Raises DocumentRefused where it finds none either."""
    found = False
    for block in read_calamine(data, container):
        found = True
        yield block
    if not found:
        raise DocumentRefused("is damaged: not an Excel workbook") from cause
    container.losses.append("figures stand as they are stored, without their number formats")


def _without_result(archive: zipfile.ZipFile) -> int:
    """Return how many formulas nobody has computed yet, as in a workbook that a program wrote."""
    names = (name for name in archive.namelist() if name.startswith("xl/worksheets/"))
    return sum(len(_NO_RESULT.findall(read_part(archive, name))) for name in names)


def _report_hidden(names: Iterable[str], container: Container) -> None:
    container.losses.extend(f'the hidden sheet "{name}" was left out' for name in names)


def read_calamine(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the rows of an old Excel workbook or an OpenDocument spreadsheet."""
    if data.startswith(b"PK"):
        open_archive(data, container.limits).close()
    try:
        workbook = python_calamine.load_workbook(io.BytesIO(data))
    except python_calamine.PasswordError as error:
        raise DocumentRefused("is encrypted; save it without a password") from error
    except python_calamine.CalamineError as error:
        raise DocumentRefused("is damaged: not a workbook") from error
    shown = [one.name for one in workbook.sheets_metadata if one.visible == python_calamine.SheetVisibleEnum.Visible]
    _report_hidden((name for name in workbook.sheet_names if name not in shown), container)
    for name in shown:
        yield from table_blocks(_calamine_rows(workbook.get_sheet_by_name(name)), sheet=name)


def _calamine_rows(sheet: python_calamine.CalamineSheet) -> Iterator[Row]:
    """Yield the rows, a text of cells merged across columns in each of the columns: it heads a group of them."""
    top, left = sheet.start or (0, 0)
    merged = {first: last[1] for first, last in (sheet.merged_cell_ranges or [])[:_MOST_MERGED]}
    for number, values in enumerate(sheet.to_python(skip_empty_area=True), start=top):
        texts = [_plain(value) for value in values[:_COLUMNS]]
        for column in range(len(texts)):
            for covered in range(column + 1, merged.get((number, column + left), 0) - left + 1):
                if covered < len(texts):
                    texts[covered] = texts[column]
        yield Row(number + 1, texts)


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

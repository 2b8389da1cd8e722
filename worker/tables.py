"""What binds a cell of a table in plain text: the label of its row and the header of its column."""

from __future__ import annotations

import re

_SEPARATOR = re.compile(r"[ ]*\|[ ]*|\t+")
_RULE = re.compile(r"[\s|:-]+")
_SEARCHED_ROWS = 200


def cell_context(text: str, position: int) -> tuple[str, str] | None:
    """The row's label and the column's header for a position in a row with `|` or tab separators; None outside tables.

    The header is the nearest row above with as many cells whose cell in this column, or the first such row's, is no plain figure.
    """
    start, end = _line(text, position)
    row = text[start:end]
    edges = [match.span() for match in _SEPARATOR.finditer(row)]
    if not edges:
        return None
    column = sum(edge[0] < position - start for edge in edges)
    label = next((cell for cell in _cells(row)[:column] if re.search(r"[^\W\d]", cell)), "")
    return label, _header(text, start, column, len(edges))


def _header(text: str, start: int, column: int, width: int) -> str:
    found: list[str] = []
    for _ in range(_SEARCHED_ROWS):
        if start == 0:
            break
        start, end = _line(text, start - 1)
        cells = _cells(text[start:end])
        if len(cells) - 1 != width:
            if not _RULE.fullmatch(text[start:end] or " "):
                break
            continue
        cell = cells[column].strip("* ")
        if re.search(r"[^\W\d_]", cell) or re.fullmatch(r"(?:FY)?(?:19|20)\d{2}", cell):
            found.append(cell)
    return " ".join(reversed(found))


def _line(text: str, position: int) -> tuple[int, int]:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", start)
    return start, len(text) if end < 0 else end


def _cells(row: str) -> list[str]:
    return _SEPARATOR.split(row)

"""Lines that a document repeats at the edges of its pages: running headers, footers and page numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from worker.documents.layout import Line

# How many lines at the top and at the bottom of a page may be furniture, and how often it must come back.
_EDGE = 3
_LEAST_PAGES = 3
_LEAST_SHARE = 0.3
_ROMAN = re.compile(r"\b[ivxlc]+\b")
_NUMBER = re.compile(r"\d+")
# `- 12 -`, `Page 4 of 10`, `iv`, `A-3`, `2.14`: these count up with the pages, or anew in each chapter.
_PAGE_NUMBER = re.compile(r"[-–— ]*(?:page )?(?:[a-z]{1,2}[-–.]?)?#(?: ?(?:of|[-–./]) ?#)?[-–— ]*")
_PLACE = 6.0  # points
# Lines nearer than this, in line heights, stand in one table.
_ROW_GAP = 1.6

Key = tuple[str, int]


def without_furniture(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Return the pages without the lines that stand at the same height of many of them.

    They may differ in the number of the page, and in nothing else: a row that differs in its figures is content.
    """
    found = [{id(line): set(_keys(line, index)) for line in _edges(page)} for index, page in enumerate(pages)]
    counts = Counter(key for edges in found for key in set[Key]().union(*edges.values()))
    least = max(_LEAST_PAGES, _LEAST_SHARE * len(pages))
    repeated = {
        (text, place + step) for (text, place), count in counts.items() if count >= least for step in (-1, 0, 1)
    }
    kept = [
        [line for line in page if not edges.get(id(line), set[Key]()) & repeated or _heads(line, page)]
        for page, edges in zip(pages, found, strict=True)
    ]
    # Where little else stands on the pages, as on slides or labels, what repeats is the content.
    return kept if sum(map(bool, kept)) > len(pages) / 2 else list(pages)


def _heads(line: Line, page: list[Line]) -> bool:
    """Tell whether the line holds the column names of a table that goes on over many pages."""
    rows = sorted((other for other in page if other.top >= line.top), key=lambda other: other.top)[:3]
    near = all(after.top - before.bottom < _ROW_GAP * before.size for before, after in pairwise(rows))
    return len(rows) == 3 and near and len(line.cells) > 1 and len({len(row.cells) for row in rows}) == 1


def _edges(page: list[Line]) -> Iterator[Line]:
    ordered = sorted(page, key=lambda line: line.top)
    yield from ordered[:_EDGE]
    yield from ordered[max(_EDGE, len(ordered) - _EDGE) :]


def _keys(line: Line, index: int) -> Iterator[Key]:
    """Yield the line as it is, and once for each of its numbers as one that counts up with the pages."""
    text = _ROMAN.sub("#", " ".join(line.text.lower().split()))
    place = round(line.top / _PLACE)
    yield text, place
    if _PAGE_NUMBER.fullmatch(_NUMBER.sub("#", text)):
        yield "#", 0  # it stands below the last line, wherever that is
    for number in _NUMBER.finditer(text):
        if len(number[0]) < 6:
            yield f"{text[: number.start()]}#{int(number[0]) - index}{text[number.end() :]}", place

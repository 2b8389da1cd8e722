"""Lines in reading order become blocks: paragraphs put together again, headings told by their type, tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from worker.documents.blocks import Block
from worker.documents.cleaning import clean
from worker.documents.layout import Line
from worker.documents.pagetables import is_table, page_table

# Dots or underscores that lead the eye to a page number or wait for a pen.
_LEADERS = re.compile(r"(?:\s?[._·…]){4,}")
_WORD = re.compile(r"[\w'’-]*\w")
_SYMBOLS = "•▪◦●■–—*☐"
_BULLET = re.compile(rf"(?:[{_SYMBOLS}]|\(?(?:\d{{1,2}}|[a-z]|[ivx]{{1,4}})[.)])\s", re.IGNORECASE)
_SENTENCE_END = (".", "!", "?", ":", ".”", '."', ".)")
# Dashes between figures and slashes of addresses: `737–9`, `https://www`.
_NO_SPACE_AFTER = ("–", "—", "/")
_HEADING_SIZE = 1.15
_LONGEST_HEADING = 120
_MOST_HEADING_LINES = 3
_ROW_GAP = 1.6
_MOST_LEVELS = 4
_MOST_TITLES = 4


class Typography:
    """What is usual in one document: the size of its body text, the sizes of its headings, its words."""

    def __init__(self, pages: Iterable[Sequence[Line]]) -> None:
        lines = [line for page in pages for line in page]
        self._words = _whole_words(line.text.lower() for line in lines)
        sizes: Counter[float] = Counter()
        for line in lines:
            sizes[_size(line)] += len(line.text)
        bold, total = sum(len(line.text) for line in lines if line.bold), sizes.total()
        self._body = sizes.most_common(1)[0][0] if sizes else 0.0
        larger = sorted((size for size in sizes if size >= _HEADING_SIZE * self._body), reverse=True)
        self._levels = {size: min(rank, _MOST_LEVELS) for rank, size in enumerate(larger, start=1)}
        self._bold_level = min(len(larger), _MOST_LEVELS) + 1 if bold < total / 3 else 0

    def level(self, lines: Sequence[Line], text: str) -> int:
        """Return the heading level of a paragraph, 0 for body text."""
        if len(lines) > _MOST_HEADING_LINES or not _may_head(text, lines):
            return 0
        size = min(map(_size, lines))
        if size in self._levels and not text.endswith((".", ",", ";")):
            return self._levels[size]
        is_bold = all(line.bold for line in lines) and size >= 0.9 * self._body
        return self._bold_level if is_bold and not text.endswith((".", ",", ";", ":")) else 0

    def joined(self, first: str, second: str) -> str:
        """Join two lines; a hyphen at the end of the first stays where the document's other words say so."""
        if first.endswith(_NO_SPACE_AFTER) and first[-2:-1] != " ":
            return f"{first}{second}"
        if not first.endswith("-") or not second[:1].islower() or first.endswith(" -"):
            return f"{first} {second}"
        return f"{first}{second}" if self._is_compound(first, second) else f"{first[:-1]}{second}"

    def _is_compound(self, first: str, second: str) -> bool:
        begin, end = _WORD.findall(first.lower()[:-1])[-1:], _WORD.findall(second.lower())[:1]
        if not begin or begin[0] + end[0] in self._words:
            return False
        return f"{begin[0]}-{end[0]}" in self._words or {begin[0], end[0]} <= self._words


def _whole_words(lines: Iterable[str]) -> set[str]:
    """Return the words of the lines, without the two halves of those that a line's end parts."""
    words: set[str] = set()
    parted = False
    for line in lines:
        found = _WORD.findall(line)
        words.update(found[int(parted) : -1 if line.endswith("-") else None])
        parted = line.endswith("-")
    return words


def blocks(pages: Sequence[list[Line]], typography: Typography) -> Iterator[tuple[int, Block]]:
    """Yield (index of the page, block); what goes on overleaf or in the next column continues the block before."""
    unfinished = False
    for index, page in enumerate(pages):
        titles: list[str] = []
        for (kind, lines), (_, following) in pairwise((*_groups(page), ("", []))):
            block = _table(lines, titles) if kind == "table" else _paragraph(lines, typography)
            if not block.text:
                continue
            if block.level and _begins_inside(following):
                block = replace(block, level=0)
            is_prose = block.kind == "text" and not block.level
            continues = unfinished and is_prose and block.text[0].islower()
            yield index, replace(block, continues=continues)
            open_end = is_prose and not block.text.endswith(_SENTENCE_END)
            unfinished = open_end and len(lines) > 1
            is_title = open_end and len(lines) <= _MOST_HEADING_LINES and _may_head(block.text, lines)
            titles = [*titles, block.text][-_MOST_TITLES:] if is_title else []


def _begins_inside(lines: Sequence[Line]) -> bool:
    """Tell whether a sentence goes on here: what stands above is its beginning in larger type, no heading."""
    text = lines[0].text if lines else ""
    return text[:1].islower() and not _BULLET.match(text)


def _may_head(text: str, lines: Sequence[Line]) -> bool:
    return (
        len(text) <= _LONGEST_HEADING
        and any(map(str.isalpha, text))
        and text[0] not in _SYMBOLS
        and not any(line.is_row for line in lines)
    )


def _groups(page: Sequence[Line]) -> Iterator[tuple[str, list[Line]]]:
    """Cut the page's lines into tables and paragraphs."""
    start = 0
    while start < len(page):
        end = _table_end(page, start)
        if end > start and is_table(page[start:end]):
            yield "table", list(page[start:end])
        else:
            end = _paragraph_end(page, start, _leading(page, page[start].flow))
            yield "text", list(page[start:end])
        start = end


def _table_end(page: Sequence[Line], start: int) -> int:
    """Return where rows end that begin here; a lone cell between rows (a group's name) belongs to them."""
    end = start
    for number in range(start, len(page)):
        line = page[number]
        if number > start and not _follows(page[number - 1], line, _ROW_GAP):
            break
        if len(line.cells) > 1:
            end = number + 1
        elif number == start or number - end >= 2 or len(line.text) > _LONGEST_HEADING:
            break
    return end


def _paragraph_end(page: Sequence[Line], start: int, leading: float) -> int:
    end = start + 1
    left = page[start].left
    while end < len(page) and _goes_on(page[end - 1], page[end], leading, left):
        left = min(left, page[end].left)
        end += 1
    return end


def _goes_on(last: Line, line: Line, leading: float, left: float) -> bool:
    size = max(1.0, last.size)
    return (
        line.flow == last.flow
        and -0.6 * size < line.top - last.bottom < leading + 0.25 * size
        and abs(line.size - last.size) < 0.12 * size
        and (line.bold == last.bold or not _stands_alone(last, line))
        and not (line.left - left > 0.7 * size and line.left - last.left > 0.7 * size)
        and not _BULLET.match(line.text)
        and not line.is_row
        and not last.is_row
    )


def _stands_alone(last: Line, line: Line) -> bool:
    """Tell a bold heading from a bold word that happens to fill a line."""
    return last.bold and not last.text.endswith((",", "-")) and line.text[:1].isupper()


def _follows(last: Line, line: Line, most: float) -> bool:
    gap = line.top - last.bottom
    return line.flow == last.flow and -0.6 * last.size < gap < most * max(last.size, line.size)


def _leading(page: Sequence[Line], flow: int) -> float:
    """Return the usual gap between the lines of a column, in points."""
    lines = [line for line in page if line.flow == flow]
    gaps = [after.top - before.bottom for before, after in pairwise(lines)]
    near = [gap for gap, line in zip(gaps, lines, strict=False) if gap < line.size]
    return median(near) if near else 0.0


def _paragraph(lines: Sequence[Line], typography: Typography) -> Block:
    text = ""
    for line in lines:
        cells = (" | " if line.is_row else " ").join(cell.text for cell in line.cells)
        piece = clean(_LEADERS.sub(" ", cells)).strip(" |")
        text = typography.joined(text, piece) if text and piece else text or piece
    return Block(text, level=typography.level(lines, text))


def _table(lines: Sequence[Line], titles: Sequence[str]) -> Block:
    """Return a table; the short lines right above it say what it shows, so they stay with all of its parts."""
    table = page_table(lines)
    return replace(table, heading=(*titles, *table.heading), text=_LEADERS.sub(" ", table.text))


def _size(line: Line) -> float:
    return round(line.size * 2) / 2

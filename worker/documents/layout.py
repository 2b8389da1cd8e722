"""Fragments on a page become lines in reading order, column after column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median

from worker.documents.glyphs import Fragment

# A gutter between columns of prose is at least this wide, in line heights, and hardly anything crosses it.
_GUTTER = 0.7
_MAX_CROSSING = 0.08
# Either side of a gutter is prose where it has this many lines, which fill their column this far and whose
# cells are longer than those of tables.
_LEAST_LINES = 6
_LEAST_FILL = 0.55
_LEAST_CHARACTERS = 18
# A gap inside a line that is wider than this, in line heights, parts two cells of a table.
_CELL_GAP = 0.9
_SPACE_GAP = 0.12
_ROW_GAP = 2.0
# White space across a page, in line heights, that may part a one-column region from a two-column one.
_BAND_GAP = 0.9


@dataclass(slots=True)
class Line:
    """Fragments on one baseline, joined to cells; ordinary prose is a line of one cell."""

    cells: list[Fragment]
    flow: int
    """Lines of the same column share this number."""

    @property
    def text(self) -> str:
        """The whole line."""
        return " ".join(cell.text for cell in self.cells)

    @property
    def left(self) -> float:
        """Where the line begins, in points."""
        return self.cells[0].left

    @property
    def right(self) -> float:
        """Where the line ends, in points."""
        return self.cells[-1].right

    @property
    def top(self) -> float:
        """The upper edge, in points from the page's top."""
        return min(cell.top for cell in self.cells)

    @property
    def bottom(self) -> float:
        """The lower edge, in points from the page's top."""
        return max(cell.bottom for cell in self.cells)

    @property
    def size(self) -> float:
        """The font size of the line's longest cell."""
        return max(self.cells, key=lambda cell: len(cell.text)).size

    @property
    def is_row(self) -> bool:
        """Whether gaps part the cells that are wider than justified prose ever has."""
        gaps = (after.left - before.right for before, after in pairwise(self.cells))
        return any(gap > _ROW_GAP * self.size for gap in gaps)

    @property
    def bold(self) -> bool:
        """Whether the whole line is set bold."""
        return all(cell.bold for cell in self.cells)


def lines(fragments: Sequence[Fragment]) -> list[Line]:
    """Return the page's lines as a person reads them."""
    visible = [fragment for fragment in fragments if fragment.text.strip()]
    return [line for flow, group in enumerate(_flows(visible)) for line in _lines(group, flow)]


def _flows(group: list[Fragment]) -> Iterator[list[Fragment]]:
    """Split at gutters, else at bands of white space that let gutters appear (the recursive X-Y cut).

    After Nagy and Seth, "Hierarchical representation of optically scanned documents", ICPR 1984.
    """
    if len(group) < 2 * _LEAST_LINES:
        yield group
        return
    gutter = _gutter(group)
    if gutter is not None:
        yield from _columns(group, gutter)
        return
    bands = list(_bands(group))
    if len(bands) > 1 and any(_gutter(band) is not None for band in bands):
        for band in bands:
            yield from _flows(band)
    else:
        yield group


def _columns(group: list[Fragment], gutter: float) -> Iterator[list[Fragment]]:
    """Yield what is left and right of the gutter; what crosses it parts the columns above from those below."""
    crossing = sorted((one for one in group if one.left < gutter < one.right), key=lambda one: one.top)
    rest = [one for one in group if not one.left < gutter < one.right]
    for cross in crossing:
        above = [one for one in rest if one.bottom <= cross.top + cross.height / 2]
        if above:
            yield from _sides(above, gutter)
            rest = [one for one in rest if one.bottom > cross.top + cross.height / 2]
        yield [cross]
    yield from _sides(rest, gutter)


def _sides(group: list[Fragment], gutter: float) -> Iterator[list[Fragment]]:
    for side in ([one for one in group if one.right <= gutter], [one for one in group if one.left >= gutter]):
        if side:
            yield from _flows(side)


def _gutter(group: list[Fragment]) -> float | None:
    """Return the x of the widest gutter that has prose on either side."""
    if len(group) < 2 * _LEAST_LINES:
        return None
    start = int(min(one.left for one in group))
    steps = [0] * (int(max(one.right for one in group)) - start + 2)
    for one in group:
        steps[int(one.left) - start] += 1
        steps[int(one.right) - start + 1] -= 1
    most = _MAX_CROSSING * len(group)
    least = _GUTTER * median(one.height for one in group)
    gaps = _gaps([count <= most for count in accumulate(steps)])
    for width, middle in sorted(gaps, reverse=True):
        if width >= least and _is_between_prose(group, start + middle):
            return start + middle
    return None


def _gaps(empty: list[bool]) -> Iterator[tuple[int, float]]:
    """Yield (width, middle) of the runs of empty places that have something on both sides."""
    begin: int | None = None
    for place, is_empty in enumerate(empty):
        if is_empty:
            begin = place if begin is None else begin
        elif begin is not None:
            if begin > 0:
                yield place - begin, (place + begin) / 2
            begin = None


def _is_between_prose(group: list[Fragment], x: float) -> bool:
    left = [one for one in group if one.right <= x]
    right = [one for one in group if one.left >= x]
    return _is_prose(left) and _is_prose(right)


def _is_prose(side: list[Fragment]) -> bool:
    if len(side) < _LEAST_LINES:
        return False
    found = _lines(side, 0)
    width = max(line.right for line in found) - min(line.left for line in found)
    fill = sum(line.right - line.left for line in found) / (len(found) * max(1.0, width))
    letters = median(len(cell.text) for line in found for cell in line.cells)
    return len(found) >= _LEAST_LINES and fill >= _LEAST_FILL and letters >= _LEAST_CHARACTERS


def _bands(group: list[Fragment]) -> Iterator[list[Fragment]]:
    """Yield groups parted by white space across the whole width."""
    gap = _BAND_GAP * median(one.height for one in group)
    band: list[Fragment] = []
    bottom = 0.0
    for one in sorted(group, key=lambda one: one.top):
        if band and one.top - bottom > gap:
            yield band
            band = []
        band.append(one)
        bottom = max(bottom, one.bottom) if len(band) > 1 else one.bottom
    if band:
        yield band


def _lines(group: Sequence[Fragment], flow: int) -> list[Line]:
    rows: list[list[Fragment]] = []
    for one in sorted(group, key=lambda one: (one.top + one.bottom) / 2):
        row = next((row for row in rows[-3:] if _same_baseline(row, one)), None)
        if row is None:
            rows.append([one])
        else:
            row.append(one)
    return [Line(_cells(row), flow) for row in rows]


def _same_baseline(row: list[Fragment], one: Fragment) -> bool:
    first = max(row, key=lambda member: len(member.text))
    overlap = min(first.bottom, one.bottom) - max(first.top, one.top)
    return overlap > 0.5 * min(first.height, one.height)


def _cells(row: list[Fragment]) -> list[Fragment]:
    row = sorted(row, key=lambda one: one.left)
    cells = [row[0]]
    for one in row[1:]:
        last = cells[-1]
        gap = (one.left - last.right) / max(1.0, min(last.height, one.height))
        if gap > _CELL_GAP:
            cells.append(one)
        else:
            space = " " if gap > _SPACE_GAP else ""
            cells[-1] = Fragment(
                last.text + space + one.text,
                last.left,
                min(last.top, one.top),
                max(last.right, one.right),
                max(last.bottom, one.bottom),
                last.size if len(last.text) >= len(one.text) else one.size,
                last.bold and one.bold,
            )
    return cells

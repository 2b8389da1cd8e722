"""A PDF page becomes fragments: runs of glyphs on one baseline, with their place on the upright page."""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from worker.documents.cleaning import LOST

# Widths of gaps between glyphs, in heights of the line: wider than these is a new word, a new fragment.
_WORD_GAP = 0.2
_FRAGMENT_GAP = 0.8
_BACKWARD = 0.4
_BOLD_WEIGHT = 600
# PDFium's marks for a hyphen at a line's end. Other control codes are glyphs whose character nobody tells.
_HYPHENS = {0x02, 0xFFFE}
_FIRST_CHARACTER = 0x20
_ANGLE_SAMPLES = 40
_LIGATURE = 3
# Text that is off the straight by more than this many quarter turns is slanted.
_STRAIGHT = 0.1
_SLANTED = -1


@dataclass(slots=True)
class Fragment:
    """A run of text; coordinates are points from the page's upper left corner as a person holds it."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    """The height of a letter's line in points, which stands for the size of its font."""
    bold: bool = False

    @property
    def height(self) -> float:
        """From the upper to the lower edge, in points."""
        return self.bottom - self.top


@dataclass(slots=True)
class _Glyph:
    text: str
    left: float
    top: float
    right: float
    bottom: float
    index: int


def fragments(page: pypdfium2.PdfPage) -> list[Fragment]:
    """Return the page's fragments in the order in which the file draws them."""
    textpage = page.get_textpage()
    try:
        return list(_joined(textpage, _upright(page, textpage)))
    finally:
        textpage.close()


def _joined(textpage: pypdfium2.PdfTextPage, glyphs: Iterator[_Glyph | None]) -> Iterator[Fragment]:
    """Join glyphs to fragments; None among the glyphs stands for a space."""
    run: Fragment | None = None
    space = False
    seen: dict[tuple[str, int, int], int] = {}
    for glyph in glyphs:
        if glyph is None:
            space = True
            continue
        if _is_redrawn(glyph, seen):
            continue
        if run and _continues(run, glyph):
            gap = glyph.left - run.right
            run.text += " " + glyph.text if space or gap > _WORD_GAP * run.height else glyph.text
            run.right = max(run.right, glyph.right)
            run.top, run.bottom = min(run.top, glyph.top), max(run.bottom, glyph.bottom)
        else:
            if run:
                yield run
            size = glyph.bottom - glyph.top
            run = Fragment(glyph.text, glyph.left, glyph.top, glyph.right, glyph.bottom, size, bold=True)
        if run.bold and glyph.text.isalnum():
            run.bold = pdfium.FPDFText_GetFontWeight(textpage, glyph.index) >= _BOLD_WEIGHT
        if not run.text[:-1].isalnum():  # bullets come from fonts of another height
            run.size = glyph.bottom - glyph.top
        space = False
    if run:
        yield run


def _is_redrawn(glyph: _Glyph, seen: dict[tuple[str, int, int], int]) -> bool:
    """Tell whether the glyph stands where the same one stood before: drawn twice to look bold."""
    place = (glyph.text, round(glyph.left), round(glyph.top))
    before = seen.get(place)
    seen[place] = glyph.index
    # The two letters f of one ligature stand in one place as well.
    return before is not None and not (glyph.text == "f" and glyph.index - before < _LIGATURE)


def _continues(run: Fragment, glyph: _Glyph) -> bool:
    overlap = min(run.bottom, glyph.bottom) - max(run.top, glyph.top)
    gap = glyph.left - run.right
    height = max(1.0, min(run.height, glyph.bottom - glyph.top))
    return overlap > 0.5 * height and -_BACKWARD * height < gap < _FRAGMENT_GAP * height


def _upright(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage) -> Iterator[_Glyph | None]:
    """Yield the glyphs that a person sees, turned so that most of the text is upright.

    Left out is what lies outside the page, and text at another angle: watermarks, stamps along the margin.
    """
    left, bottom, right, top = page.get_bbox()
    width, height = right - left, top - bottom
    turns = _turns(textpage)
    for index, text, box in _boxes(textpage, turns):
        if text == " ":
            yield None
            continue
        x0, y0, x1, y1 = box.left - left, top - box.top, box.right - left, top - box.bottom
        if x1 <= x0 or y1 <= y0 or x1 < 0 or x0 > width or y1 < 0 or y0 > height:
            continue
        if turns == 3:
            x0, y0, x1, y1 = height - y1, x0, height - y0, x1
        elif turns == 2:
            x0, y0, x1, y1 = width - x1, height - y1, width - x0, height - y0
        elif turns == 1:
            x0, y0, x1, y1 = y0, width - x1, y1, width - x0
        yield _Glyph(text, x0, y0, x1, y1, index)


def _boxes(textpage: pypdfium2.PdfTextPage, turns: int) -> Iterator[tuple[int, str, pdfium.FS_RECTF]]:
    box = pdfium.FS_RECTF()
    reference = ctypes.byref(box)
    for index in range(textpage.count_chars()):
        text = _character(pdfium.FPDFText_GetUnicode(textpage, index))
        if text != " " and _turn(textpage, index) != turns:
            continue
        if pdfium.FPDFText_GetLooseCharBox(textpage, index, reference):
            yield index, text, box


def _character(code: int) -> str:
    if code in _HYPHENS:
        return "-"
    if chr(code).isspace():
        return " "
    return chr(code) if code >= _FIRST_CHARACTER else LOST


def _turns(textpage: pypdfium2.PdfTextPage) -> int:
    """Return by how many quarter turns clockwise most of the text is turned."""
    count = textpage.count_chars()
    step = max(1, count // _ANGLE_SAMPLES)
    turns = Counter(_turn(textpage, index) for index in range(0, count, step))
    del turns[_SLANTED]
    return turns.most_common(1)[0][0] if turns else 0


def _turn(textpage: pypdfium2.PdfTextPage, index: int) -> int:
    quarters = pdfium.FPDFText_GetCharAngle(textpage, index) / (math.pi / 2)
    return round(quarters) % 4 if abs(quarters - round(quarters)) < _STRAIGHT else _SLANTED

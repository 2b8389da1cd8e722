"""PowerPoint files become blocks that know their slide."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from pptx.enum.shapes import MSO_SHAPE_TYPE
from pptx.package import Package
from pptx.parts.presentation import PresentationPart

from worker.documents.archives import open_archive
from worker.documents.blocks import Block, ordered
from worker.documents.grids import Cell, expand
from worker.documents.nesting import Container
from worker.documents.tables import table_block
from worker.errors import DocumentRefused


def read_pptx(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the titles, texts, tables and speaker's notes of a presentation, slide by slide."""
    open_archive(data, container.limits).close()
    part = Package.open(io.BytesIO(data)).main_document_part
    if not isinstance(part, PresentationPart):
        raise DocumentRefused("is damaged: not a PowerPoint file")
    presentation = part.presentation
    if len(presentation.slides) > container.limits.max_pages:
        raise DocumentRefused(f"has more than {container.limits.max_pages:,} slides; split the file")
    for number, slide in enumerate(presentation.slides, start=1):
        yield from ordered(_slide(slide, f"slide {number}"), container.losses)


def _slide(slide: Any, place: str) -> Iterator[Block]:
    title = slide.shapes.title
    if title is not None and title.text_frame.text.strip():
        yield Block(title.text_frame.text, level=1, location=place)
    for block in _shapes(shape for shape in slide.shapes if title is None or shape != title):
        yield replace(block, location=place)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        yield Block(slide.notes_slide.notes_text_frame.text, location=f"{place}, notes")


def _shapes(shapes: Iterator[Any]) -> Iterator[Block]:
    for shape in shapes:
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            yield from _shapes(iter(shape.shapes))
        elif getattr(shape, "has_table", False):
            rows = enumerate(shape.table.rows)
            grid, headers = expand([list(_cells(row, shape.table.first_row and not number)) for number, row in rows])
            yield table_block(grid, headers=headers)
        elif getattr(shape, "has_chart", False):
            yield _chart(shape.chart)
        elif shape.has_text_frame:
            yield Block("\n".join(paragraph.text for paragraph in shape.text_frame.paragraphs))


def _cells(row: Any, header: bool) -> Iterator[Cell]:
    for cell in row.cells:
        if not cell.is_spanned:
            yield Cell(cell.text, header, cell.span_width, cell.span_height)


def _chart(chart: Any) -> Block:
    """Return the figures that a chart draws, a category a row."""
    title = chart.chart_title.text_frame.text if chart.has_title and chart.chart_title.has_text_frame else ""
    series = [one for plot in chart.plots for one in plot.series]
    categories = [str(label) for plot in chart.plots for label in plot.categories]
    columns = [["" if value is None else f"{value:g}" for value in one.values] for one in series]
    rows = [list(row) for row in zip_longest(dict.fromkeys(categories), *columns, fillvalue="")]
    names = ["", *(one.name for one in series)]
    return table_block([names, *rows], headers=1, heading=(title,) if title.strip() else ())

"""PowerPoint files become blocks that know their slide."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pptx
from pptx.enum.shapes import MSO_SHAPE_TYPE

from worker.documents.archives import open_archive
from worker.documents.blocks import Block
from worker.documents.nesting import Container
from worker.documents.tables import table_block
from worker.errors import DocumentRefused


def read_pptx(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the titles, texts, tables and speaker's notes of a presentation, slide by slide."""
    open_archive(data, container.limits).close()
    presentation = pptx.Presentation(io.BytesIO(data))
    if len(presentation.slides) > container.limits.max_pages:
        raise DocumentRefused(f"has more than {container.limits.max_pages:,} slides; split the file")
    for number, slide in enumerate(presentation.slides, start=1):
        title = slide.shapes.title
        if title is not None and title.text_frame.text.strip():
            yield Block(title.text_frame.text, level=1, location=f"slide {number}")
        for block in _shapes(shape for shape in slide.shapes if title is None or shape != title):
            yield replace(block, location=f"slide {number}")
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            yield Block(slide.notes_slide.notes_text_frame.text, location=f"slide {number}, notes")


def _shapes(shapes: Iterator[Any]) -> Iterator[Block]:
    for shape in shapes:
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            yield from _shapes(iter(shape.shapes))
        elif getattr(shape, "has_table", False):
            rows = [[cell.text for cell in row.cells] for row in shape.table.rows]
            yield table_block(rows, headers=1 if shape.table.first_row else None)
        elif shape.has_text_frame:
            yield Block("\n".join(paragraph.text for paragraph in shape.text_frame.paragraphs))

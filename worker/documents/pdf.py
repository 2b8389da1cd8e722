"""PDF files become blocks with the page numbers that a person sees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pypdfium2
import pypdfium2.raw as pdfium

from worker.documents.blocks import Block
from worker.documents.furniture import without_furniture
from worker.documents.glyphs import Fragment, fragments
from worker.documents.layout import Line, lines
from worker.documents.nesting import Container
from worker.documents.pageflow import Typography, blocks
from worker.errors import DocumentRefused

_RIGHT_TO_LEFT = range(0x590, 0x900)
_LEAST_SHARE = 0.2
_MOST_LISTED = 10


def read_pdf(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the blocks of a PDF in reading order, running headers and footers left out.

    Pages that are images are a loss. Raises DocumentRefused for a password, damage or too many pages.
    """
    pdf = _open(data)
    try:
        most = container.limits.max_pages
        if len(pdf) > most:
            raise DocumentRefused(f"has {len(pdf):,} pages, more than {most:,}; split the file")
        yield from _pages(pdf, container.losses)
        yield from container.attachments(_attachments(pdf))
    finally:
        pdf.close()


def _open(data: bytes) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
            raise DocumentRefused("is encrypted; save it without a password") from error
        raise DocumentRefused("is damaged: not a PDF that can be opened") from error


def _pages(pdf: pypdfium2.PdfDocument, losses: list[str]) -> Iterator[Block]:
    labels = [pdf.get_page_label(index) for index in range(len(pdf))]
    laid_out = [_lines(pdf, index, losses) for index in range(len(pdf))]
    images = [index + 1 for index, found in enumerate(laid_out) if not found and _is_image(pdf, index)]
    if images:
        losses.append(
            f"no text layer on {len(images)} of {len(pdf)} pages ({_listed(images)}): run text recognition (OCR)"
        )
    pages = without_furniture(laid_out)
    for index, block in blocks(pages, Typography(pages)):
        number = index + 1
        label = labels[index]
        yield replace(block, page=number, location=f"page {label}" if label not in ("", str(number)) else "")


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:_MOST_LISTED])) + (", ..." if len(numbers) > _MOST_LISTED else "")


def _is_image(pdf: pypdfium2.PdfDocument, index: int) -> bool:
    """Tell a page without text that shows something from an empty one."""
    try:
        page = pdf[index]
    except pypdfium2.PdfiumError:
        return False
    try:
        return bool(pdfium.FPDFPage_CountObjects(page))
    finally:
        page.close()


def _lines(pdf: pypdfium2.PdfDocument, index: int, losses: list[str]) -> list[Line]:
    try:
        page = _flattened(pdf, index)
    except pypdfium2.PdfiumError:  # a damaged page costs itself, not the document
        losses.append(f"page {index + 1} is damaged")
        return []
    try:
        return lines(_right_to_left(page) or fragments(page))
    finally:
        page.close()


def _flattened(pdf: pypdfium2.PdfDocument, index: int) -> pypdfium2.PdfPage:
    """Return the page with what stands in form fields and notes as a part of its text."""
    page = pdf[index]
    if pdfium.FPDFPage_GetAnnotCount(page) and pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY):
        page.close()
        return pdf[index]
    return page


def _right_to_left(page: pypdfium2.PdfPage) -> list[Fragment]:
    """Return the lines of a Hebrew or Arabic page in PDFium's own order, which knows writing directions."""
    textpage = page.get_textpage()
    text = textpage.get_text_range()
    textpage.close()
    if sum(ord(letter) in _RIGHT_TO_LEFT for letter in text) < _LEAST_SHARE * len(text) or not text:
        return []
    return [Fragment(line, 0, 12 * row, 500, 12 * row + 11, 11) for row, line in enumerate(text.splitlines())]


def _attachments(pdf: pypdfium2.PdfDocument) -> Iterator[tuple[str, bytes]]:
    """Yield the embedded files; the whole content of a PDF portfolio is in them."""
    for index in range(pdf.count_attachments()):
        try:
            attachment = pdf.get_attachment(index)
            yield attachment.get_name(), bytes(attachment.get_data())
        except pypdfium2.PdfiumError:
            continue

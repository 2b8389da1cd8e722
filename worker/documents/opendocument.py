"""OpenDocument texts and presentations (odt, odp) become blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lxml import etree

from worker.documents.archives import open_archive, read_part
from worker.documents.blocks import Block
from worker.documents.nesting import Container
from worker.documents.tables import table_block
from worker.documents.xmlfiles import parse_xml
from worker.errors import DocumentRefused

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_MANIFEST = "{urn:oasis:names:tc:opendocument:xmlns:manifest:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_NOTE = f"{_TEXT}note"
_SKIPPED = {
    f"{_TEXT}tracked-changes",
    f"{_TEXT}table-of-content",
    _NOTE,
    f"{_DRAW}page",
    f"{_OFFICE}annotation",
    f"{_OFFICE}forms",
}
_BREAKS = {f"{_TEXT}tab": " ", f"{_TEXT}line-break": "\n", f"{_TEXT}s": " "}
_MOST_REPEATED = 100


def read_odt(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the headings, paragraphs, lists and tables of a text, or of a presentation slide by slide."""
    with open_archive(data, container.limits) as archive:
        if "META-INF/manifest.xml" in archive.namelist():
            manifest = parse_xml(read_part(archive, "META-INF/manifest.xml"))
            if manifest.find(f".//{_MANIFEST}encryption-data") is not None:
                raise DocumentRefused("is encrypted; save it without a password")
        root = parse_xml(read_part(archive, "content.xml"))
    body = root.find(f"{_OFFICE}body")
    if body is not None:
        yield from _blocks(body)
        for number, slide in enumerate(body.iter(f"{_DRAW}page"), start=1):
            yield from (replace(block, location=f"slide {number}") for block in _blocks(slide))


def _blocks(parent: etree._Element, prefix: str = "") -> Iterator[Block]:
    for element in parent:
        if element.tag == f"{_TEXT}h":
            level = element.get(f"{_TEXT}outline-level", "1")
            yield Block(_content(element), level=int(level) if level.isdigit() else 1)
        elif element.tag == f"{_TEXT}p":
            yield Block(prefix + _content(element))
            for note in element.iter(f"{_NOTE}-body"):
                yield from (replace(block, location="footnote") for block in _blocks(note))
        elif element.tag == f"{_TABLE}table":
            yield _table(element)
        elif element.tag not in _SKIPPED:
            yield from _blocks(element, "- " if element.tag == f"{_TEXT}list-item" else prefix)


def _table(table: etree._Element) -> Block:
    rows = [[text for cell in row for text in _cell(cell)] for row in table.iter(f"{_TABLE}table-row")]
    headers = table.find(f"{_TABLE}table-header-rows")
    return table_block(rows, headers=len(headers) if headers is not None else None)


def _cell(cell: etree._Element) -> list[str]:
    repeated = cell.get(f"{_TABLE}number-columns-repeated", "1")
    text = "\n".join(_content(paragraph) for paragraph in cell.iter(f"{_TEXT}p", f"{_TEXT}h"))
    return [text] * (min(int(repeated), _MOST_REPEATED) if repeated.isdigit() else 1)


def _content(element: etree._Element) -> str:
    parts = [element.text or ""]
    for child in element:
        if child.tag in _BREAKS:
            parts.append(_BREAKS[child.tag])
        elif isinstance(child.tag, str) and child.tag not in _SKIPPED:
            parts.append(_content(child))
        parts.append(child.tail or "")
    return "".join(parts)

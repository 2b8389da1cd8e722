"""Word files (docx) become blocks: paragraphs, tables, text boxes, footnotes and embedded chunks."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from docx.document import Document as WordDocument
from docx.opc.part import PartFactory
from docx.oxml.ns import qn
from docx.package import Package
from docx.parts.document import DocumentPart
from lxml import etree

from worker.documents.archives import open_archive
from worker.documents.blocks import Block
from worker.documents.grids import Cell, expand
from worker.documents.nesting import Container
from worker.documents.tables import table_block
from worker.errors import DocumentRefused

# python-docx knows ordinary documents alone; those with macros and templates differ in nothing that is read.
_ALIKE = (
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
)
PartFactory.part_type_for.update(dict.fromkeys(_ALIKE, DocumentPart))
_HEADING = re.compile(r"heading (\d)")
# The outline level that Word gives to body text.
_BODY_LEVEL = 9
# The level of lines of a table of contents, which repeats the headings.
_CONTENTS = -1
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SKIPPED = {
    _FALLBACK,
    *map(qn, ("w:del", "w:moveFrom", "w:instrText", "w:delText", "w:pPr", "w:rPr", "w:txbxContent")),
}
_MATHS = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_TEXT = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-", qn("w:ptab"): "\t"}
_FOOTNOTES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
_ENDNOTES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/endnotes"


def read_docx(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the blocks of a Word file in reading order, footnotes last."""
    open_archive(data, container.limits).close()
    part = Package.open(io.BytesIO(data)).main_document_part
    if not isinstance(part, DocumentPart):
        raise DocumentRefused("is damaged: not a Word file")
    document = part.document
    reader = _Reader(document, container)
    yield from reader.walk(document.element.body)
    for kind in (_FOOTNOTES, _ENDNOTES):
        yield from reader.notes(kind)


class _Reader:
    def __init__(self, document: WordDocument, container: Container) -> None:
        self._part = document.part
        self._container = container
        self._levels = _heading_levels(document)

    def walk(self, parent: etree._Element) -> Iterator[Block]:
        for element in parent:
            if element.tag == qn("w:p"):
                yield from self._paragraph(element)
            elif element.tag == qn("w:tbl"):
                yield from self._table(element)
            elif element.tag == qn("w:altChunk"):
                yield from self._embedded(element)
            elif element.tag in (qn("w:sdt"), qn("w:sdtContent"), qn("w:ins"), qn("w:moveTo"), qn("w:customXml")):
                yield from self.walk(element)

    def notes(self, kind: str) -> Iterator[Block]:
        for relation in self._part.rels.values():
            if relation.reltype == kind and not relation.is_external:
                parser = etree.XMLParser(resolve_entities=False, no_network=True)
                root = etree.fromstring(relation.target_part.blob, parser)
                for note in root:
                    if note.get(qn("w:type")) is None:
                        text = "\n".join(_text(paragraph) for paragraph in note.iter(qn("w:p")))
                        yield Block(text, location="footnote" if kind == _FOOTNOTES else "endnote")

    def _paragraph(self, paragraph: etree._Element) -> Iterator[Block]:
        style = paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
        level = self._levels.get(style.get(qn("w:val")), 0) if style is not None else 0
        if level == _CONTENTS:
            return
        listed = paragraph.find(f"{qn('w:pPr')}/{qn('w:numPr')}") is not None and not level
        text = _text(paragraph)
        if text.strip():
            yield Block(("- " if listed else "") + text.strip(), level=level)
        for box in _boxes(paragraph):
            yield from self.walk(box)

    def _table(self, table: etree._Element) -> Iterator[Block]:
        if table.find(f".//{qn('w:tbl')}") is not None:
            for cell in table.iterfind(f"{qn('w:tr')}/{qn('w:tc')}"):
                yield from self.walk(cell)
            return
        kept = (row for row in table.iter(qn("w:tr")) if row.find(f"{qn('w:trPr')}/{qn('w:del')}") is None)
        rows = [[_cell(cell, row) for cell in row.iter(qn("w:tc"))] for row in kept]
        grid, headers = expand(rows)
        yield table_block(grid, headers=headers)
        for box in _boxes(table):
            yield from self.walk(box)

    def _embedded(self, element: etree._Element) -> Iterator[Block]:
        relation = self._part.rels.get(element.get(qn("r:id")))
        if relation is not None and not relation.is_external:
            yield from self._container.inside(str(relation.target_part.partname), relation.target_part.blob)


def _heading_levels(document: WordDocument) -> dict[str, int]:
    """Return the outline level of each paragraph style, by the style's id; the title stands above all headings."""
    styles = document.styles.element.iter(qn("w:style"))
    return {style.get(qn("w:styleId")): _level(style) for style in styles}


def _level(style: etree._Element) -> int:
    named = style.find(qn("w:name"))
    name = named.get(qn("w:val"), "").lower() if named is not None else ""
    if name.startswith("toc "):
        return _CONTENTS
    if name == "title":
        return 1
    if match := _HEADING.fullmatch(name):
        return int(match[1]) + 1
    outline = style.find(f"{qn('w:pPr')}/{qn('w:outlineLvl')}")
    level = outline.get(qn("w:val"), "") if outline is not None else ""
    return int(level) + 2 if level.isdigit() and int(level) < _BODY_LEVEL else 0


def _text(element: etree._Element) -> str:
    """Return the text of a paragraph as Word shows it: insertions accepted, deletions and field codes left out."""
    parts = []
    for child in element:
        if child.tag in (qn("w:t"), _MATHS):
            parts.append(child.text or "")
        elif child.tag in _TEXT:
            parts.append(_TEXT[child.tag])
        elif child.tag not in _SKIPPED and not _is_hidden(child):
            parts.append(_text(child))
    return "".join(parts)


def _is_hidden(run: etree._Element) -> bool:
    vanish = run.find(f"{qn('w:rPr')}/{qn('w:vanish')}")
    return vanish is not None and vanish.get(qn("w:val"), "true") not in ("0", "false")


def _boxes(element: etree._Element) -> Iterator[etree._Element]:
    """Yield the outermost text boxes inside; the fallback copy for old programs is left out."""
    for child in element:
        if child.tag == qn("w:txbxContent"):
            yield child
        elif child.tag != _FALLBACK:
            yield from _boxes(child)


def _cell(cell: etree._Element, row: etree._Element) -> Cell:
    properties = cell.find(qn("w:tcPr"))
    span = properties.find(qn("w:gridSpan")) if properties is not None else None
    columns = int(span.get(qn("w:val"), "1")) if span is not None else 1
    header = row.find(f"{qn('w:trPr')}/{qn('w:tblHeader')}") is not None
    text = "\n".join(_text(paragraph) for paragraph in cell.iter(qn("w:p")))
    return Cell(" ".join(text.split()), header, min(max(1, columns), 100))

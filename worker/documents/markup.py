"""HTML becomes blocks: its content without the page's chrome, headings as outline, tables as rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from lxml import etree, html

from worker.documents.blocks import Block
from worker.documents.chrome import content, drop_code, drop_unread, is_blocked, is_error, page_title
from worker.documents.encoding import decode
from worker.documents.grids import Cell, expand
from worker.documents.nesting import Container
from worker.documents.tables import table_block
from worker.errors import DocumentRefused, NothingToIndex

_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)""", re.IGNORECASE)
_TEMPLATE = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SILENT = {"script", "style", "noscript", "template", "head", "title", "svg", "math", "iframe", "object"}
_SILENT |= {"select", "button", "textarea", "audio", "video", "canvas", "map"}
_INLINE = {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i"}
_INLINE |= {"img", "input", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strike", "strong"}
_INLINE |= {"sub", "sup", "time", "tt", "u", "var", "wbr", "nobr"}
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_LONGEST_CELL = 600


def read_html(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the blocks of a web page's content.

    Raises DocumentRefused for the page of a bot wall, which looks like a document and is none.
    """
    charset = _CHARSET.search(data)
    text = decode(data, declared=charset[1].decode("ascii") if charset else "")
    tree = parse(text)
    drop_code(tree)
    if is_blocked(tree):
        raise DocumentRefused("is a bot-block page, not the document; download it again by hand")
    drop_unread(tree)
    if is_error(tree):
        raise DocumentRefused("is a server's error or a login page, not the document; download it again by hand")
    title = page_title(tree)
    root = content(tree)
    found = blocks(root)
    first = next(found, None)
    if first is None:
        raise NothingToIndex("holds no text of its own: frames, a redirect or scripts fill the page; save it as PDF")
    if title and root.find(".//h1") is None:
        yield Block(title, level=1)
    yield from chain((first,), found)


def parse(text: str) -> html.HtmlElement:
    """Return the element tree of HTML text; entities are never resolved and nothing is fetched."""
    if "{%" in text:
        text = _TEMPLATE.sub(" ", text)
    parser = html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        return html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, AssertionError) as error:
        raise NothingToIndex("holds no text") from error


def blocks(root: html.HtmlElement) -> Iterator[Block]:
    """Yield the blocks below an element in reading order."""
    return _Writer().walk(root)


class _Writer:
    """Collects inline text until a block element ends the paragraph."""

    def __init__(self) -> None:
        self._inline: list[str] = []
        self._verbatim = False

    def walk(self, element: html.HtmlElement) -> Iterator[Block]:
        if not isinstance(element.tag, str) or _is_hidden(element):
            return
        if element.tag == "br":
            self._inline.append("\n")
        elif element.tag in _INLINE or ":" in element.tag:
            yield from self._children(element)
        elif element.tag == "table" and (table := _table(element)) is not None:
            yield from self._flush()
            if table.text:
                yield table
        else:
            yield from self._flush()
            outer, self._verbatim = self._verbatim, self._verbatim or element.tag == "pre"
            yield from self._children(element)
            yield from self._flush(_HEADINGS.get(element.tag, 0), "- " if element.tag == "li" else "")
            self._verbatim = outer

    def _children(self, element: html.HtmlElement) -> Iterator[Block]:
        self._add(element.text)
        for child in element:
            yield from self.walk(child)
            self._add(child.tail)

    def _add(self, text: str | None) -> None:
        # A line break in the source is a space; only <br> and <pre> break a line.
        if text:
            self._inline.append(text if self._verbatim else _SPACE.sub(" ", text))

    def _flush(self, level: int = 0, prefix: str = "") -> Iterator[Block]:
        lines = (" ".join(line.split()) for line in "".join(self._inline).split("\n"))
        self._inline.clear()
        text = ("\n" if not level else " ").join(filter(None, lines))
        if text:
            yield Block(prefix + text, level=level)


def _is_hidden(element: html.HtmlElement) -> bool:
    return element.tag in _SILENT or "hidden" in element.attrib or bool(_HIDDEN.search(element.get("style", "")))


def _table(table: html.HtmlElement) -> Block | None:
    """Return a data table as one block, or None where the table only lays out the page."""
    if table.find(".//table") is not None or table.find(".//li") is not None:
        return None
    rows = [[_cell(cell) for cell in row.iterchildren("td", "th")] for row in table.iter("tr")]
    grid, headers = expand([row for row in rows if any(cell.text for cell in row)])
    if max(map(len, grid), default=0) < 2 or any(len(cell) > _LONGEST_CELL for row in grid for cell in row):
        return None
    caption = table.findtext("caption") or ""
    heading = (" ".join(caption.split()),) if caption.strip() else ()
    return table_block(grid, headers=headers, heading=heading)


def _cell(cell: html.HtmlElement) -> Cell:
    text = " ".join(" ".join(_visible(cell)).split())
    header = cell.tag == "th" or cell.getparent().getparent().tag == "thead"
    return Cell(text, header, _span(cell, "colspan"), _span(cell, "rowspan"))


def _visible(element: html.HtmlElement) -> Iterator[str]:
    if isinstance(element.tag, str) and not _is_hidden(element):
        yield element.text or ""
        for child in element:
            yield from _visible(child)
            yield child.tail or ""


def _span(cell: html.HtmlElement, name: str) -> int:
    value = cell.get(name, "1").strip()
    return min(max(1, int(value)), 100) if value.isascii() and value.isdigit() else 1

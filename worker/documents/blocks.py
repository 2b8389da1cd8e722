"""Blocks in reading order, as readers find them, become one Document with exact offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from worker.documents.cleaning import clean, legible
from worker.documents.limits import Limits
from worker.errors import DocumentRefused, NothingToIndex
from worker.records import Document, Section

PARAGRAPH_BREAK = "\n\n"
_MOST_WARNINGS = 20


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading or a whole table; a table's text has one row a line."""

    text: str
    level: int = 0
    """0 for body text; 1 for the outermost heading, 2 for the one below it, and so on."""
    kind: Literal["text", "table"] = "text"
    page: int | None = None
    location: str = ""
    heading: tuple[str, ...] = ()
    """The headings above, where the reader knows them better than `level` could tell."""
    continues: bool = False
    """The paragraph began on the page before: its sentence must not be cut there."""


def assemble(
    blocks: Iterable[Block], *, limits: Limits, losses: list[str] | None = None, title: str = ""
) -> Document:
    """Return the document that the blocks make.

    losses: what its reader adds to while the blocks are taken from it; they become the document's `warnings`.

    Headings become the `heading` of the sections below them. A heading with nothing below it is text.
    Raises NothingToIndex where no block holds a letter or a digit, DocumentRefused above `max_characters`.
    """
    losses = [] if losses is None else losses
    parts: list[str] = []
    sections: list[Section] = []
    length = 0
    for block in ordered(blocks, losses):
        if parts:
            parts.append(" " if block.continues else PARAGRAPH_BREAK)
            length += len(parts[-1])
        _extend(sections, block, length)
        parts.append(block.text)
        length += len(block.text)
        if length > limits.max_characters:
            raise DocumentRefused(f"more than {limits.max_characters:,} characters of text; split the file")
    text = "".join(parts)
    if not text:
        raise NothingToIndex(losses[0] if losses else "holds no text that can be read")
    title = clean(title).strip() or _first_heading(sections)
    return Document(text=text, sections=tuple(sections), title=title, warnings=_told(losses))


def ordered(blocks: Iterable[Block], losses: list[str]) -> Iterator[Block]:
    """Yield the blocks that hold legible text, the headings above each in its `heading` instead of between them."""
    return _outlined(_cleaned(blocks, losses))


def _cleaned(blocks: Iterable[Block], losses: list[str]) -> Iterator[Block]:
    lost = 0
    for block in blocks:
        pieces = [clean(piece) for piece in (block.text.split("\n") if block.kind == "table" else [block.text])]
        kept = [piece for piece in map(legible, pieces) if piece]
        lost += sum(map(bool, pieces)) - len(kept)
        text = "\n".join(kept)
        if any(map(str.isalnum, text)):
            yield replace(block, text=text, heading=tuple(filter(None, map(_line, block.heading))))
    if lost:
        where = "1 place" if lost == 1 else f"{lost} places"
        losses.append(f"text was left out in {where}: the file does not tell what its characters mean")


def _told(losses: list[str]) -> tuple[str, ...]:
    told = tuple(dict.fromkeys(losses))
    if len(told) <= _MOST_WARNINGS:
        return told
    return (*told[:_MOST_WARNINGS], f"and {len(told) - _MOST_WARNINGS} more losses")


def _outlined(blocks: Iterable[Block]) -> Iterator[Block]:
    """Move headings from the stream into the blocks below them."""
    above: list[Block] = []
    bare = False  # the innermost heading has nothing below it so far
    for block in blocks:
        if block.level:
            if bare and block.level <= above[-1].level:
                yield _as_text(above)
            above = [outer for outer in above if outer.level < block.level] + [block]
            bare = True
        else:
            yield replace(block, heading=(*(_line(outer.text) for outer in above), *block.heading))
            bare = False
    if bare:
        yield _as_text(above)


def _as_text(above: list[Block]) -> Block:
    *outer, last = above
    return replace(last, level=0, heading=tuple(_line(block.text) for block in outer))


def _line(text: str) -> str:
    return " ".join(legible(clean(text)).split())


def _extend(sections: list[Section], block: Block, start: int) -> None:
    """Add the block to the section before it where both lie in the same place, else begin a section."""
    end = start + len(block.text)
    new = Section(start, end, block.page, block.heading, block.kind, block.location)
    if sections and block.kind == "text":
        last = sections[-1]
        if replace(last, start=start, end=end) == new:
            sections[-1] = replace(last, end=end)
            return
    sections.append(new)


def _first_heading(sections: list[Section]) -> str:
    return next((section.heading[0] for section in sections if section.heading), "")

"""Plain text files become blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from worker.documents.blocks import Block
from worker.documents.cleaning import clean
from worker.documents.encoding import decode
from worker.documents.nesting import Container

_PARAGRAPHS = re.compile(r"\n\s*\n")
_LONGEST_HEADING = 80


def read_text(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the paragraphs of a text file; a short line in capitals between blank lines is a heading."""
    return paragraphs(decode(data))


def paragraphs(text: str) -> Iterator[Block]:
    """Yield the paragraphs of plain text."""
    for number, paragraph in enumerate(_PARAGRAPHS.split(clean(text))):
        # The first line of a file is its title, and the headings after it lie below the title.
        level = min(number, 1) + 1 if _is_heading(paragraph) else 0
        yield Block(paragraph.strip(), level=level)


def _is_heading(paragraph: str) -> bool:
    line = paragraph.strip()
    return "\n" not in line and len(line) <= _LONGEST_HEADING and line.isupper() and sum(map(str.isalpha, line)) > 3

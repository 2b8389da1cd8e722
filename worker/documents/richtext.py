"""RTF files become blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from striprtf.striprtf import rtf_to_text

from worker.documents.blocks import Block
from worker.documents.nesting import Container
from worker.documents.text import paragraphs
from worker.errors import DocumentRefused

# How the library ends a table's row, whose cells it parts by the same sign.
_ROW_END = re.compile(r"\|\s*$")


def read_rtf(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the paragraphs of an RTF file; its control words name the encoding, its bytes are ASCII."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentRefused("is damaged: not an RTF file")
    text = rtf_to_text(data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    return paragraphs("\n\n".join(_ROW_END.sub("", line).replace("|", " | ") for line in text.split("\n")))

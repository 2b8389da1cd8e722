"""CSV and TSV files become table blocks."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from worker.documents.blocks import Block
from worker.documents.encoding import decode
from worker.documents.nesting import Container
from worker.documents.rows import Row, table_blocks
from worker.errors import DocumentRefused

# What Excel reads as an instruction; the line stays, for the rows' numbers.
_SEPARATOR_LINE = re.compile(r"\Asep=.\r?\n", re.IGNORECASE)
_SAMPLE = 16 * 1024
_DELIMITERS = ",;\t|"
# Far above any real cell, far below what an unclosed quote would swallow.
_LONGEST_FIELD = 1_000_000


def read_csv(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the rows of a delimited file, each with its column names; `rows 2-21` counts the header as row 1."""
    text = _SEPARATOR_LINE.sub("\n", decode(data), count=1)
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(io.StringIO(text, newline=""), _dialect(text[:_SAMPLE]))
    try:
        yield from table_blocks(Row(number, row) for number, row in enumerate(reader, start=1))
    except csv.Error as error:
        raise DocumentRefused("is damaged: not a delimited table") from error


def _dialect(sample: str) -> type[csv.Dialect]:
    try:
        return csv.Sniffer().sniff(sample, _DELIMITERS)
    except csv.Error:
        return csv.excel

"""Markdown becomes blocks, by way of the HTML that it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt

from worker.documents.blocks import Block
from worker.documents.encoding import decode
from worker.documents.markup import blocks, parse
from worker.documents.nesting import Container

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def read_markdown(data: bytes, container: Container) -> Iterator[Block]:
    """Yield the blocks of CommonMark text with tables; front matter is no content."""
    text = decode(data).replace("\r\n", "\n")
    markdown = MarkdownIt("commonmark").enable("table")
    return blocks(parse(markdown.render(_FRONT_MATTER.sub("", text))))

"""Cuts a text into sentences and a sentence into clauses, with character offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator

import sentencex

Offsets = tuple[int, int]

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.S | re.M)
# A line that stands for itself: a bullet, a list number, a heading, a quotation, a table row, `Annual fee: $95`.
_OWN_LINE = re.compile(
    r"[ \t]*(?:[-*•+>|#][ \t|]|\(?\d{1,3}[.)][ \t]|[-*•+>|#]$|\|)|[^\n]*(?: \| |\t)|"
    r"[^\n:.!?|]{1,40}:[ \t]+\S[^\n]{0,60}(?:\n(?![ \t]*[a-z])|\Z)",
    re.M,
)
_LEAD = re.compile(r"[ \t]*(?:[-*•+>#]+[ \t]+|\(?\d{1,3}[.)][ \t]+)*")
_CLAUSE = re.compile(
    r"[,;:](?=\s)|(?<=\s)\(|\)(?=[\s.,;])|(?<=\s)(?:and|but|while|whereas|compared (?:to|with)|versus|vs\.?|"
    r"und|et|y|however)(?=\s)|\s[–—-](?=\s)",
    re.I,
)
_LONGEST = 5000
_WRAPPED = re.compile(r"[^\s.!?:;|。！？]\n(?=[ \t]*[a-z\d(])")


def split_sentences(text: str) -> tuple[Offsets, ...]:
    """The sentences of a text in order, without the space and the bullets around them; a code block is one."""
    return tuple(_sentences(text))


def split_clauses(text: str, start: int, end: int) -> tuple[Offsets, ...]:
    """The clauses of one sentence, together covering it except for the marks between them."""
    bounds = [start, *(edge for match in _CLAUSE.finditer(text, start, end) for edge in match.span()), end]
    clauses = [_trimmed(text, *pair) for pair in zip(bounds[::2], bounds[1::2], strict=True)]
    return tuple(clause for clause in clauses if clause[0] < clause[1])


def _sentences(text: str) -> Iterator[Offsets]:
    position = 0
    for fence in _FENCE.finditer(text):
        yield from _prose(text, position, fence.start())
        yield _trimmed(text, *fence.span())
        position = fence.end()
    yield from _prose(text, position, len(text))


def _prose(text: str, start: int, end: int) -> Iterator[Offsets]:
    for first, last in _blocks(text, start, end):
        block = text[first:last]
        # Some versions of the library split at every line break; a wrapped line goes on.
        joined = _WRAPPED.sub(lambda match: match[0][:-1] + " ", block)
        for boundary in sentencex.get_sentence_boundaries("en", joined):
            offsets = _trimmed(text, first + boundary["start_index"], first + boundary["end_index"])
            if offsets[0] < offsets[1] and re.search(r"\w", text[slice(*offsets)]):
                yield offsets


def _blocks(text: str, start: int, end: int) -> Iterator[Offsets]:
    """Paragraphs, and each line that stands for itself."""
    block = position = start
    for line in text[start:end].splitlines(keepends=True):
        if not line.strip() or _OWN_LINE.match(text, position, end):
            yield from _pieces(text, block, position)
            block = position
        position += len(line)
    yield from _pieces(text, block, position)


def _pieces(text: str, start: int, end: int) -> Iterator[Offsets]:
    """A block, cut at spaces where it is longer than any paragraph: the library's time grows with the square."""
    while start < end:
        space = text.rfind(" ", start + 1, start + _LONGEST) + 1 if end - start > _LONGEST else end
        stop = space or start + _LONGEST
        yield start, stop
        start = stop


def _trimmed(text: str, start: int, end: int) -> Offsets:
    lead = _LEAD.match(text, start, end)
    start = lead.end() if lead else start
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())

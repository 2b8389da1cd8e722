"""A document's sections become chunks of about a paragraph, each an exact slice of the document's text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import sentencex

from worker.records import Chunk, Document, Section

# Names the way in which documents are read and cut. A change of it makes the next ingest build every collection anew:
# raise it with a change that is worth that.
VERSION = "1"
# A chunk closes at the first paragraph end after this share of the limit: longer ones dilute the vector.
_FULL = 0.5
# Where a sentence must be cut after all: between lines, clauses, cells, list members, words.
_SEPARATORS = ("\n", "; ", " | ", ", ", " ")
# Below this share of the budget the sum of two costs stands for the cost of both together.
_NEAR = 0.8
_BUNDLES = 16
_LIST_MARK = "- "
_LANGUAGE = "en"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A slice of the document's text and what it costs in tokens."""

    start: int
    end: int
    cost: int


def chunk_document(document: Document, *, count_tokens: Callable[[str], int], max_tokens: int) -> list[Chunk]:
    """Return the document's chunks in reading order.

    count_tokens: counts as the embedder does, and as `max_tokens` is meant, with or without special tokens.
    max_tokens: no `chunk.embedded_text` counts more than this. Headings that would take more than half of it
        are left out, outermost first.

    A chunk holds whole paragraphs or table rows of one heading and begins on its `page`; only a paragraph that
    is too long by itself is cut, between sentences, into parts of equal size. Raises ValueError where
    `max_tokens` leaves no room for text.
    """
    chunker = _Chunker(document, count_tokens, max_tokens)
    alike = groupby(document.sections, key=lambda section: (section.heading, section.kind, section.location))
    return [chunk for _, sections in alike for chunk in chunker.chunks(list(sections))]


class _Chunker:
    def __init__(self, document: Document, count_tokens: Callable[[str], int], max_tokens: int) -> None:
        self._text = document.text
        self._count = count_tokens
        self._max = max_tokens
        self._special = count_tokens("")
        if max_tokens <= self._special + 1:
            raise ValueError(f"max_tokens={max_tokens} leaves no room for text; the embedder reads more")

    def chunks(self, sections: Sequence[Section]) -> Iterator[Chunk]:
        """Yield the chunks of neighbouring sections under one heading."""
        first = sections[0]
        heading = self._fitting(first.heading)
        budget = self._max - (self._count("\n".join((*heading, ""))) if heading else self._special)
        starts = [section.start for section in sections]

        def page(piece: _Piece) -> int | None:
            return sections[bisect_right(starts, piece.start) - 1].page

        whole = self._rows(sections) if first.kind == "table" else self._paragraphs(sections)
        for group in self._packed(whole, budget, page):
            start, end = group[0].start, group[-1].end
            if any(map(str.isalnum, self._text[start:end])):  # a lone rule or bullet answers nothing
                yield Chunk(self._text[start:end], start, end, page(group[0]), heading, first.location)

    def _fitting(self, heading: tuple[str, ...]) -> tuple[str, ...]:
        while heading and self._count("\n".join((*heading, ""))) > self._max // 2:
            heading = heading[1:]
        return heading

    def _packed(
        self, pieces: Iterator[_Piece], budget: int, page: Callable[[_Piece], int | None]
    ) -> Iterator[list[_Piece]]:
        """Group whole pieces into chunks; a piece above the budget is cut and its parts stand alone."""
        group: list[_Piece] = []
        for piece in pieces:
            if group and not self._joins(group, piece, budget, page):
                yield group
                group = []
            if piece.cost > budget:
                yield from ([part] for part in self._cut(piece, budget))
            else:
                group.append(piece)
        if group:
            yield group

    def _joins(self, group: list[_Piece], piece: _Piece, budget: int, page: Callable[[_Piece], int | None]) -> bool:
        cost = self._cost(group[0].start, piece.end)
        full = sum(member.cost for member in group) >= _FULL * budget
        # What ends in a colon says little without what follows, and so do the members of a list alone.
        needed = self._text[group[-1].end - 1] == ":" or self._text.startswith(_LIST_MARK, piece.start)
        return cost <= budget and page(group[0]) == page(piece) and (needed or not full)

    def _cost(self, start: int, end: int) -> int:
        return self._count(self._text[start:end]) - self._special

    def _piece(self, start: int, end: int) -> _Piece:
        return _Piece(start, end, self._cost(start, end))

    def _rows(self, sections: Sequence[Section]) -> Iterator[_Piece]:
        for section in sections:
            yield from (self._piece(*span) for span in self._split(section.start, section.end, "\n"))

    def _paragraphs(self, sections: Sequence[Section]) -> Iterator[_Piece]:
        spans = self._split(sections[0].start, sections[-1].end, "\n\n")
        return (self._piece(*span) for span in spans)

    def _split(self, start: int, end: int, separator: str) -> Iterator[tuple[int, int]]:
        """Yield the spans between separators, spaces around them left out."""
        cuts = [start - len(separator)]
        while (cut := self._text.find(separator, cuts[-1] + len(separator), end)) >= 0:
            cuts.append(cut)
        # A separator that can be seen stays with the part before it.
        seen = len(separator.rstrip())
        for before, after in pairwise((*cuts, end)):
            yield from self._trimmed(before + len(separator), min(after + seen, end))

    def _trimmed(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        text = self._text[start:end]
        if text.strip():
            yield start + len(text) - len(text.lstrip()), start + len(text.rstrip())

    def _cut(self, piece: _Piece, budget: int) -> Iterator[_Piece]:
        """Cut a piece that is too long, between sentences, else at the mildest separator that it has."""
        spans = self._sentences(piece)
        for separator in _SEPARATORS:
            if len(spans) > 1:
                break
            spans = list(self._split(piece.start, piece.end, separator))
        else:
            spans = _bundles(spans)
        if len(spans) < 2:
            middle = (piece.start + piece.end) // 2
            spans = [(piece.start, middle), (middle, piece.end)]
        yield from self._balanced([self._piece(*span) for span in spans], budget)

    def _sentences(self, piece: _Piece) -> list[tuple[int, int]]:
        found = sentencex.get_sentence_boundaries(_LANGUAGE, self._text[piece.start : piece.end])
        spans = ((piece.start + one["start_index"], piece.start + one["end_index"]) for one in found)
        return [trimmed for span in spans for trimmed in self._trimmed(*span)]

    def _balanced(self, parts: list[_Piece], budget: int) -> Iterator[_Piece]:
        """Join parts to as few runs as the budget allows, of about equal cost."""
        total = sum(part.cost for part in parts)
        target = total / sum(1 for _ in self._runs(parts, budget, total))
        for run in self._runs(parts, budget, target):
            yield from self._cut(run, budget) if run.cost > budget else (run,)

    def _runs(self, parts: list[_Piece], budget: int, target: float) -> Iterator[_Piece]:
        run, number, before = parts[0], 1, parts[0].cost
        for part in parts[1:]:
            joined = self._joined(run, part, budget)
            if joined.cost > budget or before + part.cost / 2 > number * target:
                yield run
                joined, number = part, number + 1
            run, before = joined, before + part.cost
        yield run

    def _joined(self, run: _Piece, part: _Piece, budget: int) -> _Piece:
        total = run.cost + part.cost
        return self._piece(run.start, part.end) if total > _NEAR * budget else _Piece(run.start, part.end, total)


def _bundles(words: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the words in a few runs; a run that is too long is cut again, and no word is counted alone."""
    size = max(1, len(words) // _BUNDLES)
    return [(words[start][0], words[min(start + size, len(words)) - 1][1]) for start in range(0, len(words), size)]

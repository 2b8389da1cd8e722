"""Lines that a document repeats at the edges of its pages: running headers, footers and page numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from worker.documents.layout import Line

# How many lines at the top and at the bottom of a page may be furniture, and how often it must come back.
_EDGE = 3
_LEAST_PAGES = 3
_LEAST_SHARE = 0.3
# Even and odd pages differ, and a header may change with the chapter: near pages count as well.
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)
_PLACE = 6.0  # points

Key = tuple[str, int]


def without_furniture(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """Return the pages without the lines that stand at the same height of many of them, numbers aside."""
    counts = Counter(key for page in pages for key in {_key(line) for line in _edges(page)})
    least = max(_LEAST_PAGES, _LEAST_SHARE * len(pages))
    repeated = {key for key, count in counts.items() if count >= least}
    kept = [[line for line in page if not _is_furniture(line, page, repeated)] for page in pages]
    # Where little else stands on the pages, as on slides or labels, what repeats is the content.
    return kept if sum(map(bool, kept)) > len(pages) / 2 else list(pages)


def _is_furniture(line: Line, page: list[Line], repeated: set[Key]) -> bool:
    near = ((_key(line)[0], _key(line)[1] + step) for step in (-1, 0, 1))
    return any(key in repeated for key in near) and any(line is edge for edge in _edges(page))


def _edges(page: list[Line]) -> Iterator[Line]:
    ordered = sorted(page, key=lambda line: line.top)
    yield from ordered[:_EDGE]
    yield from ordered[max(_EDGE, len(ordered) - _EDGE) :]


def _key(line: Line) -> Key:
    text = _DIGITS.sub("#", " ".join(line.text.lower().split()))
    # A bare page number stands below the last line, wherever that is.
    return text, 0 if text.strip(" -–—") == "#" else round(line.top / _PLACE)

"""Edits of a text, applied at once, with a map from old positions to new ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """`text[start:end]` becomes `replacement`."""

    start: int
    end: int
    replacement: str = ""


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after its edits; `moved` says where a position of the old text lies now."""

    text: str
    starts: tuple[int, ...] = ()
    """Old positions where kept runs begin, ascending."""
    targets: tuple[int, ...] = ()
    """The new position of each kept run's first character."""

    def moved(self, position: int) -> int:
        """The new place of an old position; inside an edit, where the edit's replacement ends."""
        run = bisect_right(self.starts, position) - 1
        if run < 0:
            return 0
        end = self.targets[run + 1] if run + 1 < len(self.targets) else len(self.text)
        return min(self.targets[run] + position - self.starts[run], end)


def apply_edits(text: str, edits: Iterable[Edit]) -> Edited:
    """Apply the edits from left to right; of two that overlap, the one that begins first wins."""
    parts: list[str] = []
    starts: list[int] = [0]
    targets: list[int] = [0]
    position = length = 0
    for edit in sorted(edits):
        if edit.start < position:
            continue
        parts += (text[position : edit.start], edit.replacement)
        length += edit.start - position + len(edit.replacement)
        position = edit.end
        starts.append(position)
        targets.append(length)
    return Edited("".join((*parts, text[position:])), tuple(starts), tuple(targets))

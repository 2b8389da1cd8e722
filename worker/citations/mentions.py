"""What the reading rooms find in one text: the sources it mentions, and the edits that take them out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from worker.citations.editing import Edit


@dataclass(frozen=True, slots=True)
class Mention:
    """One string that the model offered as a source."""

    string: str
    name: str | None
    """The shown document it names."""
    reason: str = ""
    """Why it names no shown document."""
    position: int | None = None
    """Where in the text it stood; None where it speaks for the whole answer."""
    marker: str = ""
    """The whole marker that the string is a part of."""
    stays: bool = False
    """It is part of a sentence, and stays in the text."""


class Findings:
    """Mentions and edits that grow while the rooms read one text; what one has taken is closed to the next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.mentions: list[Mention] = []
        self.edits: list[Edit] = []
        self._closed = bytearray(len(text))

    def close(self, start: int, end: int) -> None:
        """Leave a stretch as it is: nobody reads it any more."""
        self._closed[start:end] = b"\1" * (end - start)

    def is_free(self, start: int, end: int) -> bool:
        """Whether no room has taken or closed any of a stretch."""
        return not any(self._closed[start:end])

    def take(self, start: int, end: int, mentions: Iterable[Mention] = (), replacement: str = "") -> None:
        """Record the mentions of a stretch and replace it."""
        self.mentions += mentions
        self.edits.append(Edit(start, end, replacement))
        self.close(start, end)

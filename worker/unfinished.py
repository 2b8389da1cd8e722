"""A text that was cut off in, what of it was finished out."""

from __future__ import annotations

import re

from worker.citations.sentences import split_sentences

_SOURCES = re.compile(r"^\W*(?:sources?|references?|citations?|documents?)\W*:", re.IGNORECASE)
# A point behind a digit may have been on its way to a decimal: "The rate is 3." of "3.5 percent".
_FINISHED = re.compile(r"(?:[!?…。！？।]|(?<!\d)\.)[\"'”’»)\]*_]*\Z")


def finished(text: str) -> str:
    """Return a cut-off text up to the end of its last finished sentence; "" where there is none.

    Where the last line is one of sources, the answer above it is finished.
    """
    text = text.rstrip()
    if _SOURCES.match(text.rpartition("\n")[2]) or _FINISHED.search(text):
        return text
    sentences = split_sentences(text)
    return text[: sentences[-1][0]].rstrip() if sentences else ""

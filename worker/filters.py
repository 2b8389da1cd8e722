"""Which documents may answer a question: a condition over what is known about a document."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from worker.stored import DocumentInfo


@dataclass(frozen=True, slots=True)
class Filter:
    """Every condition that is given must hold; `Filter()` lets everything through."""

    documents: frozenset[str] | None = None
    """Names of the documents that may answer."""
    patterns: tuple[str, ...] = ()
    """Patterns of names as in a shell, where `*` crosses folders; one must fit."""
    folder: str = ""
    """A folder of the collection, as in `taxes/2024`: documents in it, at any depth."""
    modified_from_ns: int | None = None
    """The earliest time of last modification, in nanoseconds since 1970, inclusive."""
    modified_until_ns: int | None = None
    """The latest time of last modification, exclusive."""
    tags: frozenset[str] = frozenset()
    """Tags that a document must all have."""

    def allows(self, document: DocumentInfo) -> bool:
        """Say whether this document may answer."""
        return (
            (self.documents is None or document.name in self.documents)
            and (not self.patterns or any(fnmatchcase(document.name, pattern) for pattern in self.patterns))
            and (not self.folder or document.name.startswith(self.folder.rstrip("/") + "/"))
            and (self.modified_from_ns is None or document.modified_ns >= self.modified_from_ns)
            and (self.modified_until_ns is None or document.modified_ns < self.modified_until_ns)
            and self.tags.issubset(document.tags)
        )

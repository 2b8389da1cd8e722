"""What one ingest has done so far, counted, becomes its progress and its outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from worker.records import IngestOutcome, IngestProgress, RefusedFile
from worker.stored import DocumentInfo


@dataclass(slots=True)
class Tally:
    """Counts each file once."""

    total: int
    tell: Callable[[IngestProgress], None] = lambda _: None
    started: float = field(default_factory=time.monotonic)
    chunks: int = 0
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    refused: list[RefusedFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _indexed: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.started

    def keep(self, infos: Iterable[DocumentInfo]) -> None:
        """Count files that need no work; one that was refused before is still refused."""
        for info in infos:
            self.unchanged += self._is_indexed(info)
        self.pulse()

    def move(self, info: DocumentInfo) -> None:
        """Count one file that has another name."""
        self.renamed += self._is_indexed(info)
        self.pulse()

    def note(self, info: DocumentInfo) -> None:
        """Count one file that was read."""
        self.chunks += info.chunks
        if self._is_indexed(info):
            self._indexed.append(info.name)
            if info.reason:
                self.warnings.append(f"{info.name}: {info.reason}")
        self.pulse()

    def refuse(self, name: str, reason: str) -> None:
        """Count one file that was not read; what is stored of it stays."""
        self.refused.append(RefusedFile(name, "refused", reason))
        self.pulse()

    def outcome(self, *, changed: Iterable[str] = ()) -> IngestOutcome:
        """Return what was done; of the files that were indexed, those in `changed` are not new."""
        known = len(set(changed) & set(self._indexed))
        return IngestOutcome(
            added=len(self._indexed) - known,
            changed=known,
            removed=self.removed,
            renamed=self.renamed,
            unchanged=self.unchanged,
            refused=tuple(self.refused),
            chunks=self.chunks,
            seconds=self.seconds,
            warnings=tuple(self.warnings),
        )

    def pulse(self) -> None:
        """Tell the progress, be it the same as before: the run lives."""
        done = self.unchanged + self.renamed + len(self._indexed) + len(self.refused)
        self.tell(IngestProgress(self.total, done, self.chunks, len(self.refused), self.seconds))

    def _is_indexed(self, info: DocumentInfo) -> bool:
        if info.state == "indexed":
            return True
        self.refused.append(RefusedFile(info.name, info.state, info.reason))
        return False

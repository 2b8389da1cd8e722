"""What crosses the wire between an app and the workers, all in one place to import from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from producer.asking import (
    CONNECTORS,
    POLICIES,
    Answer,
    Attempt,
    Audit,
    Dropped,
    Figure,
    Question,
    Reply,
    Sentence,
    Shown,
    Source,
)
from producer.ingestion import (
    DeleteRequest,
    DocumentList,
    DocumentsRequest,
    DocumentState,
    IngestReport,
    IngestRequest,
    Progress,
    Refusal,
    UploadRequest,
)
from producer.message import SCHEMA_VERSION, Message, new_id, require_collection, require_document_name, require_id
from producer.scope import Filters, Turn

__all__ = [
    "CONNECTORS",
    "ENDED",
    "POLICIES",
    "SCHEMA_VERSION",
    "Answer",
    "Attempt",
    "Audit",
    "DeleteRequest",
    "DocumentList",
    "DocumentState",
    "DocumentsRequest",
    "Dropped",
    "Figure",
    "Filters",
    "IngestReport",
    "IngestRequest",
    "Message",
    "Progress",
    "Question",
    "Refusal",
    "Reply",
    "Sentence",
    "Shown",
    "Source",
    "State",
    "TaskStatus",
    "Turn",
    "UploadRequest",
    "new_id",
    "require_collection",
    "require_document_name",
    "require_id",
]

State = Literal["unknown", "queued", "started", "progress", "succeeded", "failed", "expired", "cancelled"]


# Nothing changes any more.
ENDED: Final[frozenset[State]] = frozenset({"unknown", "succeeded", "failed", "expired", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus(Message):
    """What is known of a task id."""

    id: str
    state: State
    kind: str = ""
    """`answer`, `ingest`, `delete` or `documents`."""
    progress: Progress | None = field(default=None, metadata={"of": Progress})
    """How far an ingest is, while it runs."""
    error: str = ""
    reason: str = ""
    retryable: bool = False
    queue: str = ""
    """The queue that it was sent to."""
    ahead: int | None = None
    """While it is queued: about how many tasks a worker takes before it."""
    workers: int | None = None
    """While it is queued: how many workers listen on its queue. 0 means that it waits for nobody."""

    @property
    def words(self) -> str:
        """The state as a sentence."""
        if self.state == "queued":
            return self._queued()
        if self.state == "progress" and self.progress:
            return f"running: {self.progress.done} of {self.progress.total} files are done"
        return f"{self.state}: {self.error}: {self.reason}" if self.error else _WORDS[self.state]

    def _queued(self) -> str:
        if self.workers == 0:
            return f"queued, and no worker listens on {self.queue}; start one"
        if self.ahead is None:
            return "queued"
        return f"queued, {self.ahead} ahead of it" if self.ahead else "queued, the next in line"


_WORDS: Final[dict[State, str]] = {
    "unknown": "unknown: it was never sent, or is long over",
    "started": "started: a worker is at it",
    "progress": "running",
    "succeeded": "succeeded",
    "failed": "failed",
    "expired": "expired: its deadline passed before it was answered",
    "cancelled": "cancelled",
}

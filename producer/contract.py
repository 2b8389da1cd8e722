"""What crosses the wire between an app and the workers, all in one place to import from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from producer.asking import (
    CONNECTORS,
    POLICIES,
    Answer,
    Attempt,
    Audit,
    Dropped,
    Figure,
    Question,
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
from producer.message import SCHEMA_VERSION, Message, new_id, require_collection, require_document_name

__all__ = [
    "CONNECTORS",
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
    "IngestReport",
    "IngestRequest",
    "Message",
    "Progress",
    "Question",
    "Refusal",
    "Sentence",
    "Shown",
    "Source",
    "State",
    "TaskStatus",
    "UploadRequest",
    "new_id",
    "require_collection",
    "require_document_name",
]

State = Literal["unknown", "queued", "started", "progress", "succeeded", "failed", "expired", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus(Message):
    """What is known of a task id; `progress` only while an ingest runs."""

    id: str
    state: State
    kind: str = ""
    progress: Progress | None = field(default=None, metadata={"of": Progress})
    error: str = ""
    reason: str = ""
    retryable: bool = False

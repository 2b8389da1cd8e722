"""What the worker raises; `retryable` says whether the same task may succeed later, unchanged.

Messages name files, settings and remedies, never a question, an answer or a document's text.

    WorkerError
    ├── SettingError                 a setting is missing or wrong
    ├── DocumentError                one file yields nothing; the other files go on
    │   ├── NothingToIndex           the file is fine and holds no text
    │   └── DocumentRefused          encrypted, damaged, too large, unsupported, not a document
    ├── IngestError
    │   ├── FolderUnavailable        the folder is missing, unreadable or suspiciously empty
    │   ├── FolderMismatch           the collection is made from another folder
    │   ├── IngestRunning            another run is at work on the collection        (retryable)
    │   ├── IngestStopped            the run was told to stop between two documents  (retryable)
    │   ├── NameTaken                the folder holds a document of the upload's name
    │   └── UploadLost               the uploaded bytes are gone, or not those that were sent
    ├── EmbeddingError               the embedder is missing, or gave zero, NaN or infinite vectors
    ├── StoreError
    │   ├── StoreUnavailable         Redis is away                                   (retryable)
    │   ├── UnknownCollection        nothing was ever ingested under this name
    │   ├── LayoutMismatch           the stored bytes have another layout; rebuild
    │   ├── EmbedderMismatch         another embedder wrote this collection; rebuild
    │   ├── RedisNearlyFull          Redis is above the mark; nothing more is ingested
    │   ├── CollectionTooLarge       the vectors do not fit into the device's memory
    │   └── VectorRefused            wrong dimension, zero, NaN or infinite
    ├── ConnectorError
    │   ├── ModelBusy                too many calls in flight, here or at the server (retryable)
    │   ├── ModelUnavailable         the model server does not answer                (retryable)
    │   │   └── ModelUnreachable     no connection to it can be made                 (retryable)
    │   ├── ModelRefused             the server rejected the call (key, billing, content)
    │   └── ModelAnswerInvalid       the server answered something unreadable
    ├── DeliveryError
    │   ├── MessageRefused           the message is no task that this worker can read
    │   ├── AccessDenied             its sender has no grant for this; nothing was done
    │   └── TaskAbandoned            the task killed its worker too often
    ├── DeadlineExceeded             the question's deadline passed while it was worked on
    ├── Cancelled                    somebody cancelled the task while it was worked on
    └── StackError                   the embedded stack cannot start
"""

from __future__ import annotations


class WorkerError(Exception):
    """The root of everything that the worker raises on purpose."""

    retryable: bool = False


class SettingError(WorkerError):
    """Raised when settings are missing or wrong; the message names each one and its remedy."""


class DocumentError(WorkerError):
    """Raised when one file yields no chunks; `reason` is for the ingest report."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NothingToIndex(DocumentError):
    """Raised when a file can be read and holds no text: empty, or images without a text layer."""


class DocumentRefused(DocumentError):
    """Raised when a file cannot be read: encrypted, damaged, too large, unsupported, not a document."""


class IngestError(WorkerError):
    """Raised when a whole ingest cannot go on."""


class FolderUnavailable(IngestError):
    """Raised when the folder is missing, unreadable or suspiciously empty; nothing was deleted."""


class FolderMismatch(IngestError):
    """Raised when a collection is made from another folder; nothing was read, and the message says how to move it."""


class IngestRunning(IngestError):
    """Raised when another run is at work on the collection; nothing was changed by this one."""

    retryable = True


class IngestStopped(IngestError):
    """Raised when a run was told to stop; what it did stays, and the next run goes on from there."""

    retryable = True


class NameTaken(IngestError):
    """Raised when an uploaded document has the name of one that comes from the folder; nothing was changed."""


class UploadLost(IngestError):
    """Raised when the uploaded bytes are gone or are not those that were sent; send them again."""


class EmbeddingError(WorkerError):
    """Raised when the embedder cannot be loaded, or produced what is no vector."""


class StoreError(WorkerError):
    """Raised when the stored documents cannot be read or written."""


class StoreUnavailable(StoreError):
    """Raised when Redis cannot be reached; the same call may succeed later."""

    retryable = True


class UnknownCollection(StoreError):
    """Raised when nothing was ever ingested under this name; ingest a folder first."""


class LayoutMismatch(StoreError):
    """Raised when the stored bytes were written by another layout version; rebuild the collection."""


class EmbedderMismatch(StoreError):
    """Raised when another embedder wrote this collection; rebuild it or set the old embedder."""


class RedisNearlyFull(StoreError):
    """Raised when Redis is above the mark beyond which nothing is ingested; what was stored stays."""


class CollectionTooLarge(StoreError):
    """Raised when a collection would not fit into the memory of the device; nothing was loaded."""


class VectorRefused(StoreError):
    """Raised when a vector has the wrong dimension, is zero, or holds NaN or infinity."""


class ConnectorError(WorkerError):
    """Raised when a model gave no draft."""


class ModelBusy(ConnectorError):
    """Raised when no place for another call came free in time; `retry_after` is the wait that a server asked for."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds


class ModelUnavailable(ConnectorError):
    """Raised when the model server cannot be reached or does not answer in time."""

    retryable = True


class ModelUnreachable(ModelUnavailable):
    """Raised when no connection to the model server can be made, or it is closed before any answer begins."""


class ModelRefused(ConnectorError):
    """Raised when the server rejected the call for good: key, billing, unknown model, content."""


class ModelAnswerInvalid(ConnectorError):
    """Raised when the server answered with something that is no chat completion."""


class DeliveryError(WorkerError):
    """Raised when a message in the queue leads to no run of a task."""


class MessageRefused(DeliveryError):
    """Raised when a message is no task that this worker can read: pickled, damaged, unknown."""


class AccessDenied(DeliveryError):
    """Raised when a request is not signed, or its grant does not allow it; the message says what the app needs."""


class TaskAbandoned(DeliveryError):
    """Raised when a task's worker died each time it was at it; it is not started again."""


class DeadlineExceeded(WorkerError):
    """Raised when the question's deadline passed while it was worked on."""


class Cancelled(WorkerError):
    """Raised when somebody cancelled the task while it was worked on; what an ingest did until then stays."""


class StackError(WorkerError):
    """Raised when the embedded stack cannot start; the message says what to do."""

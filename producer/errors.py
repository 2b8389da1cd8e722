"""What an app can catch; `retryable` says whether the same call may succeed later, unchanged.

RagError
├── ConfigurationError        a setting is missing or wrong
├── ClientClosed              the client was closed; what was sent goes on
├── InvalidRequest            the request itself is wrong; nothing was sent
├── ContractError             a message could not be read
├── BrokerUnavailable         Redis is away; nothing was sent            (retryable)
├── AnswerTimeout             the wait ended, the question goes on       (retryable)
└── TaskError                 the worker's own end of a task
    ├── UnknownTask           no such id was ever sent, or it is forgotten
    ├── TaskExpired           the deadline passed before it was done     (retryable)
    │   └── QuestionExpired   the same of a question: nobody answered it in time
    ├── TaskCancelled         somebody cancelled it
    └── TaskFailed            the worker failed; carries its error type  (as the worker says)
"""

from __future__ import annotations

from typing import ClassVar


class RagError(Exception):
    """The root of everything that rag-kit raises."""

    retryable: bool = False


class ConfigurationError(RagError):
    """Raised when settings are missing or wrong; the message names each one and its remedy."""


class ClientClosed(RagError):
    """Raised when a client is used after it was closed, or closed while in use; what was sent goes on."""


class InvalidRequest(RagError):
    """Raised when a request is refused before it is sent; the message names the argument and the remedy."""


class ContractError(RagError):
    """Raised when a message is not what the contract says; `payload` keeps it for a look."""

    def __init__(self, message: str, payload: object = None) -> None:
        super().__init__(message)
        self.payload = payload


class BrokerUnavailable(RagError):
    """Raised when Redis cannot be reached in time; nothing was sent, so the call may be repeated."""

    retryable = True


class AnswerTimeout(RagError):
    """Raised when the caller's patience ended first; the question goes on and its id stays valid."""

    retryable = True


class TaskError(RagError):
    """Raised when a task ended without a result; `task_id` says which."""

    summary: ClassVar[str] = "the task ended without a result"

    def __init__(self, task_id: str, message: str = "") -> None:
        super().__init__(message or f"{task_id}: {self.summary}")
        self.task_id = task_id

    @property
    def words(self) -> str:
        """What happened, without the id."""
        return f"{type(self).__name__}: {self.summary}"


class UnknownTask(TaskError):
    """Raised when an id was never sent from here, or so long ago that it is forgotten."""

    summary = "no task of this id is known; it was never sent or is long over"


class TaskExpired(TaskError):
    """Raised when the deadline passed before the task was done; send it again if it still matters."""

    summary = "its deadline passed before it was done; send it again if it still matters"
    retryable = True


class QuestionExpired(TaskExpired):
    """Raised when a question's deadline passed before it was answered; ask again if it still matters."""

    summary = "its deadline passed before it was answered; ask again if it still matters"


class TaskCancelled(TaskError):
    """Raised when a task was cancelled before it ended."""

    summary = "it was cancelled"


class TaskFailed(TaskError):
    """Raised when the worker failed; `error` is the worker's error type, `retryable` is the worker's word."""

    def __init__(self, task_id: str, error: str, reason: str, *, retryable: bool = False) -> None:
        super().__init__(task_id, f"{task_id}: {error}: {reason}")
        self.error = error
        self.reason = reason
        self.retryable = retryable

    @property
    def words(self) -> str:
        """What happened, without the id."""
        return f"{self.error}: {self.reason}"

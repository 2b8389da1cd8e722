"""The app's half of rag-kit: enqueue questions and folders, read checked answers; needs `celery[redis]` alone."""

from producer.client import RagClient, Ticket
from producer.contract import (
    Answer,
    Audit,
    Dropped,
    IngestReport,
    IngestRequest,
    Progress,
    Question,
    Refusal,
    Source,
    TaskStatus,
)
from producer.errors import (
    AnswerTimeout,
    BrokerUnavailable,
    ConfigurationError,
    ContractError,
    InvalidRequest,
    RagError,
    TaskCancelled,
    TaskError,
    TaskExpired,
    TaskFailed,
    UnknownTask,
)

__all__ = [
    "Answer",
    "AnswerTimeout",
    "Audit",
    "BrokerUnavailable",
    "ConfigurationError",
    "ContractError",
    "Dropped",
    "IngestReport",
    "IngestRequest",
    "InvalidRequest",
    "Progress",
    "Question",
    "RagClient",
    "RagError",
    "Refusal",
    "Source",
    "TaskCancelled",
    "TaskError",
    "TaskExpired",
    "TaskFailed",
    "TaskStatus",
    "Ticket",
    "UnknownTask",
]

"""A message that no task can be made of in, a failure that its sender can read out; nothing of its body is logged."""

from __future__ import annotations

import logging
from typing import Any

import celery.worker.consumer
from celery.app.task import Context

from worker.errors import MessageRefused
from worker.tasks import TaskFailure

# Known to type checkers in part only.
_celery: Any = celery.worker.consumer
_log = logging.getLogger(__name__)


class Consumer(_celery.Consumer):  # type: ignore[misc]
    """Refuses in words of ours: Celery's own would show the body, and leave most senders waiting."""

    def on_decode_error(self, message: Any, exc: BaseException) -> None:
        """Refuse a body that is damaged."""
        self._refuse(message, f"its body cannot be read ({type(exc).__name__})")

    def on_invalid_task(self, body: Any, message: Any, exc: BaseException) -> None:
        """Refuse what is not JSON (a pickled body is code), or lacks what a task needs."""
        self._refuse(message, f"{message.content_type} is not accepted, only JSON ({type(exc).__name__})")

    def on_unknown_message(self, body: Any, message: Any) -> None:
        """Refuse what names no task."""
        self._refuse(message, "it names no task")

    def on_unknown_task(self, body: Any, message: Any, exc: BaseException) -> None:
        """Refuse a task of another version."""
        self._refuse(message, "this worker knows no such task; is the app of another version?")

    def _refuse(self, message: Any, reason: str) -> None:
        task_id, task = str(message.headers.get("id", "")), str(message.headers.get("task", ""))
        _log.error("a message was refused: %s (task %.80r, id %.80r)", reason, task, task_id)
        if task_id:
            failure = TaskFailure(MessageRefused.__name__, f"the message was refused: {reason}", False)
            self.app.backend.mark_as_failure(task_id, failure, request=Context(id=task_id, task=task))
        message.ack_log_error(_log, self.connection_errors)

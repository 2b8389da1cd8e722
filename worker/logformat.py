"""A log record in, one line of JSON out: when, where, which task, the message; nothing that a record carries beside.

No library: what those add over these lines is to pass on every extra of a record, and Celery's extras are the
arguments and results of tasks.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime


class JsonLines(logging.Formatter):
    """Formats records for a log collector; `task` gives the name and id of the task that the thread works on."""

    def __init__(self, task: Callable[[], tuple[str, str]] = lambda: ("", "")) -> None:
        super().__init__()
        self._task = task

    def format(self, record: logging.LogRecord) -> str:
        """Return one line without a line break."""
        name, task_id = self._task()
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.processName,
            "thread": record.threadName,
            "task": name,
            "task_id": task_id,
            "exception": self.formatException(record.exc_info) if record.exc_info else "",
        }
        return json.dumps({key: value for key, value in fields.items() if value})

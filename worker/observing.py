"""Celery's signals in; figures, spans and log lines out. Nothing here can change or fail a task."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from celery import current_task, signals
from celery.concurrency.thread import TaskPool as ThreadPool

from producer.contract import Answer, IngestReport
from producer.names import ANSWER_TASK, FAILURE_TYPE, INGEST_TASK, NIGHTLY_TASK, UPLOAD_TASK
from worker import metrics, runtime, spans
from worker.errors import StoreError, WorkerError
from worker.logformat import JsonLines
from worker.vitals import Vitals, look

_log = logging.getLogger(__name__)
_INGESTS = {INGEST_TASK, NIGHTLY_TASK, UPLOAD_TASK}


def connect() -> None:
    """Listen to this process's tasks, and to its logging being set up."""
    signals.task_prerun.connect(_delivered)
    signals.task_success.connect(_succeeded)
    signals.task_failure.connect(_failed)
    signals.task_revoked.connect(_revoked)
    signals.worker_ready.connect(_answer_worker_ready)
    signals.worker_process_init.connect(_ingest_child_ready)
    signals.after_setup_logger.connect(_format_lines)
    signals.after_setup_task_logger.connect(_format_lines)


# --- figures -----------------------------------------------------------------------------------


def _delivered(task: Any, **_: object) -> None:
    if (task.request.delivery_info or {}).get("redelivered"):
        metrics.redelivered(task.name)


def _succeeded(sender: Any, result: object, **_: object) -> None:
    if sender.name == ANSWER_TASK:
        metrics.answered(Answer.from_dict(result))
    elif sender.name in _INGESTS:
        metrics.ingested(IngestReport.from_dict(result))


def _failed(sender: Any, exception: BaseException, **_: object) -> None:
    """Count a failure by its type alone: a foreign exception's words may be a client's."""
    kind = type(exception).__name__
    metrics.failed(sender.name, str(exception.args[0]) if kind == FAILURE_TYPE else kind, question=_asks(sender))
    if sender.name in _INGESTS:
        metrics.ingest_failed()


def _revoked(sender: Any, expired: bool, **_: object) -> None:
    if expired and _asks(sender):
        metrics.expired()


def _asks(task: Any) -> bool:
    return bool(task.name == ANSWER_TASK)


# --- the page of figures, and spans --------------------------------------------------------------


def _answer_worker_ready(sender: Any, **_: object) -> None:
    if isinstance(sender.pool, ThreadPool):
        _start("rag-answer", state=_vitals)


def _ingest_child_ready(**_: object) -> None:
    """The child does the work and serves its figures; the parent has none."""
    _start("rag-ingest")


def _start(service: str, *, state: Callable[[], Vitals | None] | None = None) -> None:
    """Begin to serve and to trace; what cannot be watched is still to be done."""
    config = runtime.current().config
    try:
        if config.metrics_port:
            metrics.serve(config.metrics_host, config.metrics_port, state=state)
        if config.spans_url:
            spans.start(config.spans_url, service=service)
    except OSError as error:
        _log.error("no metrics: port %d is taken or refused (%s)", config.metrics_port, type(error).__name__)
    except WorkerError as error:
        _log.error("no spans: %s", error)


def _vitals() -> Vitals | None:
    current = runtime.current()
    try:
        return look(current.config.broker_url, current.store)
    except StoreError:
        return None


# --- log lines -----------------------------------------------------------------------------------


def _format_lines(logger: logging.Logger, **_: object) -> None:
    if runtime.current().config.log_format == "json":
        for handler in logger.handlers:
            handler.setFormatter(JsonLines(_current_task))


def _current_task() -> tuple[str, str]:
    task: Any = current_task
    return (task.name, task.request.id or "") if task else ("", "")

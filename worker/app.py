"""The workers' Celery app: queues, results, the nightly entry; and what a worker does before its first task."""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

from celery import Celery, bootsteps, signals
from celery.concurrency.thread import TaskPool as ThreadPool
from kombu import Queue

from producer.errors import ConfigurationError
from producer.names import ANSWER_QUEUE, FAILURE_SECONDS, INGEST_QUEUE, RESULT_SECONDS
from worker import runtime
from worker.config import WorkerConfig, load
from worker.errors import WorkerError
from worker.presence import Presence
from worker.schedule import nightly_entries

_log = logging.getLogger(__name__)

# Longer than any question's work, shorter than anybody's patience with a dead worker's questions.
_VISIBILITY_SECONDS = 600
# A child loads the embedder before its first task; Celery's own limit is 4 seconds.
_CHILD_START_SECONDS = 180


_BROKER_OPTIONS = {
    "visibility_timeout": _VISIBILITY_SECONDS,
    # Without these two, a dead worker's questions come back up to 100 seconds later still.
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    # No command waits for ever on a frozen Redis.
    "socket_timeout": 30,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 10,
}
_SETTINGS = {
    # JSON only: a pickled message is somebody else's code.
    "task_serializer": "json",
    "result_serializer": "json",
    "accept_content": ["json"],
    # A typing error in a queue's name must fail, not fill a queue that nobody reads.
    "task_queues": [Queue(ANSWER_QUEUE), Queue(INGEST_QUEUE)],
    "task_default_queue": ANSWER_QUEUE,
    "task_create_missing_queues": False,
    # Nothing is hoarded behind a long task.
    "worker_prefetch_multiplier": 1,
    "worker_proc_alive_timeout": _CHILD_START_SECONDS,
    "broker_transport_options": _BROKER_OPTIONS,
    "broker_connection_retry_on_startup": True,
    # Celery gives up after 100 tries; Redis may be away for longer.
    "broker_connection_max_retries": None,
    # Work that is done while Redis is away is stored when it is back.
    "result_backend_always_retry": True,
    "redis_socket_timeout": 30,
    "redis_socket_connect_timeout": 5,
    "redis_socket_keepalive": True,
    "redis_retry_on_timeout": True,
    "redis_backend_health_check_interval": 10,
    "result_expires": RESULT_SECONDS,
    "result_failure_expires": FAILURE_SECONDS,
    # A waiting app sees `started`, an operator sees tasks in Flower.
    "task_track_started": True,
    "worker_send_task_events": True,
}


def make_app(config: WorkerConfig) -> Celery:
    """Return the app that answer worker, ingest worker and beat share."""
    app = Celery("rag", broker=config.broker_url, backend=config.broker_url, include=["worker.tasks"])
    app.conf.update(
        _SETTINGS,
        worker_concurrency=config.answer_concurrency,
        timezone=str(config.time_zone),
        beat_schedule=nightly_entries(config),
        beat_schedule_filename=str(config.data_dir / "beat-schedule"),
    )
    app.steps["worker"].add(_WarmUp)
    return app


class _WarmUp(bootsteps.Step):
    """Loads embedder and index before the answer worker takes its first question, or stops it with the reason."""

    requires = ("celery.worker.components:Pool",)

    def create(self, worker: Any) -> None:
        if isinstance(worker.pool, ThreadPool):
            try:
                runtime.current().warm_up(answering=True)
            except WorkerError as error:
                sys.exit(f"The answer worker cannot start: {error}")


@signals.worker_process_init.connect
def _warm_up_child(**_: object) -> None:
    """Load the embedder in the ingest worker's child: CUDA must not be touched before the fork."""
    try:
        runtime.current().warm_up(answering=False)
    except WorkerError as error:
        _log.critical("The ingest worker cannot start: %s", error)
        # Celery would start another child, which would fail in the same way, for ever.
        os.kill(os.getppid(), signal.SIGTERM)


@signals.worker_ready.connect
def _show_presence(sender: Any, **_: object) -> None:
    """Tell apps that somebody listens, until the worker stops."""
    current, answering = runtime.current(), isinstance(sender.pool, ThreadPool)
    presence = Presence(
        current.board,
        queues=list(sender.app.amqp.queues.consume_from),
        node=sender.hostname,
        concurrency=sender.pool.num_processes if answering else 1,
        faults=lambda: current.faults(answering=answering),
    )
    presence.start()
    signals.worker_shutting_down.connect(lambda **_: presence.stop(), weak=False)


@signals.worker_ready.connect
def _note_readiness(sender: Any, **_: object) -> None:
    _ready_file(sender.hostname).write_text(str(os.getpid()))


@signals.worker_init.connect
@signals.worker_shutdown.connect
def _forget_readiness(sender: Any, **_: object) -> None:
    _ready_file(sender.hostname).unlink(missing_ok=True)


@signals.beat_init.connect
def _note_beat(**_: object) -> None:
    _ready_file("beat").write_text(str(os.getpid()))


def _ready_file(node: str) -> Path:
    """Return the file that exists while the node is ready; health checks look at it."""
    folder = runtime.current().config.data_dir / "ready"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / node.partition("@")[0]


def _configured_app() -> Celery:
    try:
        return make_app(runtime.current(load).config)
    except ConfigurationError as error:
        sys.exit(f"Settings: {error}")


app = _configured_app()

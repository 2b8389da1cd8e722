"""The workers' Celery app: queues, results, the nightly entry; and what a worker does before its first task."""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import Any

from celery import Celery, bootsteps, signals
from celery.concurrency.thread import TaskPool as ThreadPool
from kombu import Exchange, Queue

from producer.errors import ConfigurationError
from producer.names import (
    ANSWER_QUEUE,
    FAILURE_SECONDS,
    INGEST_DEADLINE_SECONDS,
    INGEST_QUEUE,
    RESULT_SECONDS,
)
from worker import observing, runtime, stopping, transport
from worker.capacity import require_noeviction
from worker.config import WorkerConfig, load
from worker.database import Database
from worker.errors import WorkerError
from worker.journal import Journal
from worker.liveness import node_file
from worker.presence import Presence
from worker.pulse import Pulse
from worker.schedule import nightly_entries

_log = logging.getLogger(__name__)

# How soon a dead worker's questions are somebody else's: well within a question's deadline.
_VISIBILITY_SECONDS = 30
# So many heartbeats may come late, or not at all, before a worker counts as dead.
_BEATS = 6
# A child loads the embedder before its first task; Celery's own limit is 4 seconds.
_CHILD_START_SECONDS = 180
_INGEST_NICENESS = 10

_BROKER_OPTIONS = {
    # Short, because `worker.pulse` holds what is worked on; without it, every longer task would be done twice (B1).
    "visibility_timeout": _VISIBILITY_SECONDS,
    # How often a worker looks for what a dead one left; by default every 100 seconds (A2).
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    # Who dies while it looks would keep the others from looking for 5 minutes.
    "unacked_mutex_expire": 15,
    # One list a queue: nothing is sent with a priority (C10).
    "priority_steps": [0],
    # No command waits for ever on a frozen Redis (C2, C4).
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 10,
}
_SETTINGS = {
    # JSON only: a pickled message is somebody else's code (E6). What cannot be read is refused in our words.
    "task_serializer": "json",
    "result_serializer": "json",
    "accept_content": ["json"],
    "worker_consumer": "worker.consumer:Consumer",
    # A typing error in a queue's name must fail, not fill a queue that nobody reads.
    "task_queues": [Queue(name, Exchange(name), routing_key=name) for name in (ANSWER_QUEUE, INGEST_QUEUE)],
    "task_default_queue": ANSWER_QUEUE,
    "task_create_missing_queues": False,
    # What a worker dies over is done by the next one (A1), unless that dies too, and so on (A4, `worker.delivery`).
    "task_acks_late": True,
    # The same where only the ingest worker's child dies (A3).
    "task_reject_on_worker_lost": True,
    # Nothing is hoarded behind a long task.
    "worker_prefetch_multiplier": 1,
    # After a reconnect too, as many tasks are fetched as there are threads.
    "worker_enable_prefetch_count_reduction": False,
    "worker_proc_alive_timeout": _CHILD_START_SECONDS,
    # An ingest that hangs where no other limit reaches; kept in the prefork child only (C7).
    "task_time_limit": INGEST_DEADLINE_SECONDS,
    "broker_transport_options": _BROKER_OPTIONS,
    "broker_connection_retry_on_startup": True,
    # Celery gives up after 100 tries; Redis may be away for longer (C3).
    "broker_connection_max_retries": None,
    # Tasks go on while Redis is away; the children's are not worth killing either.
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    # Work that is done while Redis is away is stored when it is back (A5).
    "result_backend_always_retry": True,
    "redis_socket_timeout": 10,
    "redis_socket_connect_timeout": 5,
    "redis_socket_keepalive": True,
    "redis_retry_on_timeout": True,
    "redis_backend_health_check_interval": 10,
    # Both outlive every redelivery, so that what has ended is not done again (B4).
    "result_expires": RESULT_SECONDS,
    "result_failure_expires": FAILURE_SECONDS,
    # An operator sees tasks in Flower.
    "worker_send_task_events": True,
    # `python -m worker check` asks beat too whether it lives.
    "beat_enable_remote_control": True,
}


def make_app(config: WorkerConfig) -> Celery:
    """Return the app that answer worker, ingest worker and beat share."""
    transport.install()
    observing.connect()
    app = Celery(
        "rag",
        broker=config.broker_url,
        backend=f"worker.backend:Backend+{config.broker_url}",
        include=["worker.tasks"],
    )
    app.conf.update(
        _SETTINGS,
        worker_concurrency=config.answer_concurrency,
        worker_max_memory_per_child=config.ingest_memory * 1024,
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
    # Where processors are short, a question goes first.
    os.nice(_INGEST_NICENESS)
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
def _begin(sender: Any, **_: object) -> None:
    """Refuse a Redis that loses tasks; then show signs of life, which keep the worker's tasks its own."""
    current = runtime.current()
    journal = Journal(current.config.broker_url)
    try:
        require_noeviction(journal.memory())
    except WorkerError as error:
        sys.exit(f"The worker cannot start: {error}")
    answering = isinstance(sender.pool, ThreadPool)
    Pulse(
        beat=sender.app.conf.broker_transport_options["visibility_timeout"] / _BEATS,
        journal=journal,
        queues=list(sender.app.amqp.queues.consume_from),
        alive=node_file(current.config.data_dir, "alive", sender.hostname),
        ready_file=node_file(current.config.data_dir, "ready", sender.hostname),
        ready=current.ready if answering else lambda: True,
        database=Database.connect(current.config.broker_url),
    ).start()


@signals.worker_init.connect
@signals.worker_shutdown.connect
def _forget_signs_of_life(sender: Any, **_: object) -> None:
    for kind in ("alive", "ready"):
        node_file(runtime.current().config.data_dir, kind, sender.hostname).unlink(missing_ok=True)


@signals.worker_shutting_down.connect
def _tell_ingests(**_: object) -> None:
    stopping.tell()


@signals.beat_init.connect
def _catch_up(sender: Any, **_: object) -> None:
    """Send each night once at the start: beat's own memory of the last one may be lost, or a night was missed."""
    config = runtime.current().config
    for kind in ("alive", "ready"):
        node_file(config.data_dir, kind, "beat").write_text(str(os.getpid()))
    for entry in nightly_entries(config).values():
        sender.app.send_task(entry["task"], kwargs=entry["kwargs"], **entry["options"])


def _configured_app() -> Celery:
    try:
        return make_app(runtime.current(load).config)
    except ConfigurationError as error:
        sys.exit(f"Settings: {error}")


app = _configured_app()

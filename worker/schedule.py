"""Settings in, beat's entries out: every configured folder, once a night."""

from __future__ import annotations

from typing import Any

from celery.schedules import crontab

from producer.names import INGEST_DEADLINE_SECONDS, INGEST_QUEUE, NIGHTLY_TASK
from worker.config import WorkerConfig


def nightly_entries(config: WorkerConfig) -> dict[str, dict[str, Any]]:
    """Return one entry a folder, at the minute of `config.nightly_at` in every hour of `config.time_zone`.

    The task itself does nothing where the night is done (`worker.nights`), so that the hours after a night that
    failed, or that the machine or Redis slept through, make up for it.
    """
    _, minute = config.nightly_at.split(":")
    at = crontab(minute=minute)
    return {
        f"nightly-{collection}": {
            "task": NIGHTLY_TASK,
            "schedule": at,
            "kwargs": {"collection": collection, "folder": str(folder)},
            # A night that could not start before the next one is due is dropped.
            "options": {"queue": INGEST_QUEUE, "expires": INGEST_DEADLINE_SECONDS},
        }
        for collection, folder in config.folders
    }

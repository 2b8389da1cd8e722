"""Settings in, beat's entries out: every configured folder is ingested once a night."""

from __future__ import annotations

from typing import Any

from celery.schedules import crontab

from producer.names import INGEST_DEADLINE_SECONDS, INGEST_QUEUE, NIGHTLY_TASK
from worker.config import WorkerConfig


def nightly_entries(config: WorkerConfig) -> dict[str, dict[str, Any]]:
    """Return one entry a folder, at `config.nightly_at` in `config.time_zone` (the app's time zone)."""
    hour, minute = config.nightly_at.split(":")
    at = crontab(hour=hour, minute=minute)
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

"""Every configured folder is looked after once an hour, at the minute of the operator's clock."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from celery import Celery

from producer.names import INGEST_QUEUE, NIGHTLY_TASK
from worker.config import load
from worker.schedule import nightly_entries

ENVIRONMENT = {
    "RAG_BROKER_URL": "redis://localhost:6379/0",
    "RAG_FOLDERS": "handbook=/srv/h,rates=/srv/r",
    "RAG_NIGHTLY_AT": "02:30",
    "RAG_TIME_ZONE": "America/New_York",
}


def test_each_folder_has_its_entry_on_the_ingest_queue():
    entries = nightly_entries(load(ENVIRONMENT))
    assert {name: entry["kwargs"] for name, entry in entries.items()} == {
        "nightly-handbook": {"collection": "handbook", "folder": "/srv/h"},
        "nightly-rates": {"collection": "rates", "folder": "/srv/r"},
    }
    assert all(entry["task"] == NIGHTLY_TASK for entry in entries.values())
    assert all(entry["options"]["queue"] == INGEST_QUEUE for entry in entries.values())


@pytest.mark.parametrize(("hour", "minute"), [(1, 0), (14, 0)])
def test_beat_ticks_each_hour_so_that_a_night_that_was_missed_is_made_up_for(hour, minute):
    config = load(ENVIRONMENT)
    entry = nightly_entries(config)["nightly-handbook"]["schedule"]
    entry.app = Celery(set_as_current=False)
    entry.app.conf.timezone = str(config.time_zone)
    before = datetime(2025, 1, 15, hour, minute, tzinfo=ZoneInfo("America/New_York"))
    entry.nowfun = lambda: before
    assert entry.remaining_estimate(before).total_seconds() == 30 * 60


def test_no_folder_means_no_entry():
    assert nightly_entries(load({**ENVIRONMENT, "RAG_FOLDERS": ""})) == {}

"""Each night has one name, whatever the clock does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.journal import Journal
from worker.nights import due_night

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, zone: ZoneInfo = BERLIN) -> datetime:
    return datetime.fromisoformat(text).astimezone(zone)


@pytest.mark.parametrize(
    ("now", "night"),
    [
        ("2026-11-30T01:58:00+01:00", "2026-11-29"),
        ("2026-11-30T01:59:30+01:00", "2026-11-30"),  # beat's clock is ahead
        ("2026-11-30T02:00:00+01:00", "2026-11-30"),
        ("2026-11-30T23:00:00+01:00", "2026-11-30"),
        ("2026-12-01T00:30:00+01:00", "2026-11-30"),
    ],
)
def test_a_night_is_due_from_its_hour_to_the_next_days(now, night):
    assert due_night(at(now), "02:00") == night


def test_C11_an_hour_that_the_clock_jumps_over_is_due_after_the_jump():
    before, after = at("2026-03-29T00:30:00+00:00"), at("2026-03-29T01:30:00+00:00")
    assert (before.hour, after.hour) == (1, 3)
    assert due_night(before, "02:30") == "2026-03-28"
    assert due_night(after, "02:30") == "2026-03-29"


def test_C11_an_hour_that_the_clock_shows_twice_is_one_night():
    first, second = at("2026-10-25T00:30:00+00:00"), at("2026-10-25T01:30:00+00:00")
    assert (first.hour, second.hour) == (2, 2)
    assert due_night(first, "02:30") == due_night(second, "02:30") == "2026-10-25"


@given(
    start=st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1)),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
)
def test_hourly_looks_over_four_days_find_each_night_once_and_in_order(start, zone, hour, minute):
    first = start.replace(tzinfo=UTC, minute=minute)
    looks = [(first + timedelta(hours=n)).astimezone(ZoneInfo(zone)) for n in range(96)]
    nights = [due_night(look, f"{hour:02}:{minute:02}") for look in looks]
    assert nights == sorted(nights)
    assert 4 <= len(set(nights)) <= 5


def test_B6_of_two_tasks_one_gets_the_night_and_a_redelivered_one_keeps_it(redis_url):
    journal = Journal(redis_url)
    assert journal.claim_night("handbook", "2026-11-30", "first")
    assert not journal.claim_night("handbook", "2026-11-30", "second")
    assert journal.claim_night("handbook", "2026-11-30", "first")
    assert journal.claim_night("rates", "2026-11-30", "second")
    journal.give_night_back("handbook", "2026-11-30")
    assert journal.claim_night("handbook", "2026-11-30", "second")

"""A clock in, the night that is due out: one name a night, whatever the clock does."""

from __future__ import annotations

from datetime import datetime, timedelta

# Beat may run on another machine, whose clock is a little ahead.
_SKEW = timedelta(minutes=1)


def due_night(now: datetime, at: str) -> str:
    """Return the date (`2026-11-30`) of the last time that the clock showed `at` (`02:00`), in the zone of `now`.

    A time that the clock jumped over counts from the jump on, one that it showed twice counts once.
    """
    hour, minute = map(int, at.split(":"))
    early = now + _SKEW
    today = early.replace(hour=hour, minute=minute, second=0, microsecond=0, fold=0)
    # Compared in real time: on the wall, the night of a clock change has a jump in it.
    night = today if today.timestamp() <= early.timestamp() else today - timedelta(days=1)
    return night.date().isoformat()

"""A question that has waited is begun only where an answer can still come in time."""

from __future__ import annotations

import time

import pytest

from worker.errors import DeadlineExceeded
from worker.pace import Pace


def paced(*seconds: float, remember: float = 60.0) -> Pace:
    pace = Pace(remember=remember)
    for each in seconds:
        pace.note(each)
    return pace


def test_a_question_with_less_time_than_an_answer_takes_expires_at_once():
    pace = paced(*[2.0] * 10)
    pace.require_time(time.time() + 3)
    with pytest.raises(DeadlineExceeded, match="would pass before"):
        pace.require_time(time.time() + 1)


def test_a_deadline_that_has_passed_is_told_as_such():
    with pytest.raises(DeadlineExceeded, match="passed while it waited"):
        Pace().require_time(time.time() - 0.1)


def test_before_enough_is_known_every_question_is_tried():
    paced(*[50.0] * 3).require_time(time.time() + 1)


def test_what_is_typical_is_not_what_took_longest():
    assert paced(*[0.1] * 9, 60.0).typical == pytest.approx(0.1)


def test_a_slow_spell_is_forgotten_so_that_one_question_shows_that_it_is_over():
    slow = paced(*[30.0] * 10, remember=0.05)
    with pytest.raises(DeadlineExceeded):
        slow.require_time(time.time() + 1)
    time.sleep(0.06)
    slow.require_time(time.time() + 1)

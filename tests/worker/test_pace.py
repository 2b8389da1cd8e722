"""A question that has waited is begun only where an answer can still come in time."""

from __future__ import annotations

import time

import pytest

from worker.errors import DeadlineExceeded
from worker.pace import Pace


def paced(*seconds: float, remember: float = 60.0) -> Pace:
    pace = Pace(remember=remember)
    for each in seconds:
        pace.note("local", each)
    return pace


def begins(pace: Pace, *, left: float, waited: float = 5.0, connector: str = "local") -> bool:
    now = time.time()
    try:
        pace.require_time(connector, asked_at=now - waited, deadline=now + left)
    except DeadlineExceeded:
        return False
    return True


def test_a_question_with_less_time_than_an_answer_takes_expires_at_once():
    pace = paced(*[2.0] * 10)
    assert begins(pace, left=3)
    assert not begins(pace, left=1)


def test_one_that_has_not_waited_is_tried_however_slow_the_model_is():
    assert begins(paced(*[30.0] * 10), left=1, waited=0.1)


def test_a_deadline_that_has_passed_is_told_as_such():
    with pytest.raises(DeadlineExceeded, match="passed while it waited"):
        Pace().require_time("local", asked_at=time.time(), deadline=time.time() - 0.1)


def test_before_enough_is_known_every_question_is_tried():
    assert begins(paced(*[50.0] * 7), left=1)


def test_what_half_of_the_answers_could_still_make_is_tried():
    assert begins(paced(*[30.0] * 5, *[1.0] * 5), left=2)


def test_a_slow_model_says_nothing_of_another_connector():
    assert begins(paced(*[30.0] * 10), left=1, connector="extract")


def test_a_slow_spell_is_forgotten_so_that_one_question_shows_that_it_is_over():
    slow = paced(*[30.0] * 10, remember=0.05)
    assert not begins(slow, left=1)
    time.sleep(0.06)
    assert begins(slow, left=1)

"""Of an answer that was cut off nothing unfinished is left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.unfinished import finished


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The full retirement age is", ""),
        ("The match is 4 percent. The full retirement age is", "The match is 4 percent."),
        ("The match is 4 percent. The rate is 3.", "The match is 4 percent."),
        ("The match is 4 percent.", "The match is 4 percent."),
        ('He said: "It vests at once."', 'He said: "It vests at once."'),
        ("- rent: $900.00 a month.\n- food: $4", "- rent: $900.00 a month.\n-"),
        ("Es sind vier Prozent! Das Alter ist", "Es sind vier Prozent!"),
        ("It is $500 a year.\nSources: auto_pol", "It is $500 a year.\nSources: auto_pol"),
        ("", ""),
        ("...", "..."),
    ],
)
def test_the_last_sentence_goes_where_it_has_no_end(text, left):
    assert finished(text) == left


@given(st.text(max_size=300))
def test_what_is_left_is_the_beginning_and_is_left_alone_again(text):
    left = finished(text)
    assert text.startswith(left)
    assert finished(left) in (left, finished(left).rstrip())
